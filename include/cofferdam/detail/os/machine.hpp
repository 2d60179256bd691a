// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The kind of machine that this program was compiled for, as `uname -m` calls it; empty for one that has no warden.
constexpr std::string_view native_machine() noexcept {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "";
#endif
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
