// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/os/reaper.hpp>

#include "support/cancel_when_idle.hpp"
#include "support/census.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

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
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace with_tests {

namespace {

using asio::awaitable;
using cofferdam::bytes;
using cofferdam::bytes_view;
using cofferdam::command;
using cofferdam::command_result;
using cofferdam::shell;
using cofferdam::with;
using cofferdam_test::cancel_after;
using cofferdam_test::cancel_when_idle;
using cofferdam_test::census;
using cofferdam_test::destroy_after;
using cofferdam_test::eventually;
using cofferdam_test::run;
using cofferdam_test::temporary_folder;
using namespace std::chrono_literals;

awaitable<void> step() { co_await asio::post(asio::use_awaitable); }

awaitable<void> wait_an_hour() {
  asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
  co_await timer.async_wait(asio::use_awaitable);
}

/// Counts of the calls to the fake environments.
struct account {
  int opened = 0;
  int close_begun = 0;
  int closed = 0;
  int destroyed = 0;
  bool open_fails = false;
  bool close_fails = false;
};

class fake_environment {
 public:
  explicit fake_environment(account& calls) : all_(&calls) { ++all_->opened; }
  fake_environment(fake_environment&& other) noexcept : all_(std::exchange(other.all_, nullptr)) {}
  fake_environment& operator=(fake_environment&&) = delete;
  ~fake_environment() {
    if (all_ != nullptr) ++all_->destroyed;
  }

  awaitable<command_result> run_command(command) {
    co_await step();
    co_return command_result::exited(0);
  }
  awaitable<bytes> read_file(std::string, std::size_t) { co_return bytes(); }
  awaitable<void> write_file(std::string, bytes_view) { co_return; }
  awaitable<void> close() {
    ++all_->close_begun;
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (int i = 0; i < 3; ++i) {
      timer.expires_after(1ms);
      co_await timer.async_wait(asio::use_awaitable);
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none) throw std::runtime_error("close was cancelled");
    }
    ++all_->closed;
    if (all_->close_fails) throw std::runtime_error("from close");
  }

 private:
  account* all_;
};

class fake {
 public:
  explicit fake(account& calls) : all_(&calls) {}
  awaitable<fake_environment> open() const {
    co_await step();
    if (all_->open_fails) throw std::runtime_error("from open");
    co_return fake_environment(*all_);
  }

 private:
  account* all_;
};

/// Runs `body` once, and returns the text of its exception; empty means none.
template <class Body>
std::string outcome_of(account& calls, Body body) {
  std::string thrown;
  run([&]() -> awaitable<void> {
    try {
      co_await with(fake(calls), std::ref(body));
    } catch (const std::exception& failure) {
      thrown = failure.what();
    }
  });
  return thrown;
}

void expect_closed_once(const account& calls) {
  EXPECT_EQ(calls.opened, 1);
  EXPECT_EQ(calls.close_begun, 1);
  EXPECT_EQ(calls.closed, 1);
  EXPECT_EQ(calls.destroyed, 1);
}

bool is_cancellation(const std::exception_ptr& failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const std::system_error& thrown) {
    return thrown.code() == cofferdam::exec_errc::cancelled || thrown.code() == asio::error::operation_aborted;
  }
  return false;
}

}  // namespace

// Feature: A7
TEST(WithEnvironment, closes_once_when_the_body_returns) {
  account calls;
  EXPECT_EQ(outcome_of(calls, [](fake_environment&) -> awaitable<void> { co_await step(); }), "");
  expect_closed_once(calls);
}

TEST(WithEnvironment, is_open_while_the_body_runs) {
  account calls;
  outcome_of(calls, [&](fake_environment&) -> awaitable<void> {
    EXPECT_EQ(calls.opened, 1);
    co_await step();
    EXPECT_EQ(calls.close_begun, 0);
  });
}

TEST(WithEnvironment, returns_what_the_body_returns) {
  account calls;
  const auto value = run([&]() -> awaitable<std::shared_ptr<int>> {
    auto opened_value = co_await with(fake(calls), [](fake_environment&) -> awaitable<std::shared_ptr<int>> {
      co_await step();
      co_return std::make_shared<int>(7);
    });
    co_return opened_value;
  });
  EXPECT_EQ(*value, 7);
  EXPECT_EQ(value.use_count(), 1) << "moved, not copied";
  expect_closed_once(calls);
}

// Feature: A11
TEST(WithEnvironment, closes_once_when_the_body_throws) {
  account calls;
  EXPECT_EQ(outcome_of(calls,
                       [](fake_environment&) -> awaitable<void> {
                         co_await step();
                         throw std::runtime_error("from the body");
                       }),
            "from the body");
  expect_closed_once(calls);
}

TEST(WithEnvironment, passes_on_what_close_throws) {
  account calls;
  calls.close_fails = true;
  EXPECT_EQ(outcome_of(calls, [](fake_environment&) -> awaitable<void> { co_await step(); }), "from close");
  expect_closed_once(calls);
}

