// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
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
/// \param where  the strand that all of them run on.
template <class Work>
awaitable<void> join_one(asio::any_io_executor where, Work& work, std::size_t number) {
  const auto begin = [&work, number] { return work(number); };
  co_await run_on(std::move(where), begin);
}

/// The state that the coroutines of one join_all() share.
class joined_state {
 public:
  explicit joined_state(const asio::any_io_executor& executor) : ended(executor) {}

  template <class = void>
  static awaitable<void> until_ended(std::shared_ptr<joined_state> self) {
    while (self->running != 0) co_await self->ended.wait();
  }

  async_event ended;  // one of the coroutines has ended
  std::list<asio::cancellation_signal> signals;
  std::size_t running = 0;
  std::exception_ptr failure;
};

/// Does the work of join_all() on a strand.
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
          asio::co_spawn(executor, join_one(where, work, begun++),
                         asio::bind_cancellation_slot(signal.slot(), std::move(done)));
        } catch (...) {  // out of memory: it has not begun
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

/// Runs coroutines at the same time on the awaiting coroutine's executor (if that is not a strand: on a strand over
/// it), a few at once, and waits for all of them. A cancellation cancels them, and still waits for all. Throws the
/// first exception of the coroutines.
/// \param work  called with 0 to `count` - 1; kept by the caller until the awaitable completes.
template <class Work>
awaitable<void> join_all(std::size_t count, std::size_t at_once, Work& work) {
  const asio::any_io_executor caller = co_await asio::this_coro::executor;
  const home_strand home(caller);
  const asio::any_io_executor where = strand_of(caller);
  const auto joins = [&] { return join_all_on_strand(count, at_once, where, work); };
  co_await home.run(joins);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
