// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <list>
#include <memory>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Runs one of the coroutines of join_all().
/// \param where   the strand on which all of the coroutines run.
/// \param number  the number of this coroutine, counted from 0.
template <class Work>
awaitable<void> join_one(asio::any_io_executor where, Work& work, std::size_t number) {
  const auto begin = [&work, number] { return work(number); };
  co_await run_on(std::move(where), begin);
}

/// The state that the coroutines of one call of join_all() share.
class joined_state {
 public:
  explicit joined_state(const asio::any_io_executor& executor) : ended(executor) {}

  template <class = void>
  static awaitable<void> until_ended(std::shared_ptr<joined_state> self) {
    while (self->running != 0) co_await self->ended.wait();
  }

  async_event ended;  // notified when one of the coroutines has ended
  std::list<asio::cancellation_signal> signals;
  std::size_t running = 0;
  std::exception_ptr failure;
};

/// Runs the coroutines of join_all(). The calling coroutine must be on a strand.
template <class Work>
awaitable<void> join_all_on_strand(std::size_t count, std::size_t at_once, asio::any_io_executor where, Work& work) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto state = std::make_shared<joined_state>(executor);
  const auto runs = [&]() -> awaitable<void> {
    std::size_t begun = 0;
    wait_result woken = wait_result::notified;
    while (woken != wait_result::cancelled) {
      while (begun < count && state->running < at_once && !state->failure) {
        asio::cancellation_signal& signal = state->signals.emplace_back();
        ++state->running;
        auto done = [state](const std::exception_ptr& failure) {
          --state->running;
          if (failure && !state->failure) state->failure = failure;
          state->ended.notify();
        };
        try {
          spawn_coroutine(executor, join_one(where, work, begun++), std::move(done), signal.slot());
        } catch (...) {  // out of memory: this coroutine has not begun
          --state->running;
          throw;
        }
      }
      if (state->running == 0) break;
      woken = co_await state->ended.wait();
    }
  };
  const auto ends = [&state]() -> awaitable<void> {
    if (state->running == 0) return {};
    for (asio::cancellation_signal& each : state->signals) each.emit(asio::cancellation_type::terminal);
    return joined_state::until_ended(state);
  };
  co_await with_cleanup(runs, ends);
  if (state->failure) std::rethrow_exception(state->failure);
}

/// Runs several coroutines and waits until all of them have ended. They run on the executor of the awaiting coroutine;
/// if this executor is not a strand, they run on a strand over it. If the awaiting coroutine is cancelled, all
/// coroutines are cancelled and awaited. After an exception of a coroutine no further ones are started, and join_all()
/// throws the first exception at the end.
/// \param count    the number of coroutines.
/// \param at_once  the maximum number of coroutines that run at the same time.
/// \param work     a callable that is called with the numbers 0 to `count` - 1 and returns the coroutines. The caller
///                 keeps it until the awaitable completes.
template <class Work>
awaitable<void> join_all(std::size_t count, std::size_t at_once, Work& work) {
  const asio::any_io_executor caller = co_await asio::this_coro::executor;
  const home_strand home(caller);
  const asio::any_io_executor where = strand_of(caller);
  const auto joins = [&] { return join_all_on_strand(count, at_once, where, work); };
  co_await home.run(joins);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
