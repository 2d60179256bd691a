// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/detail/core/async_semaphore.hpp>

#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/io_context.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <optional>
#include <string>

namespace {

using namespace cofferdam;
using detail::async_semaphore;
using detail::held_permits;

/// Starts a coroutine that acquires permits. When it has them, it appends its name to `order`.
void wait_for(asio::io_context& loop, async_semaphore& semaphore, std::size_t permits, std::string name,
              std::string& order, asio::cancellation_signal* signal = nullptr) {
  const auto work = [&semaphore, permits, name, &order]() -> awaitable<void> {
    co_await semaphore.acquire(permits, "test");
    order += name;
  };
  const auto note = [&order, name](std::exception_ptr failure) {
    if (failure) order += "-" + name;
  };
  if (signal != nullptr) {
    cofferdam_test::spawn(loop, work, note, signal->slot());
  } else {
    cofferdam_test::spawn(loop, work, note);
  }
}

TEST(AsyncSemaphore, permits_are_given_in_the_order_of_asking) {
  asio::io_context loop;
  async_semaphore semaphore(loop.get_executor(), 2);
  std::string order;
  wait_for(loop, semaphore, 2, "a", order);
  wait_for(loop, semaphore, 2, "b", order);
  wait_for(loop, semaphore, 1, "c", order);
  loop.poll();
  EXPECT_EQ(order, "a");
  semaphore.release(1);
  loop.poll();
  EXPECT_EQ(order, "a") << "c would fit, but b was first";
  semaphore.release(1);
  loop.poll();
  EXPECT_EQ(order, "ab");
  semaphore.release(2);
  loop.poll();
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(semaphore.available(), 1U);
}

TEST(AsyncSemaphore, one_that_is_cancelled_leaves_the_queue_and_takes_nothing) {
  asio::io_context loop;
  async_semaphore semaphore(loop.get_executor(), 1);
  asio::cancellation_signal signal;
  std::string order;
  wait_for(loop, semaphore, 1, "a", order);
  wait_for(loop, semaphore, 1, "b", order, &signal);
  wait_for(loop, semaphore, 1, "c", order);
  loop.poll();
  signal.emit(asio::cancellation_type::terminal);
  loop.poll();
  EXPECT_EQ(order, "a-b");
  semaphore.release(1);
  loop.poll();
  EXPECT_EQ(order, "a-bc");
  EXPECT_EQ(semaphore.available(), 0U);
}

TEST(AsyncSemaphore, what_was_granted_to_one_that_is_cancelled_goes_to_the_next) {
  asio::io_context loop;
  async_semaphore semaphore(loop.get_executor(), 1);
  asio::cancellation_signal signal;
  std::string order;
  wait_for(loop, semaphore, 1, "a", order);
  wait_for(loop, semaphore, 1, "b", order, &signal);
  wait_for(loop, semaphore, 1, "c", order);
  loop.poll();
  // The permit now belongs to b, whose coroutine has not resumed yet.
  semaphore.release(1);
  signal.emit(asio::cancellation_type::terminal);
  loop.poll();
  EXPECT_TRUE(order == "abc" || order == "a-bc" || order == "ab") << order;
  if (order == "ab") semaphore.release(1);
  loop.poll();
  EXPECT_EQ(order.back(), 'c');
  EXPECT_EQ(semaphore.available(), 0U);
}

TEST(AsyncSemaphore, a_failure_reaches_all_who_wait_and_all_who_come) {
  asio::io_context loop;
  async_semaphore semaphore(loop.get_executor(), 0);
  std::string order;
  wait_for(loop, semaphore, 1, "a", order);
  wait_for(loop, semaphore, 1, "b", order);
  loop.poll();
  semaphore.fail(error(exec_errc::provider_lost, "gone"));
  wait_for(loop, semaphore, 1, "c", order);
  loop.poll();
  for (const char* name : {"-a", "-b", "-c"}) EXPECT_NE(order.find(name), std::string::npos) << order;
}

TEST(AsyncSemaphore, coroutines_that_are_thrown_away_while_they_wait_take_nothing_along) {
  std::optional<asio::io_context> loop(std::in_place);
  std::string order;
  auto semaphore = std::make_shared<async_semaphore>(loop->get_executor(), 1);
  cofferdam_test::spawn(
      *loop, [semaphore]() -> awaitable<void> { co_await semaphore->acquire(2, "test"); }, [](std::exception_ptr) {});
  loop->poll();
  loop.reset();
  EXPECT_EQ(semaphore->available(), 1U);
}

TEST(AsyncSemaphore, a_guard_gives_back_once) {
  asio::io_context loop;
  async_semaphore semaphore(loop.get_executor(), 3);
  ASSERT_TRUE(semaphore.try_acquire(2));
  EXPECT_FALSE(semaphore.try_acquire(2));
  {
    held_permits first(semaphore, 2);
    held_permits second = std::move(first);
    held_permits third;
    third = std::move(second);
    EXPECT_EQ(semaphore.available(), 1U);
    third.release();
    EXPECT_EQ(semaphore.available(), 3U);
  }
  EXPECT_EQ(semaphore.available(), 3U);
}

}  // namespace
