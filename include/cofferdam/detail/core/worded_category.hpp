// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <string>
#include <system_error>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A category of error codes. `Words` provides the `name` of the category and a `message` for each value. It may also
/// have `condition(value)`: the general meaning of a value, with which programs can compare the code.
template <class Words>
class worded_category final : public std::error_category {
 public:
  const char* name() const noexcept override { return Words::name; }
  std::string message(int value) const override { return std::string(Words::message(value)); }
  std::error_condition default_error_condition(int value) const noexcept override {
    if constexpr (requires { Words::condition(value); }) {
      if (const std::errc meaning = Words::condition(value); meaning != std::errc()) return meaning;
    }
    return {value, *this};
  }
};

/// The base of the words of a category whose values are HTTP statuses; it lacks only the name. The general meaning of a
/// status is `resource_unavailable_try_again` if the service is busy or limits the rate of requests; otherwise none.
class http_status_words {
 public:
  static std::string message(int status) { return "HTTP status " + std::to_string(status); }
  static constexpr std::errc condition(int status) noexcept {
    const bool passes = status == 429 || status == 502 || status == 503 || status == 504;
    return passes ? std::errc::resource_unavailable_try_again : std::errc();
  }
};

/// Returns the only object of the category in the program.
template <class Words>
const std::error_category& category_of() noexcept {
  static const worded_category<Words> category;
  return category;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
