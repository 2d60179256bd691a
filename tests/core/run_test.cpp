// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/run.hpp>

#include "support/forked_host.hpp"
#include "support/pause.hpp"
#include "support/spawn.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/post.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace run_tests {

namespace {

using cofferdam::awaitable;
using cofferdam::error;
using cofferdam::exec_errc;
using cofferdam::run;
using cofferdam::run_value;
using cofferdam_test::in_forked_host;
using cofferdam_test::pause_for;

awaitable<void> nothing() { co_return; }
awaitable<void> fails() {
  throw error(exec_errc::not_found, "there is no such place");
  co_return;
}
awaitable<void> throws_no_exception() {
  throw 7;
  co_return;
}
awaitable<int> seven() { co_return 7; }
awaitable<std::string> text() { co_return "a text that is longer than a string holds in itself"; }
awaitable<std::unique_ptr<int>> moved() { co_return std::make_unique<int>(3); }
awaitable<int> no_number() {
  throw std::runtime_error("no number");
  co_return 0;
}

/// Raises the signal `number`, once or several times, and waits after each. The destructor of a local object sets
/// `cleaned_up`.
awaitable<void> is_told_to_end(int number, int times, bool& cleaned_up) {
  class at_end {
   public:
    explicit at_end(bool& flag) : flag_(flag) {}
    ~at_end() { flag_ = true; }

   private:
    bool& flag_;
  };
  const at_end end(cleaned_up);
  for (int i = 0; i < times; ++i) {
    ::raise(number);
    co_await pause_for(std::chrono::milliseconds(times == 1 ? 60'000 : 50));
  }
}

/// Raises the signal `number`, and ignores the cancellation that follows.
awaitable<void> ends_by_itself(int number) {
  ::raise(number);
  try {
    co_await pause_for(std::chrono::seconds(60));
  } catch (const std::exception&) {
  }
}

awaitable<void> fails_when_told_to_end() {
  ::raise(SIGTERM);
  try {
    co_await pause_for(std::chrono::seconds(60));
  } catch (const std::exception&) {
  }
  throw error(exec_errc::provider_lost, "not everything could be closed");
}

std::string standard_error_of(int (*body)(), int expected) {
  ::testing::internal::CaptureStderr();
  const int status = body();
  std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, expected);
  return printed;
}

TEST(RunProgram, the_status_is_zero_or_the_value) {
  EXPECT_EQ(run(nothing()), 0);
  EXPECT_EQ(run(seven()), 7);
}

TEST(RunProgram, a_failure_is_one_sentence_and_status_one) {
  const std::string printed = standard_error_of([] { return run(fails()); }, 1);
  EXPECT_TRUE(printed.ends_with(": there is no such place\n")) << printed;
  EXPECT_TRUE(standard_error_of([] { return run(no_number()); }, 1).ends_with(": no number\n"));
  EXPECT_NE(standard_error_of([] { return run(throws_no_exception()); }, 1), "");
}

TEST(RunProgram, a_value_of_any_type_is_returned_and_an_exception_passed_on) {
  EXPECT_EQ(run_value(text()), "a text that is longer than a string holds in itself");
  EXPECT_EQ(*run_value(moved()), 3);
  EXPECT_THROW(run_value(no_number()), std::runtime_error);
}

TEST(RunProgram, a_signal_cancels_the_coroutine_and_is_the_status) {
  const auto status_after = [](int number) {
    return in_forked_host([number] {
      bool cleaned_up = false;
      const int status = run(is_told_to_end(number, 1, cleaned_up));
      return std::to_string(status) + (cleaned_up ? " cleaned up" : " left behind");
    });
  };
  EXPECT_EQ(status_after(SIGINT), "130 cleaned up");
  EXPECT_EQ(status_after(SIGTERM), "143 cleaned up");
}

TEST(RunProgram, a_coroutine_that_ends_in_order_after_a_signal_has_its_own_status) {
  EXPECT_EQ(in_forked_host([] { return std::to_string(run(ends_by_itself(SIGTERM))); }), "0");
}

TEST(RunProgram, a_failure_after_a_signal_is_printed) {
  const std::string printed = in_forked_host([] {
    ::testing::internal::CaptureStderr();
    const int status = run(fails_when_told_to_end());
    return std::to_string(status) + ::testing::internal::GetCapturedStderr();
  });
  EXPECT_TRUE(printed.starts_with("143")) << printed;
  EXPECT_NE(printed.find("not everything could be closed"), std::string::npos) << printed;
}

awaitable<void> is_told_twice() {
  ::raise(SIGINT);
  try {
    co_await pause_for(std::chrono::seconds(60));
  } catch (const std::exception&) {
  }
  ::raise(SIGINT);
}

TEST(RunProgram, a_second_signal_has_its_default_action) {
  EXPECT_EQ(in_forked_host([] { return std::to_string(run(is_told_twice())); }),
            "died of signal " + std::to_string(SIGINT));
}

awaitable<void> never_returns_to_its_loop() {
  for (int i = 0; i < 1000; ++i) ::raise(SIGINT);
  co_return;
}

TEST(RunProgram, a_second_signal_ends_a_program_that_does_not_return_to_its_loop) {
  EXPECT_EQ(in_forked_host([] { return std::to_string(run(never_returns_to_its_loop())); }),
            "died of signal " + std::to_string(SIGINT));
}

awaitable<void> waits_then_raises() {
  co_await pause_for(std::chrono::milliseconds(50));
  ::raise(SIGTERM);
  co_await pause_for(std::chrono::seconds(60));
}

awaitable<void> leaves_work_behind() {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  cofferdam_test::spawn(executor, waits_then_raises(), [](std::exception_ptr) {});
}

TEST(RunProgram, signals_have_their_default_action_once_the_coroutine_has_ended) {
  EXPECT_EQ(in_forked_host([] { return std::to_string(run(leaves_work_behind())); }),
            "died of signal " + std::to_string(SIGTERM));
}

awaitable<void> fails_in_a_handler(bool& closed) {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::post(executor, [] { throw std::runtime_error("a handler failed"); });
  try {
    co_await pause_for(std::chrono::seconds(60));
  } catch (const std::exception&) {
  }
  closed = true;
}

TEST(RunProgram, an_exception_of_another_handler_cancels_the_coroutine) {
  bool closed = false;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run(fails_in_a_handler(closed)), 1);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("a handler failed"), std::string::npos);
  EXPECT_TRUE(closed);
}

TEST(RunProgram, an_ignored_signal_stays_ignored) {
  const std::string printed = in_forked_host([] {
    std::signal(SIGINT, SIG_IGN);
    bool cleaned_up = false;
    return std::to_string(run(is_told_to_end(SIGINT, 2, cleaned_up)));
  });
  EXPECT_EQ(printed, "0");
}

void own_handler(int) {}

TEST(RunProgram, the_actions_for_signals_are_as_before_when_it_has_ended) {
  const std::string printed = in_forked_host([] {
    std::signal(SIGINT, own_handler);
    std::signal(SIGCHLD, own_handler);
    bool cleaned_up = false;
    run(is_told_to_end(SIGTERM, 1, cleaned_up));
    const bool restored = std::signal(SIGINT, SIG_DFL) == own_handler && std::signal(SIGTERM, SIG_IGN) == SIG_DFL;
    return std::string(restored && std::signal(SIGCHLD, SIG_DFL) == own_handler ? "restored" : "changed");
  });
  EXPECT_EQ(printed, "restored");
}

}  // namespace

}  // namespace run_tests
