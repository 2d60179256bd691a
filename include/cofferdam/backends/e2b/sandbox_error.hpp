// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/core/worded_category.hpp>

#include <string_view>
#include <system_error>
#include <type_traits>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// The reason of a failure after which the sandbox still exists. It is the `cause()` of an
/// error{exec_errc::unavailable}.
enum class sandbox_errc {
  not_reached = 1,  ///< the connection to the sandbox failed before the request was executed, so it can be repeated
  paused,           ///< the sandbox is paused; call `environment::resume()`
};

namespace detail {

class sandbox_words {
 public:
  static constexpr const char* name = "cofferdam.e2b.sandbox";
  static constexpr std::string_view message(int value) {
    return static_cast<sandbox_errc>(value) == sandbox_errc::paused ? "the sandbox is paused"
                                                                    : "the sandbox could not be reached";
  }
};

}  // namespace detail

/// Returns the error category of `sandbox_errc`.
inline const std::error_category& sandbox_category() noexcept {
  return cofferdam::detail::category_of<detail::sandbox_words>();
}

/// Makes an error code from a `sandbox_errc`, so that a `sandbox_errc` converts to std::error_code.
inline std::error_code make_error_code(sandbox_errc value) noexcept {
  return {static_cast<int>(value), sandbox_category()};
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b

template <>
struct std::is_error_code_enum<cofferdam::e2b::sandbox_errc> : std::true_type {};
