// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <string>
#include <system_error>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A category of error codes. `Words` provides the `name` of the category and a `message` for each value.
template <class Words>
class worded_category final : public std::error_category {
 public:
  const char* name() const noexcept override { return Words::name; }
  std::string message(int value) const override { return std::string(Words::message(value)); }
};

/// Returns the only object of the category in the program.
template <class Words>
const std::error_category& category_of() noexcept {
  static const worded_category<Words> category;
  return category;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
