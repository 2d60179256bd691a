// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <functional>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Awaits `work()` to its end, even if the awaiting coroutine is cancelled meanwhile, and leaves the cancellation state
/// of that coroutine unchanged. (Asio keeps this state per spawned coroutine, not per frame: a reset would reset the
/// state of the caller.) A coroutine that is already cancelled cannot begin to await this function. Use with_cleanup()
/// in that case.
template <class = void>
awaitable<void> shielded(std::function<awaitable<void>()> work);

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/core/impl/shielded.ipp>
#endif
