// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns true if the environment is gone, so that every later operation on it would fail too.
inline bool is_environment_gone(const error& failure) noexcept {
  return failure.code() == exec_errc::provider_lost || failure.code() == exec_errc::environment_closed;
}

/// Returns true if a failure ends the whole work, and not only one step (one file, one tool call).
inline bool ends_everything(const error& failure) noexcept {
  return failure.code() == exec_errc::cancelled || is_environment_gone(failure);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
