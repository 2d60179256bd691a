// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <system_error>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Waits 5 ms. Used where a condition must be tested again and nothing notifies the program of its change.
template <class Unused = void>
awaitable<void> short_pause(asio::any_io_executor executor) {
  asio::steady_timer timer(executor, std::chrono::milliseconds(5));
  std::error_code ignored;  // the wait may end early, because the caller tests its condition again in any case
  co_await timer.async_wait(asio::redirect_error(await_in<Unused>, ignored));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
