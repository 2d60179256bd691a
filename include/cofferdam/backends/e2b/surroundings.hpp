// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace cofferdam::inline v0::e2b {

/// The environment variables that the E2B backend looks at. A value, so that tests can make one up.
class surroundings {
 public:
  using variable_map = std::map<std::string, std::string, std::less<>>;

  /// No variables at all.
  surroundings() = default;
  explicit surroundings(variable_map variables) : variables_(std::move(variables)) {}

  /// This process's own, copied now.
  static surroundings of_this_process() {
    variable_map variables;
    for (char** one = ::environ; one != nullptr && *one != nullptr; ++one) {
      const std::string_view text(*one);
      if (!text.starts_with("E2B_")) continue;
      const auto equals = text.find('=');
      if (equals != std::string_view::npos)
        variables.emplace(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
    }
    return surroundings(std::move(variables));
  }

  /// A variable's value; empty where it is not set, which means the same to E2B.
  std::string said(std::string_view name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? std::string() : found->second;
  }

 private:
  variable_map variables_;
};

}  // namespace cofferdam::inline v0::e2b