TEST(WithEnvironment, prefers_what_the_body_threw_to_what_close_throws) {
  account calls;
  calls.close_fails = true;
  EXPECT_EQ(outcome_of(calls,
                       [](fake_environment&) -> awaitable<void> {
                         co_await step();
                         throw std::runtime_error("from the body");
                       }),
            "from the body");
  expect_closed_once(calls);
}

TEST(WithEnvironment, that_cannot_open_runs_no_body_and_closes_nothing) {
  account calls;
  calls.open_fails = true;
  EXPECT_EQ(outcome_of(calls,
                       [](fake_environment&) -> awaitable<void> {
                         ADD_FAILURE() << "the body ran";
                         co_return;
                       }),
            "from open");
  EXPECT_EQ(calls.opened, 0);
  EXPECT_EQ(calls.close_begun, 0);
}

TEST(WithEnvironment, cancelled_at_any_step_closes_once_and_closes_wholly) {
  bool ended = false;
  for (std::size_t handlers = 0; !ended; ++handlers) {
    ASSERT_LT(handlers, 100U);
    account calls;
    std::exception_ptr failure;
    ended = cancel_after(
        handlers,
        [&] {
          return with(fake(calls), [](fake_environment& env) -> awaitable<void> {
            co_await step();
            co_await env.run_command(shell("x"));
            co_await step();
          });
        },
        failure);
    if (calls.opened == 0) {
      EXPECT_TRUE(is_cancellation(failure)) << "after " << handlers << " handlers";
      EXPECT_EQ(calls.close_begun, 0);
    } else {
      EXPECT_EQ(calls.close_begun, 1) << "after " << handlers << " handlers";
      EXPECT_EQ(calls.closed, 1) << "after " << handlers << " handlers";
      EXPECT_EQ(calls.destroyed, 1);
      EXPECT_TRUE(!failure || is_cancellation(failure));
    }
  }
}

TEST(WithEnvironment, a_cancelled_body_ends_with_the_cancellation) {
  account calls;
  const std::exception_ptr failure =
      cancel_when_idle([&] { return with(fake(calls), [](fake_environment&) { return wait_an_hour(); }); });
  EXPECT_TRUE(is_cancellation(failure));
  expect_closed_once(calls);
}

TEST(WithEnvironment, leaves_the_callers_wish_for_exceptions_as_it_was) {
  for (const bool wish : {true, false}) {
    account calls;
    bool after = !wish;
    run([&]() -> awaitable<void> {
      co_await asio::this_coro::throw_if_cancelled(wish);
      co_await with(fake(calls), [](fake_environment&) { return step(); });
      after = co_await asio::this_coro::throw_if_cancelled();
    });
    EXPECT_EQ(after, wish);
  }
}

TEST(WithEnvironment, leaves_the_callers_wish_for_exceptions_as_it_was_when_the_body_throws) {
  account calls;
  bool after = false;
  run([&]() -> awaitable<void> {
    try {
      co_await with(fake(calls), [](fake_environment&) -> awaitable<void> {
        throw std::runtime_error("from the body");
        co_return;
      });
    } catch (const std::runtime_error&) {
    }
    after = co_await asio::this_coro::throw_if_cancelled();
  });
  EXPECT_TRUE(after);
}

TEST(WithEnvironment, a_later_cancellation_of_the_caller_arrives) {
  account calls;
  const std::exception_ptr failure = cancel_when_idle([&]() -> awaitable<void> {
    co_await with(fake(calls), [](fake_environment&) { return step(); });
    co_await wait_an_hour();
  });
  EXPECT_TRUE(is_cancellation(failure));
  expect_closed_once(calls);
}

TEST(WithEnvironment, destroyed_with_its_loop_at_any_step_leaves_no_environment) {
  bool ended = false;
  for (std::size_t handlers = 0; !ended; ++handlers) {
    ASSERT_LT(handlers, 100U);
    account calls;
    ended = destroy_after(handlers, [&] {
      return with(fake(calls), [](fake_environment& env) -> awaitable<void> {
        co_await env.run_command(shell("x"));
        co_await step();
      });
    });
    EXPECT_EQ(calls.opened, calls.destroyed) << "after " << handlers << " handlers";
  }
}

TEST(WithEnvironment, of_local_destroyed_with_its_loop_at_any_step_leaves_no_process_and_no_folder) {
  const temporary_folder base;
  const census before = census::take(base.path());
  bool ended = false;
  std::size_t handlers = 0;
  for (; !ended; ++handlers) {
    ASSERT_LT(handlers, 1000U);
    ended = destroy_after(handlers, [&] {
      return with(cofferdam::local().without_warning().temporary_base(base.path()), [](auto& env) -> awaitable<void> {
        co_await env.run_command(shell("sleep 60 & echo x; trap '' TERM; sleep 0.02; echo y"));
      });
    });
    ASSERT_TRUE(eventually([&] {
      cofferdam::detail::reaper::instance().sweep();
      return census::take(base.path()) == before;
    })) << "after "
        << handlers << " handlers: " << census::take(base.path()) << ", before: " << before;
  }
  EXPECT_GT(handlers, 5U);
}

}  // namespace with_tests
