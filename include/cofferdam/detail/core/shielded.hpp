// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <functional>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Awaits `work()` to its end, even if the awaiting coroutine is cancelled in the meantime. The cancellation state of
/// that coroutine stays unchanged. Resetting that state is no alternative: Asio keeps it for a whole spawned coroutine
/// and not for one function, so a reset would also affect the caller. If the coroutine is already cancelled, it cannot
/// await this function; use with_cleanup() in that case.
template <class = void>
awaitable<void> shielded(std::function<awaitable<void>()> work);

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/core/impl/shielded.ipp>
#endif
