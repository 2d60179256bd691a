// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/timeout.hpp>

#include "support/fake_environment.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::fake_provider;
using cofferdam_test::full_fake;
using cofferdam_test::journal;
using cofferdam_test::run;

std::optional<std::chrono::milliseconds> limit_after(command c) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(fake_provider<full_fake>(log) | timeout(30s), [&](auto& env) -> awaitable<void> {
      co_await env.run_command(c);
      co_await env.start(c);
    });
  });
  EXPECT_EQ(log->commands.at(0).timeout(), log->commands.at(1).timeout());
  return log->commands.at(0).timeout();
}

// Feature: B5
TEST(Timeout, sets_a_limit_where_there_is_none) { EXPECT_EQ(limit_after(shell("x")), 30s); }
TEST(Timeout, lowers_a_longer_limit) { EXPECT_EQ(limit_after(shell("x").timeout(60s)), 30s); }
TEST(Timeout, lowers_no_limit_at_all) { EXPECT_EQ(limit_after(shell("x").timeout(no_timeout)), 30s); }
TEST(Timeout, leaves_a_shorter_limit) { EXPECT_EQ(limit_after(shell("x").timeout(10s)), 10s); }

TEST(Timeout, a_limit_that_is_none_is_refused_when_the_recipe_is_made) {
  EXPECT_THROW(timeout(0ms), error);
  EXPECT_THROW(timeout(-1ms), error);
}

}  // namespace
