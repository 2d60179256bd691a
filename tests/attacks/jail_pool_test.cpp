// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/pool.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/timeout.hpp>

#include "support/census.hpp"
#include "support/jail_tests.hpp"
#include "support/pause.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace jail_pool_tests {

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::pause_for;
using cofferdam_test::run;

class JailPool : public cofferdam_test::jail_fixture {
 protected:
  /// Returns the process numbers of the first processes inside the jails that this program has started.
  static std::vector<pid_t> jails() {
    const std::vector<cofferdam_test::process_entry> table = cofferdam_test::process_table();
    std::vector<pid_t> found;
    for (const cofferdam_test::process_entry& outer : table) {
      if (outer.parent != ::getpid() || outer.name != "bwrap") continue;
      for (const cofferdam_test::process_entry& inner : table)
        if (inner.parent == outer.pid && !inner.is_zombie()) found.push_back(inner.pid);
    }
    return found;
  }

  std::ptrdiff_t workspaces() const {
    return std::distance(std::filesystem::directory_iterator(base_.path()), std::filesystem::directory_iterator());
  }
};

TEST_F(JailPool, each_jail_is_new_and_nothing_is_left) {
  run([&]() -> awaitable<void> {
    co_await with(pool(recipe() | timeout(10s), 2), [&](auto& pool) -> awaitable<void> {
      for (int i = 0; i < 6; ++i) {
        co_await with(pool.provider(), [&](auto& env) -> awaitable<void> {
          command_result result = co_await env.run_command("ls -A . /tmp /dev/shm; touch used /tmp/used /dev/shm/used");
          EXPECT_TRUE(result.ok()) << result.reason();
          EXPECT_EQ(result.out_text().find("used"), std::string::npos);
        });
      }
      EXPECT_EQ(pool.counts().handed_out(), 6U);
    });
  });
  EXPECT_TRUE(cofferdam_test::eventually([] { return jails().empty(); }));
  EXPECT_EQ(workspaces(), 0);
}

/// Returns the sum of the kernel's counts of how often each process has waited for something.
std::uint64_t waits_of(const std::vector<pid_t>& processes) {
  std::uint64_t sum = 0;
  for (const pid_t each : processes) {
    const std::string status = cofferdam_test::read_proc("/proc/" + std::to_string(each) + "/status");
    constexpr std::string_view field = "\nvoluntary_ctxt_switches:";
    const std::size_t at = status.find(field);
    if (at != std::string::npos) sum += std::stoull(status.substr(at + field.size()));
  }
  return sum;
}

TEST_F(JailPool, RS_10_jails_that_wait_do_not_wake_up_and_use_no_more_memory) {
  run([&]() -> awaitable<void> {
    co_await with(pool(recipe(), 4), [&](auto& pool) -> awaitable<void> {
      for (int i = 0; i < 5000 && pool.counts().idle() < 4; ++i) co_await pause_for(1ms);
      co_await pause_for(200ms);
      const std::vector<pid_t> waiting = jails();
      EXPECT_EQ(waiting.size(), 4U);
      const auto memory = [&] {
        std::string text;
        for (const pid_t each : waiting) text += cofferdam_test::read_proc("/proc/" + std::to_string(each) + "/statm");
        return text;
      };
      const std::string memory_before = memory();
      const std::uint64_t before = waits_of(waiting);
      const std::uint64_t own_before = waits_of({::getpid()});
      co_await pause_for(700ms);
      EXPECT_EQ(waits_of(waiting), before);
      EXPECT_EQ(memory(), memory_before);
      EXPECT_LE(waits_of({::getpid()}) - own_before, 3U);  // the pause above is one
      EXPECT_EQ(pool.counts().idle(), 4U);

      // The control is a jail that does something: the meter sees it.
      auto active = co_await pool.provider().open();
      command_result result = co_await active.run_command("true");
      EXPECT_TRUE(result.ok()) << result.reason();
      EXPECT_GT(waits_of(waiting), before);
      co_await active.close();
    });
  });
}

// The environments are erased, so that this also tests is_lost() of any_environment and of layers.
TEST_F(JailPool, RS_10_a_jail_that_was_killed_while_it_waited_is_never_handed_out) {
  run([&]() -> awaitable<void> {
    co_await with(pool(any_provider(recipe()) | timeout(10s), 2), [&](auto& pool) -> awaitable<void> {
      for (int i = 0; i < 5000 && pool.counts().idle() < 2; ++i) co_await pause_for(1ms);
      const std::vector<pid_t> before = jails();
      EXPECT_EQ(before.size(), 2U);
      for (const pid_t each : before) ::kill(each, SIGKILL);
      const auto is_alive = [](pid_t each) {
        const std::vector<pid_t> now = jails();
        return std::find(now.begin(), now.end(), each) != now.end();
      };
      for (const pid_t each : before)
        for (int i = 0; i < 5000 && is_alive(each); ++i) co_await pause_for(1ms);
      co_await pause_for(100ms);  // the pool notices the ends
      co_await with(pool.provider(), [](auto& env) -> awaitable<void> {
        command_result result = co_await env.run_command("echo fine");
        EXPECT_EQ(result.out_text(), "fine\n") << result.reason();
      });
      EXPECT_EQ(pool.counts().discarded(), 2U);
    });
  });
  EXPECT_TRUE(cofferdam_test::eventually([] { return jails().empty(); }));
  EXPECT_EQ(workspaces(), 0);
}

TEST_F(JailPool, runners_of_Python_are_kept_ready_too) {
  run([&]() -> awaitable<void> {
    co_await with(pool(recipe() | python(), 1), [&](auto& pool) -> awaitable<void> {
      for (int i = 0; i < 2; ++i) {
        co_await with(pool.provider() | check_syntax(), [&](auto& runner) -> awaitable<void> {
          code_result result = co_await runner.run_code(code_request("'x' in globals()"));
          EXPECT_EQ(result.value_text(), "False") << result.reason();
          result = co_await runner.run_code(code_request("x = 1"));
          EXPECT_TRUE(result.ok()) << result.reason();
        });
      }
    });
  });
  EXPECT_TRUE(cofferdam_test::eventually([] { return jails().empty(); }));
}

}  // namespace

}  // namespace jail_pool_tests
