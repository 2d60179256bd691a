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
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace pool_of_jails_tests {

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::pause_for;
using cofferdam_test::run;

class PoolOfJails : public cofferdam_test::jail_fixture {
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

TEST_F(PoolOfJails, each_jail_is_new_and_nothing_is_left) {
  std::set<std::string> names;
  run([&]() -> awaitable<void> {
    co_await with(pool(recipe() | timeout(10s), 2), [&](auto& pool) -> awaitable<void> {
      for (int i = 0; i < 6; ++i) {
        co_await with(pool.provider(), [&](auto& env) -> awaitable<void> {
          command_result result = co_await env.run_command("ls; touch used; readlink /proc/self/ns/mnt");
          EXPECT_TRUE(result.ok()) << result.reason();
          EXPECT_TRUE(names.insert(result.out_text()).second) << result.out_text();
          EXPECT_EQ(result.out_text().find("used"), std::string::npos);
        });
      }
    });
  });
  EXPECT_EQ(names.size(), 6U);
  EXPECT_TRUE(cofferdam_test::eventually([] { return jails().empty(); }));
  EXPECT_EQ(workspaces(), 0);
}

// The environments are erased, so that this also tests is_lost() of any_environment and of layers.
TEST_F(PoolOfJails, a_jail_that_was_killed_while_it_waited_is_replaced) {
  run([&]() -> awaitable<void> {
    co_await with(pool(any_provider(recipe()) | timeout(10s), 2), [&](auto& pool) -> awaitable<void> {
      for (int i = 0; i < 5000 && pool.counts().idle() < 2; ++i) co_await pause_for(1ms);
      const std::vector<pid_t> before = jails();
      EXPECT_EQ(before.size(), 2U);
      for (const pid_t each : before) ::kill(each, SIGKILL);
      co_await pause_for(100ms);
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

TEST_F(PoolOfJails, runners_of_Python_are_kept_ready_too) {
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

}  // namespace pool_of_jails_tests
