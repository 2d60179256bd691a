// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// PEM text (certificates or a key), or the path of a file with such text.
class pem_source {
 public:
  pem_source() = default;
  pem_source(std::string text, bool is_path) : text_(std::move(text)), is_path_(is_path), given_(true) {}

  bool given() const noexcept { return given_; }
  /// Returns a description for error messages. It never contains the PEM text.
  std::string name() const;
  /// Returns the PEM text. If the object holds a path, the function reads the file.
  /// \param what  the purpose of the text, for the error message.
  std::string load(const char* what) const;

 private:
  std::string text_;
  bool is_path_ = false;
  bool given_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
