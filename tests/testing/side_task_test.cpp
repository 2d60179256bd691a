// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/testing/detail/side_task.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;

/// A check that throws while the command of a side task runs. The environment then closes, which ends the command. So
/// the side task goes on after the check's variables were destroyed.
void check_that_throws() {
  cofferdam::testing::detail::run_check([]() -> awaitable<void> {
    co_await with(local().without_warning(), [](auto& env) -> awaitable<void> {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      const auto work = [&env]() -> awaitable<void> { co_await env.run_command("sleep 60"); };
      const cofferdam::testing::detail::side_task task(executor, work);
      co_await cofferdam::testing::detail::sleep_for(50ms);
      throw std::runtime_error("from the check");
    });
  });
}

TEST(SideTask, may_outlive_a_check_that_throws) {
  EXPECT_NONFATAL_FAILURE(check_that_throws(), "the check threw: from the check");
}

int steps = 0;

/// A check that throws while another coroutine runs, which would go on for two seconds.
void check_that_leaves_a_coroutine() {
  cofferdam::testing::detail::run_check([]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto work = []() -> awaitable<void> {
      for (steps = 0; steps < 200; ++steps) co_await cofferdam::testing::detail::sleep_for(10ms);
    };
    const cofferdam::testing::detail::side_task task(executor, work);
    throw std::runtime_error("from the check");
  });
}

TEST(SideTask, does_not_go_on_after_the_check_has_thrown) {
  EXPECT_NONFATAL_FAILURE(check_that_leaves_a_coroutine(), "the check threw: from the check");
  EXPECT_LT(steps, 200);
}

}  // namespace
