// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::detail {

/// Runs coroutines at the same time on the awaiting coroutine's executor, a few at once, and waits for all of them, also
/// where it is cancelled, which cancels them. Throws what the first of them threw.
/// \param work  called with 0 to `count` - 1; kept by the caller until the awaitable completes.
template <class Work>
awaitable<void> join_all(std::size_t count, std::size_t at_once, Work& work) {
  class shared_state {
   public:
    explicit shared_state(const asio::any_io_executor& executor)
        : timer(executor, std::chrono::steady_clock::time_point::max()) {}
    asio::steady_timer timer;
    std::list<asio::cancellation_signal> signals;
    std::size_t running = 0;
    std::exception_ptr failure;
  };
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto state = std::make_shared<shared_state>(executor);
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  std::size_t begun = 0;
  bool cancelled = false;
  for (;;) {
    while (begun < count && state->running < at_once && !cancelled && !state->failure) {
      asio::cancellation_signal& signal = state->signals.emplace_back();
      ++state->running;
      auto done = [state](const std::exception_ptr& failure) {
        --state->running;
        if (failure && !state->failure) state->failure = failure;
        state->timer.cancel();
      };
      asio::co_spawn(executor, work(begun++), asio::bind_cancellation_slot(signal.slot(), std::move(done)));
    }
    if (state->running == 0) break;
    std::error_code woken;
    co_await state->timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    const asio::cancellation_state mine = co_await asio::this_coro::cancellation_state;
    if (mine.cancelled() != asio::cancellation_type::none && !cancelled) {
      cancelled = true;
      for (asio::cancellation_signal& each : state->signals) each.emit(asio::cancellation_type::terminal);
    }
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (state->failure) std::rethrow_exception(state->failure);
}

}  // namespace cofferdam::inline v0::detail
