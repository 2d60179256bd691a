// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include <functional>
#include <system_error>

namespace cofferdam::inline COFFERDAM_ABI::detail {

// Waits that call a function at their end, for code that is not a coroutine. Asio compiles about fifty functions for
// each type of handler. These functions give all handlers one type, so that a program compiles faster.

/// Receives the result of a wait; `asio::error::operation_aborted` if the wait was cancelled.
using wait_callback = std::function<void(std::error_code)>;

/// Calls `callback` when `timer` expires or is cancelled.
void on_expiry(asio::steady_timer& timer, wait_callback callback);

/// Calls `callback` when `descriptor` can be read without blocking, has failed, or is closed.
void on_readable(asio::posix::stream_descriptor& descriptor, wait_callback callback);

/// Calls `callback` when `descriptor` can be written without blocking, has failed, or is closed.
void on_writable(asio::posix::stream_descriptor& descriptor, wait_callback callback);

/// Calls `callback` on `executor`, never before this function returns.
void post_callback(const asio::any_io_executor& executor, std::function<void()> callback);

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/core/impl/callbacks.ipp>
#endif
