// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/sleep.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class Unused>
awaitable<void> sleep_until(std::chrono::steady_clock::time_point time, std::string sentence) {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  const asio::cancellation_state before = co_await asio::this_coro::cancellation_state;
  if (before.cancelled() != asio::cancellation_type::none) throw error(exec_errc::cancelled, std::move(sentence));
  asio::steady_timer timer(executor, time);
  std::error_code woken;
  co_await timer.async_wait(asio::redirect_error(await_in<Unused>, woken));
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) throw error(exec_errc::cancelled, std::move(sentence));
}

template <class Unused>
awaitable<void> sleep_for(std::chrono::milliseconds time, std::string sentence) {
  using clock = std::chrono::steady_clock;
  const clock::time_point now = clock::now();
  const bool is_endless = time >= std::chrono::floor<std::chrono::milliseconds>(clock::time_point::max() - now);
  return sleep_until(is_endless ? clock::time_point::max() : now + time, std::move(sentence));
}

COFFERDAM_INSTANTIATE(awaitable<void> sleep_until<void>(std::chrono::steady_clock::time_point, std::string))
COFFERDAM_INSTANTIATE(awaitable<void> sleep_for<void>(std::chrono::milliseconds, std::string))

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
