// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include "support/cancel_when_idle.hpp"
#include "support/run.hpp"

#include <asio/cancellation_state.hpp>
#include <asio/error.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

namespace with_cleanup_tests {

namespace {

using asio::awaitable;
using cofferdam::detail::async_event;
using cofferdam::detail::wait_result;
using cofferdam::detail::with_cleanup;
using cofferdam::detail::with_cleanup_after_failure;
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

awaitable<void> thrower(std::string text) {
  co_await asio::post(asio::use_awaitable);
  throw std::runtime_error(text);
}

awaitable<void> wait_an_hour() {
  asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
  co_await timer.async_wait(asio::use_awaitable);
}

/// The cancellation settings of a coroutine.
struct cancellation_settings {
  bool is_cancelled = false;
  bool throws = false;
};

std::string text_of(const std::exception_ptr& failure) {
  if (!failure) return "nothing";
  try {
    std::rethrow_exception(failure);
  } catch (const std::system_error& reason) {
    return reason.code() == asio::error::operation_aborted ? "aborted" : reason.what();
  } catch (const std::exception& reason) {
    return reason.what();
  }
}

template <class Body, class Cleanup>
std::string failure_of(Body& body, Cleanup& cleanup) {
  std::exception_ptr failure;
  run([&]() -> awaitable<void> {
    try {
      co_await with_cleanup(body, cleanup);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  return text_of(failure);
}

}  // namespace

TEST(WithCleanup, cleans_up_after_a_success) {
  int done = 0;
  int cleaned = 0;
  const auto body = [&] { return steps(done, 3); };
  const auto cleanup = [&] {
    EXPECT_EQ(done, 3);
    return steps(cleaned, 3);
  };
  EXPECT_EQ(failure_of(body, cleanup), "nothing");
  EXPECT_EQ(cleaned, 3);
}

TEST(WithCleanup, cleans_up_after_a_failure_and_throws_it) {
  int cleaned = 0;
  const auto body = [] { return thrower("of the body"); };
  const auto cleanup = [&] { return steps(cleaned, 3); };
  EXPECT_EQ(failure_of(body, cleanup), "of the body");
  EXPECT_EQ(cleaned, 3);
}

TEST(WithCleanup, cleans_up_after_a_body_that_throws_before_it_is_a_coroutine) {
  int cleaned = 0;
  const auto body = []() -> awaitable<void> { throw std::runtime_error("at once"); };
  const auto cleanup = [&] { return steps(cleaned, 3); };
  EXPECT_EQ(failure_of(body, cleanup), "at once");
  EXPECT_EQ(cleaned, 3);
}

TEST(WithCleanup, throws_what_the_cleanup_threw) {
  int done = 0;
  const auto body = [&] { return steps(done, 3); };
  const auto cleanup = [] { return thrower("of the cleanup"); };
  EXPECT_EQ(failure_of(body, cleanup), "of the cleanup");
  const auto throws_at_once = []() -> awaitable<void> { throw std::runtime_error("at once"); };
  EXPECT_EQ(failure_of(body, throws_at_once), "at once");
}

TEST(WithCleanup, reports_the_failure_of_the_body_where_both_fail) {
  const auto body = [] { return thrower("of the body"); };
  const auto cleanup = [] { return thrower("of the cleanup"); };
  EXPECT_EQ(failure_of(body, cleanup), "of the body");
}

TEST(WithCleanup, reports_the_failure_that_the_caller_chooses) {
  const auto body = [] { return thrower("of the body"); };
  const auto cleanup = [] { return thrower("of the cleanup"); };
  const auto later = [](std::exception_ptr, std::exception_ptr of_cleanup) { return of_cleanup; };
  std::string caught;
  run([&]() -> awaitable<void> {
    try {
      co_await with_cleanup(body, cleanup, later);
    } catch (const std::runtime_error& reason) {
      caught = reason.what();
    }
  });
  EXPECT_EQ(caught, "of the cleanup");
}

TEST(WithCleanup, takes_a_cleanup_that_awaits_nothing) {
  bool called = false;
  const auto body = [] { return thrower("of the body"); };
  const auto cleanup = [&]() -> awaitable<void> {
    called = true;
    return {};
  };
  EXPECT_EQ(failure_of(body, cleanup), "of the body");
  EXPECT_TRUE(called);
}

TEST(WithCleanup, cleans_up_to_the_end_when_cancelled_at_any_step) {
  // The first handler starts the coroutine, so the loop cancels after at least one handler.
  for (std::size_t handlers = 1; handlers < 20; ++handlers) {
    int done = 0;
    int cleaned = 0;
    const auto body = [&] { return steps(done, 5); };
    const auto cleanup = [&] { return steps(cleaned, 5); };
    std::exception_ptr failure;
    const bool ended = cancel_after(
        handlers, [&]() -> awaitable<void> { co_await with_cleanup(body, cleanup); }, failure);
    EXPECT_EQ(cleaned, 5) << "after " << handlers << " handlers";
    EXPECT_EQ(done < 5, text_of(failure) == "aborted") << "after " << handlers << " handlers";
    EXPECT_EQ(ended, handlers >= 11) << "after " << handlers << " handlers";
  }
}

TEST(WithCleanup, leaves_the_cancellation_state_of_the_caller_as_it_was) {
  for (const bool throws : {true, false}) {
    for (const bool cancels : {true, false}) {
      int cleaned = 0;
      cancellation_settings before;
      cancellation_settings after;
      const auto body = [] { return wait_an_hour(); };
      const auto thrower_body = [] { return thrower("of the body"); };
      const auto cleanup = [&] { return steps(cleaned, 3); };
      const auto asks = [&]() -> awaitable<void> {
        co_await asio::this_coro::throw_if_cancelled(throws);
        const asio::cancellation_state begin = co_await asio::this_coro::cancellation_state;
        before.is_cancelled = begin.cancelled() != asio::cancellation_type::none;
        try {
          if (cancels) {
            co_await with_cleanup(body, cleanup);
          } else {
            co_await with_cleanup(thrower_body, cleanup);
          }
          // The exception is not of interest; the test checks the settings afterwards.
        } catch (const std::exception&) {
        }
        after.throws = co_await asio::this_coro::throw_if_cancelled();
        const asio::cancellation_state end = co_await asio::this_coro::cancellation_state;
        after.is_cancelled = end.cancelled() != asio::cancellation_type::none;
      };
      cancel_when_idle(asks);
      EXPECT_EQ(cleaned, 3);
      EXPECT_FALSE(before.is_cancelled);
      EXPECT_EQ(after.is_cancelled, cancels);
      EXPECT_EQ(after.throws, throws);
    }
  }
}

TEST(WithCleanup, the_cleanup_itself_is_not_cancelled) {
  bool cancelled_inside = true;
  const auto body = [] { return wait_an_hour(); };
  const auto cleanup = [&]() -> awaitable<void> {
    co_await asio::post(asio::use_awaitable);
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    cancelled_inside = state.cancelled() != asio::cancellation_type::none;
  };
  const std::exception_ptr failure =
      cancel_when_idle([&]() -> awaitable<void> { co_await with_cleanup(body, cleanup); });
  EXPECT_EQ(text_of(failure), "aborted");
  EXPECT_FALSE(cancelled_inside);
}

TEST(WithCleanup, cleans_up_after_a_body_that_says_by_a_value_that_it_was_cancelled) {
  int cleaned = 0;
  wait_result result = wait_result::notified;
  bool reached = false;
  const std::exception_ptr failure = cancel_when_idle([&]() -> awaitable<void> {
    async_event never(co_await asio::this_coro::executor);
    const auto body = [&]() -> awaitable<void> { result = co_await never.wait(); };
    const auto cleanup = [&] { return steps(cleaned, 3); };
    co_await with_cleanup(body, cleanup);
    reached = true;
  });
  EXPECT_EQ(result, wait_result::cancelled);
  EXPECT_EQ(cleaned, 3);
  EXPECT_TRUE(reached);
  EXPECT_FALSE(failure);
}

TEST(WithCleanup, runs_neither_where_the_coroutine_was_cancelled_before) {
  bool begun = false;
  bool cleaned = false;
  const auto body = [&]() -> awaitable<void> {
    begun = true;
    return {};
  };
  const auto cleanup = [&]() -> awaitable<void> {
    cleaned = true;
    return {};
  };
  const std::exception_ptr failure = cancel_when_idle([&]() -> awaitable<void> {
    try {
      co_await wait_an_hour();
      // The coroutine was cancelled, and continues.
    } catch (const std::system_error&) {
    }
    co_await with_cleanup(body, cleanup);
  });
  EXPECT_EQ(text_of(failure), "aborted");
  EXPECT_FALSE(begun);
  EXPECT_FALSE(cleaned);
}

TEST(WithCleanup, may_be_the_cleanup_of_another) {
  int inner = 0;
  int outer = 0;
  const auto waits = [] { return wait_an_hour(); };
  const auto cleans_inside = [&] { return steps(inner, 2); };
  const auto cleans_outside = [&] { return steps(outer, 2); };
  const auto nested = [&] { return with_cleanup(waits, cleans_inside); };
  const std::exception_ptr failure =
      cancel_when_idle([&]() -> awaitable<void> { co_await with_cleanup(nested, cleans_outside); });
  EXPECT_EQ(text_of(failure), "aborted");
  EXPECT_EQ(inner, 2);
  EXPECT_EQ(outer, 2);
}

TEST(WithCleanup, leaves_nothing_when_the_loop_is_destroyed_at_any_step) {
  const auto alive = std::make_shared<int>(0);
  std::size_t handlers = 0;
  for (bool ended = false; !ended; ++handlers) {
    ended = destroy_after(handlers, [&]() -> awaitable<void> {
      const std::shared_ptr<int> held = alive;
      int done = 0;
      int cleaned = 0;
      const auto body = [held, &done] { return steps(done, 3); };
      const auto cleanup = [held, &cleaned] { return steps(cleaned, 3); };
      co_await with_cleanup(body, cleanup);
    });
    EXPECT_EQ(alive.use_count(), 1) << "after " << handlers << " handlers";
    ASSERT_LT(handlers, 100U);
  }
  EXPECT_GT(handlers, 6U);
}

TEST(WithCleanup, destroys_each_object_once) {
  for (const bool fails : {false, true}) {
    const auto alive = std::make_shared<int>(0);
    int done = 0;
    run([&]() -> awaitable<void> {
      std::optional<std::shared_ptr<int>> resource;
      const auto body = [&resource, alive, fails]() -> awaitable<void> {
        co_await asio::post(asio::use_awaitable);
        resource.emplace(alive);
        if (fails) throw std::runtime_error("of the body");
      };
      const auto cleanup = [&resource, &done, alive] {
        resource.reset();
        return steps(done, 2);
      };
      try {
        co_await with_cleanup(body, cleanup);
        // The exception is not of interest; the test counts the references.
      } catch (const std::runtime_error&) {
      }
      // The references are held by `alive` and by the two lambdas.
      EXPECT_EQ(alive.use_count(), 3);
    });
    EXPECT_EQ(alive.use_count(), 1);
    EXPECT_EQ(done, 2);
  }
}

TEST(WithCleanupAfterFailure, does_nothing_after_a_success) {
  int done = 0;
  bool cleaned = false;
  const auto body = [&] { return steps(done, 3); };
  const auto cleanup = [&]() -> awaitable<void> {
    cleaned = true;
    return {};
  };
  run([&]() -> awaitable<void> { co_await with_cleanup_after_failure(body, cleanup); });
  EXPECT_EQ(done, 3);
  EXPECT_FALSE(cleaned);
}

TEST(WithCleanupAfterFailure, cleans_up_after_a_failure_and_a_cancellation) {
  int cleaned = 0;
  const auto fails = [] { return thrower("of the body"); };
  const auto cleanup = [&] { return steps(cleaned, 3); };
  const std::exception_ptr thrown =
      cancel_when_idle([&]() -> awaitable<void> { co_await with_cleanup_after_failure(fails, cleanup); });
  EXPECT_EQ(text_of(thrown), "of the body");
  EXPECT_EQ(cleaned, 3);
  cleaned = 0;
  const auto waits = [] { return wait_an_hour(); };
  const std::exception_ptr aborted =
      cancel_when_idle([&]() -> awaitable<void> { co_await with_cleanup_after_failure(waits, cleanup); });
  EXPECT_EQ(text_of(aborted), "aborted");
  EXPECT_EQ(cleaned, 3);
}

}  // namespace with_cleanup_tests
