// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/core/shielded.hpp>

#include "support/cancel_when_idle.hpp"
#include "support/run.hpp"

#include <asio/cancellation_state.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

namespace {

using asio::awaitable;
using cofferdam::detail::shielded;
using cofferdam_test::cancel_after;
using cofferdam_test::cancel_when_idle;
using cofferdam_test::destroy_after;
using cofferdam_test::run;
using namespace std::chrono_literals;

awaitable<void> steps(int& done, int count) {
  while (done < count) {
    co_await asio::post(asio::use_awaitable);
    ++done;
  }
}

awaitable<void> thrower() {
  co_await asio::post(asio::use_awaitable);
  throw std::runtime_error("from the work");
}

awaitable<bool> is_cancelled() {
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

}  // namespace

TEST(Shielded, runs_the_work_to_its_end) {
  int done = 0;
  run([&]() -> awaitable<void> { co_await shielded([&] { return steps(done, 3); }); });
  EXPECT_EQ(done, 3);
}

TEST(Shielded, passes_on_what_the_work_throws) {
  std::string caught;
  run([&]() -> awaitable<void> {
    try {
      co_await shielded([] { return thrower(); });
    } catch (const std::runtime_error& thrown) {
      caught = thrown.what();
    }
  });
  EXPECT_EQ(caught, "from the work");
}

TEST(Shielded, runs_the_work_on_the_executor_of_the_awaiting_coroutine) {
  bool same = false;
  run([&]() -> awaitable<void> {
    const auto outside = co_await asio::this_coro::executor;
    const auto work = [&]() -> awaitable<void> { same = (co_await asio::this_coro::executor) == outside; };
    co_await shielded(work);
  });
  EXPECT_TRUE(same);
}

TEST(Shielded, the_work_is_not_cancelled_at_any_step) {
  // The first handler starts the coroutine, so the loop cancels after at least one handler.
  for (std::size_t handlers = 1; handlers < 20; ++handlers) {
    int done = 0;
    std::exception_ptr failure;
    cancel_after(
        handlers,
        [&]() -> awaitable<void> {
          const bool throws = co_await asio::this_coro::throw_if_cancelled();
          co_await asio::this_coro::throw_if_cancelled(false);
          co_await shielded([&] { return steps(done, 10); });
          co_await asio::this_coro::throw_if_cancelled(throws);
        },
        failure);
    EXPECT_EQ(done, 10) << "after " << handlers << " handlers";
    EXPECT_FALSE(failure);
  }
}

TEST(Shielded, the_control_is_cancelled) {
  int done = 0;
  std::exception_ptr failure;
  cancel_after(
      3, [&] { return steps(done, 10); }, failure);
  EXPECT_LT(done, 10);
  EXPECT_TRUE(failure);
}

TEST(Shielded, a_cancellation_meanwhile_is_known_afterwards) {
  bool before = true;
  bool after = false;
  int done = 0;
  std::exception_ptr failure;
  cancel_after(
      4,
      [&]() -> awaitable<void> {
        before = co_await is_cancelled();
        co_await shielded([&] { return steps(done, 10); });
        co_await asio::this_coro::throw_if_cancelled(false);
        after = co_await is_cancelled();
      },
      failure);
  EXPECT_EQ(done, 10);
  EXPECT_FALSE(before);
  EXPECT_TRUE(after);
}

TEST(Shielded, a_cancellation_afterwards_arrives) {
  int done = 0;
  const std::exception_ptr failure = cancel_when_idle([&]() -> awaitable<void> {
    co_await shielded([&] { return steps(done, 2); });
    asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
    co_await timer.async_wait(asio::use_awaitable);
  });
  EXPECT_EQ(done, 2);
  ASSERT_TRUE(failure);
  EXPECT_THROW(std::rethrow_exception(failure), std::system_error);
}

TEST(Shielded, leaves_nothing_when_the_loop_is_destroyed_at_any_step) {
  const auto alive = std::make_shared<int>(0);
  std::size_t handlers = 0;
  for (bool ended = false; !ended; ++handlers) {
    ended = destroy_after(handlers, [&]() -> awaitable<void> {
      const std::shared_ptr<int> held = alive;
      int done = 0;
      co_await shielded([&] { return steps(done, 5); });
    });
    EXPECT_EQ(alive.use_count(), 1) << "after " << handlers << " handlers";
    ASSERT_LT(handlers, 100U);
  }
  EXPECT_GT(handlers, 5U);
}
