// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <chrono>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Waits until a time, on the executor of the awaiting coroutine.
/// \param sentence  the message of the error for a cancellation.
/// \throws error{exec_errc::cancelled} if the awaiting coroutine was cancelled, even if the time has come too.
template <class = void>
awaitable<void> sleep_until(std::chrono::steady_clock::time_point time, std::string sentence);

/// Waits for some time, which begins with this call. Otherwise like `sleep_until`.
template <class = void>
awaitable<void> sleep_for(std::chrono::milliseconds time, std::string sentence);

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/core/impl/sleep.ipp>
#endif
