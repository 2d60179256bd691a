// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns true if the environment was lost or closed, so that every later operation on it would fail too.
inline bool is_environment_gone(const error& failure) noexcept {
  return failure.code() == exec_errc::provider_lost || failure.code() == exec_errc::environment_closed;
}

/// Returns true if a failure must end the whole work, and not only one step such as one file or one tool call.
inline bool ends_everything(const error& failure) noexcept {
  return failure.code() == exec_errc::cancelled || is_environment_gone(failure);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
