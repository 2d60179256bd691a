// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/limit_output.hpp>

#include "support/fake_environment.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

namespace {

using namespace cofferdam;
using cofferdam_test::fake_provider;
using cofferdam_test::full_fake;
using cofferdam_test::journal;
using cofferdam_test::run;

std::optional<std::size_t> kept_after(command c) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(fake_provider<full_fake>(log) | limit_output(1000), [&](auto& env) -> awaitable<void> {
      co_await env.run_command(c);
      co_await env.start(c);
    });
  });
  EXPECT_EQ(log->commands.at(0).kept_output(), log->commands.at(1).kept_output());
  return log->commands.at(0).kept_output();
}

TEST(LimitOutput, sets_a_limit_where_there_is_none) { EXPECT_EQ(kept_after(shell("x")), 1000U); }
TEST(LimitOutput, lowers_a_higher_limit) { EXPECT_EQ(kept_after(shell("x").keep_output(2000)), 1000U); }
TEST(LimitOutput, leaves_a_lower_limit) { EXPECT_EQ(kept_after(shell("x").keep_output(0)), 0U); }

}  // namespace
