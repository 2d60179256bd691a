// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <atomic>
#include <cstdio>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI {

/// A function that receives the warnings of the library. The library calls it with one sentence without a line break,
/// on the thread that found the problem. The function must not throw.
using warning_handler = void (*)(std::string_view sentence);

namespace detail {

inline void print_warning(std::string_view sentence) {
  const std::string line = "cofferdam: warning: " + std::string(sentence) + "\n";
  std::fputs(line.c_str(), stderr);
}

inline std::atomic<warning_handler>& current_warning_handler() noexcept {
  static std::atomic<warning_handler> handler{&print_warning};
  return handler;
}

inline void warn(std::string_view sentence) { current_warning_handler().load()(sentence); }

}  // namespace detail

/// Sets the function that receives the library's warnings in the whole program. The default function prints them to
/// standard error.
/// \param handler  the new function; null restores the default.
/// \return         the previous function.
inline warning_handler set_warning_handler(warning_handler handler) noexcept {
  return detail::current_warning_handler().exchange(handler != nullptr ? handler : &detail::print_warning);
}

}  // namespace cofferdam::inline COFFERDAM_ABI
