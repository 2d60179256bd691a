// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/callbacks.hpp>

#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace {

using cofferdam::awaitable;
using cofferdam::detail::spawn_coroutine;

awaitable<void> waits_forever() {
  asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
  co_await timer.async_wait(asio::use_awaitable);
}

awaitable<void> fails() {
  throw cofferdam::error(cofferdam::exec_errc::not_found, "lost");
  co_return;
}

awaitable<void> ends() { co_return; }

/// The exception that a coroutine hands to its callback.
std::exception_ptr end_of(awaitable<void> work) {
  asio::io_context loop;
  std::optional<std::exception_ptr> end;
  spawn_coroutine(loop.get_executor(), std::move(work), [&end](std::exception_ptr failure) { end = failure; });
  EXPECT_FALSE(end) << "called before the loop runs";
  loop.run();
  EXPECT_TRUE(end);
  return end.value_or(nullptr);
}

TEST(SpawnCoroutine, tells_how_the_coroutine_has_ended) {
  EXPECT_FALSE(end_of(ends()));
  const std::exception_ptr failure = end_of(fails());
  ASSERT_TRUE(failure);
  EXPECT_THROW(std::rethrow_exception(failure), cofferdam::error);
}

TEST(SpawnCoroutine, the_slot_cancels_the_coroutine) {
  asio::io_context loop;
  asio::cancellation_signal stop;
  std::exception_ptr end;
  spawn_coroutine(
      loop.get_executor(), waits_forever(), [&end](std::exception_ptr failure) { end = failure; }, stop.slot());
  loop.poll();
  EXPECT_FALSE(end);
  stop.emit(asio::cancellation_type::terminal);
  loop.run();
  EXPECT_TRUE(end);
}

TEST(SpawnCoroutine, a_loop_that_is_destroyed_destroys_the_callback_without_a_call) {
  const auto kept = std::make_shared<int>(0);
  {
    asio::io_context loop;
    spawn_coroutine(loop.get_executor(), waits_forever(), [kept](std::exception_ptr) { ++*kept; });
    loop.poll();
    EXPECT_EQ(kept.use_count(), 2);
  }
  EXPECT_EQ(kept.use_count(), 1);
  EXPECT_EQ(*kept, 0);
}

}  // namespace
