// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include "support/run.hpp"

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

using namespace std::chrono_literals;

asio::awaitable<void> step() { co_await asio::post(asio::use_awaitable); }

asio::awaitable<int> three_steps(std::shared_ptr<int> alive) {
  co_await step();
  co_await step();
  co_await step();
  co_return *alive;
}

asio::awaitable<void> sleep_for(std::chrono::seconds time) {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> thrower() {
  co_await step();
  throw std::runtime_error("as it was thrown");
}

}  // namespace

TEST(Run, yields_the_value_of_an_awaitable) {
  EXPECT_EQ(cofferdam_test::run(three_steps(std::make_shared<int>(7))), 7);
}

TEST(Run, yields_the_value_of_a_lambda_that_captures) {
  const std::string text = "a text that is too long for the small string buffer";
  const auto size = cofferdam_test::run([&]() -> asio::awaitable<std::size_t> {
    co_await step();
    co_return text.size();
  });
  EXPECT_EQ(size, text.size());
}

TEST(Run, throws_what_the_coroutine_threw) { EXPECT_THROW(cofferdam_test::run(thrower()), std::runtime_error); }

TEST(Run, aborts_a_coroutine_that_hangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(cofferdam_test::run(sleep_for(1h), 1s), "watchdog: a coroutine did not end within 1 s");
}

TEST(Run, destroys_the_context_after_each_handler) {
  const auto alive = std::make_shared<int>(1);
  std::size_t handlers = 0;
  while (!cofferdam_test::destroy_after(handlers, [&] { return three_steps(alive); })) {
    EXPECT_EQ(alive.use_count(), 1) << "after " << handlers << " handlers";
    ASSERT_LT(++handlers, 100U);
  }
  EXPECT_GE(handlers, 3U);
}

TEST(Run, cancels_after_a_handler) {
  std::exception_ptr failure;
  EXPECT_FALSE(cofferdam_test::cancel_after(
      1, [] { return sleep_for(3600s); }, failure));
  ASSERT_TRUE(failure);
  EXPECT_THROW(std::rethrow_exception(failure), std::system_error);
}
