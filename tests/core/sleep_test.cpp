// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/sleep.hpp>

#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/io_context.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// Runs a sleep, and cancels it if it has not ended after 20 ms. Returns "ended", or the error's code and text.
std::string outcome_of(awaitable<void> sleep) {
  asio::io_context loop;
  asio::cancellation_signal signal;
  std::string outcome;
  const auto done = [&outcome](const std::exception_ptr& failure) {
    try {
      if (failure) std::rethrow_exception(failure);
      outcome = "ended";
    } catch (const error& reason) {
      outcome = std::to_string(reason.code().value()) + " " + reason.what();
    }
  };
  cofferdam_test::spawn(loop, std::move(sleep), done, signal.slot());
  loop.run_for(20ms);
  if (outcome.empty()) signal.emit(asio::cancellation_type::terminal);
  loop.run_for(5s);
  return outcome;
}

TEST(Sleep, ends_at_its_time_and_not_before) {
  const auto begin = clock::now();
  EXPECT_EQ(outcome_of(detail::sleep_for(5ms, "why")), "ended");
  EXPECT_GE(clock::now() - begin, 5ms);
  EXPECT_EQ(outcome_of(detail::sleep_until(begin, "why")), "ended") << "a time in the past";
  EXPECT_EQ(outcome_of(detail::sleep_for(-1ms, "why")), "ended");
}

TEST(Sleep, ends_early_with_the_typed_error_and_its_sentence_if_it_is_cancelled) {
  const std::string cancelled = std::to_string(static_cast<int>(exec_errc::cancelled)) + " why";
  const auto begin = clock::now();
  EXPECT_EQ(outcome_of(detail::sleep_for(1h, "why")), cancelled);
  EXPECT_EQ(outcome_of(detail::sleep_until(begin + 1h, "why")), cancelled);
  EXPECT_LT(clock::now() - begin, 5s);
}

// Asio itself throws at each co_await of such a coroutine, unless the coroutine has switched that off.
TEST(Sleep, of_a_coroutine_that_was_cancelled_before_has_the_typed_error_too) {
  const auto sleeps_late = []() -> awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
    std::error_code ignored;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    co_await detail::sleep_for(1h, "why");
  };
  EXPECT_EQ(outcome_of(sleeps_late()), std::to_string(static_cast<int>(exec_errc::cancelled)) + " why");
}

TEST(Sleep, has_no_longest_time) {
  const std::string cancelled = std::to_string(static_cast<int>(exec_errc::cancelled)) + " why";
  EXPECT_EQ(outcome_of(detail::sleep_for(std::chrono::milliseconds::max(), "why")), cancelled);
  EXPECT_EQ(outcome_of(detail::sleep_until(clock::time_point::max(), "why")), cancelled);
}

}  // namespace
