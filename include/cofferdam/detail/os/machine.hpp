// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns the architecture for which this program was compiled, as `uname -m` names it; empty if there is no warden
/// (the helper program in a sandbox) for it.
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
