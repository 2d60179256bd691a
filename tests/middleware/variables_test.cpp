// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/variables.hpp>

#include "support/error_of.hpp"
#include "support/fake_environment.hpp"
#include "support/run.hpp"
#include "support/variable.hpp"

#include <gtest/gtest.h>

namespace {

using namespace cofferdam;
using cofferdam_test::fake_provider;
using cofferdam_test::full_fake;
using cofferdam_test::journal;
using cofferdam_test::run;

std::string settings_after(variables layer, command c) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(fake_provider<full_fake>(log) | layer,
                  [&](auto& env) -> awaitable<void> { co_await env.run_command(c); });
  });
  std::string settings;
  for (const command::variable_setting& setting : log->commands.at(0).variables())
    settings += setting.name() + "=" + setting.value() + ";";
  return settings;
}

TEST(Variables, are_given_to_a_command) {
  EXPECT_EQ(settings_after(variables("A", "1").set("B", "2"), shell("x")), "A=1;B=2;");
}

TEST(Variables, of_the_command_itself_win) {
  EXPECT_EQ(settings_after(variables("A", "1").set("B", "2"), shell("x").variable("A", "own")), "A=own;B=2;");
}

TEST(Variables, can_be_set_again) { EXPECT_EQ(settings_after(variables("A", "1").set("A", "2"), shell("x")), "A=2;"); }

TEST(Variables, that_cannot_be_are_refused_when_the_recipe_is_made) {
  EXPECT_THROW(variables("", "x"), error);
  EXPECT_THROW(variables("A=B", "x"), error);
  EXPECT_THROW(variables("A", std::string("x\0y", 3)), error);
}

TEST(Variables, of_this_program_are_forwarded_by_their_names) {
  const cofferdam_test::variable first("COFFERDAM_TEST_A", "1");
  const cofferdam_test::variable second("COFFERDAM_TEST_B", "");
  EXPECT_EQ(settings_after(forward_variables("COFFERDAM_TEST_A", "COFFERDAM_TEST_B"), shell("x")),
            "COFFERDAM_TEST_A=1;COFFERDAM_TEST_B=;");
  EXPECT_EQ(cofferdam_test::sentence_of([] { forward_variables("COFFERDAM_TEST_A", "COFFERDAM_TEST_C"); }),
            "forward_variables: the environment variable \"COFFERDAM_TEST_C\" is not set");
}

}  // namespace
