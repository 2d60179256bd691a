// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include <stdlib.h>

namespace cofferdam_test {

/// Sets a variable of this program, and restores it at the end.
class variable {
 public:
  variable(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* const before = std::getenv(name_.c_str())) before_ = before;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;
  ~variable() {
    if (before_) {
      ::setenv(name_.c_str(), before_->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }

 private:
  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace cofferdam_test
