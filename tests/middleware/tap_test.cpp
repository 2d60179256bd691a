// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/middleware/tap.hpp>
#include <cofferdam/middleware/variables.hpp>
#include <cofferdam/testing/fake_provider.hpp>

#include "support/error_of.hpp"
#include "support/fake_environment.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tap_tests {

using namespace cofferdam;
using cofferdam::testing::any_command;
using cofferdam::testing::fail_with;
using cofferdam::testing::fake_provider;
using cofferdam::testing::reply;
using cofferdam_test::full_fake;
using cofferdam_test::plain_fake;
using cofferdam_test::run;
using cofferdam_test::sentence_of;

static_assert(streaming_environment<tap_layer<full_fake>> && file_environment<tap_layer<full_fake>>);
static_assert(suspendable_environment<tap_layer<full_fake>> && !streaming_environment<tap_layer<plain_fake>>);
// The functions cannot change what they see.
static_assert(!std::constructible_from<tap, void (*)(command&)>);
static_assert(!std::constructible_from<tap, std::nullptr_t, void (*)(const command&, command_result&)>);

/// A record of what `tap` reports.
class record {
 public:
  std::vector<std::string> seen;

  tap layer() {
    const auto on_command = [this](const command& c) { seen.push_back("? " + c.line()); };
    const auto on_result = [this](const command& c, const command_result& result) {
      seen.push_back("! " + c.line() + ": " + result.summary());
    };
    return tap(on_command, on_result);
  }
};

TEST(Tap, sees_each_command_before_it_runs_and_its_result) {
  record log;
  fake_provider fake;
  fake.on("ls", [&](const command&) {
    log.seen.push_back("runs");
    return reply("out").exit_code(3);
  });
  run([&]() -> awaitable<void> {
    co_await with(fake | log.layer(), [](auto& env) -> awaitable<void> {
      command_result result = co_await env.run_command("ls");
      EXPECT_EQ(result.out_text(), "out");
    });
  });
  EXPECT_EQ(log.seen, (std::vector<std::string>{"? ls", "runs", "! ls: exit status 3"}));
}

TEST(Tap, sees_commands_that_are_started_or_streamed_and_their_results_once) {
  record log;
  fake_provider fake;
  fake.on(any_command, reply("out"));
  run([&]() -> awaitable<void> {
    co_await with(any_provider(fake | log.layer()), [](auto& env) -> awaitable<void> {
      process running = co_await env.start("a");
      co_await running.wait();
      command_result again = co_await running.wait();
      EXPECT_EQ(again.out_text(), "out");
      co_await stream_output(env, shell("b"), [](const output_chunk&) {});
      { process dropped = co_await env.start("c"); }
    });
  });
  EXPECT_EQ(log.seen, (std::vector<std::string>{"? a", "! a: exit status 0", "? b", "! b: exit status 0", "? c"}));
}

TEST(Tap, sees_the_changes_of_layers_to_the_right_and_the_refusals_of_those_to_the_left) {
  std::vector<std::string> seen;
  const auto on_command = [&](const command& c) { seen.push_back(c.variables().at(0).value()); };
  const auto on_result = [&](const command&, const command_result& result) {
    seen.emplace_back(to_string(result.kind()));
  };
  fake_provider fake;
  run([&]() -> awaitable<void> {
    co_await with(fake | allow_commands("ls") | tap(on_command, on_result) | variables("A", "1") | allow_commands("rm"),
                  [](auto& env) -> awaitable<void> {
                    co_await env.run_command("rm");
                    co_await env.run_command("mv a b");
                  });
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"1", "command_not_allowed"}));
  EXPECT_TRUE(fake.commands().empty());
}

TEST(Tap, an_exception_before_a_command_prevents_it) {
  fake_provider fake;
  fake.on(any_command, reply(""));
  const auto objects = [](const command&) { throw std::runtime_error("stop"); };
  run([&]() -> awaitable<void> {
    co_await with(fake | tap(objects), [](auto& env) -> awaitable<void> {
      int caught = 0;
      try {
        co_await env.run_command("ls");
      } catch (const std::runtime_error&) {
        ++caught;
      }
      try {
        co_await env.start("ls");
      } catch (const std::runtime_error&) {
        ++caught;
      }
      EXPECT_EQ(caught, 2);
    });
  });
  EXPECT_TRUE(fake.commands().empty());
}

TEST(Tap, an_exception_after_a_command_replaces_its_result) {
  fake_provider fake;
  fake.on(any_command, reply(""));
  const auto objects = [](const command&, const command_result&) { throw std::runtime_error("too late"); };
  run([&]() -> awaitable<void> {
    co_await with(fake | tap(nullptr, objects), [](auto& env) -> awaitable<void> {
      int caught = 0;
      try {
        co_await env.run_command("ls");
      } catch (const std::runtime_error&) {
        ++caught;
      }
      process running = co_await env.start("ls");
      try {
        co_await running.wait();
      } catch (const std::runtime_error&) {
        ++caught;
      }
      EXPECT_EQ(caught, 2);
      command_result kept = co_await running.wait();
      EXPECT_TRUE(kept.ok()) << "reported once";
    });
  });
  EXPECT_EQ(fake.commands().size(), 2U);
}

TEST(Tap, a_command_that_ends_with_an_exception_has_no_result) {
  record log;
  fake_provider fake;
  fake.on("ls", fail_with(error(exec_errc::provider_lost, "lost")));
  const auto work = [&] {
    run([&]() -> awaitable<void> {
      co_await with(fake | log.layer(), [](auto& env) -> awaitable<void> { co_await env.run_command("ls"); });
    });
  };
  EXPECT_EQ(sentence_of(work), "lost");
  EXPECT_EQ(log.seen, (std::vector<std::string>{"? ls"}));
}

}  // namespace tap_tests
