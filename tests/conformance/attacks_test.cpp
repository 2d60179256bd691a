// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks EN and PR of the project's catalogue of attacks that run at the places of Docker and E2B. (tests/attacks has
// those over `local` and in the jail.) The tests check the host's process table, in which the processes of a container
// appear too: every process of an attack has a marker among its arguments. `naive_runner`, which starts a shell and
// kills only that, is the control.

#include <cofferdam/core/with.hpp>

#include "conformance/places.hpp"
#include "support/hostile.hpp"
#include "support/naive_runner.hpp"
#include "support/pause.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>

namespace cofferdam_test {

namespace {

using cofferdam::awaitable;
using cofferdam::command;
using cofferdam::command_result;
using cofferdam::error_kind;
using cofferdam::shell;
using namespace std::chrono_literals;

class HostileConformance : public ::testing::Test {
 protected:
  /// Opens an environment at this place and runs `body(env)` in it.
  template <class Body>
  void in_environment(Body body) {
    run([&]() -> awaitable<void> { co_await cofferdam::with(here::provider(), std::ref(body)); }, 120s);
  }

  /// Returns true if the host's process table contains the commands of this place.
  bool is_visible() {
    bool visible = false;
    const std::string marker = new_marker();
    in_environment([&](auto& env) -> awaitable<void> {
      cofferdam::process running = co_await env.start(cofferdam::argv("sleep", marker));
      for (int i = 0; i < 200 && !visible; ++i) {
        co_await pause_for(10ms);  // some backends need the event loop to start a command
        visible = !marked(marker).empty();
      }
      running = cofferdam::process();
    });
    return visible;
  }

  /// Runs each line, in which M stands for a marker, and expects `kind`, and that none of its processes is left. As the
  /// control, the naive runner, which kills only the shell, must leave some.
  void expect_gone(const std::vector<std::string>& lines, error_kind kind, std::chrono::milliseconds timeout) {
    COFFERDAM_NEEDS("process_table", is_visible(), "that no process of the attack is left");
    in_environment([&](auto& env) -> awaitable<void> {
      for (const std::string& line : lines) {
        const std::string marker = new_marker();
        command_result result = co_await env.run_command(shell(with_marker(line, marker)).timeout(timeout));
        EXPECT_EQ(result.kind(), kind) << line << ": " << result.reason();
        EXPECT_LT(result.duration(), 20s) << line;
        const bool gone = eventually([&] { return marked(marker).empty(); }, 5s);
        EXPECT_TRUE(gone) << line << " left " << shown(marked(marker));
        kill_marked(marker);
      }
    });
    for (const std::string& line : lines) {
      const std::string marker = new_marker();
      {
        naive_runner naive(with_marker(line, marker), "/");
        eventually([&] { return marked(marker).size() > 1; }, 5s);  // the shell has started a process
      }
      EXPECT_FALSE(marked(marker).empty()) << "the control: " << line;
      kill_marked(marker);
    }
  }
};

}  // namespace

TEST_F(HostileConformance, PR_01_PR_02_a_command_that_resists_its_time_limit_leaves_no_process) {
  expect_gone({"echo before; sleep M; echo after", "trap '' TERM INT HUP; (trap '' TERM; sleep M) & sleep M; sleep M"},
              error_kind::timeout, 400ms);
}

TEST_F(HostileConformance, PR_23_a_timed_out_command_leaves_no_process_in_another_session) {
  expect_gone({"setsid sleep M & (setsid sh -c 'trap \"\" TERM; sleep M; sleep M' &) ; trap '' TERM; sleep M; sleep M"},
              error_kind::timeout, 400ms);
}

TEST_F(HostileConformance, PR_04_a_background_child_that_keeps_the_output_open_is_gone) {
  expect_gone({"sleep M & (sleep M &); echo done"}, error_kind::none, 30s);
}

TEST_F(HostileConformance, PR_03_what_leaves_the_session_of_its_command_is_gone_when_it_has_returned) {
  expect_gone({"setsid sh -c 'setsid sh -c \"exec sleep M\" & exit 0' & sleep 0.05",
               "(setsid sh -c 'exec 0<&- 1>&- 2>&-; exec sleep M' &); sleep 0.05"},
              error_kind::none, 30s);
}

TEST_F(HostileConformance, what_has_left_the_session_of_its_command_ends_with_its_environment) {
  COFFERDAM_NEEDS("process_table", is_visible(), "that no process of the attack is left");
  const std::string marker = new_marker();
  in_environment([&](auto& env) -> awaitable<void> {
    co_await env.run_command(shell("(env -i setsid sleep " + marker + " &); sleep 0.05"));
  });
  EXPECT_TRUE(eventually([&] { return marked(marker).empty(); }, 5s)) << shown(marked(marker));
  kill_marked(marker);
}

TEST_F(HostileConformance, PR_10_many_hostile_runs_leave_no_process_and_no_descriptor) {
  COFFERDAM_NEEDS("process_table", is_visible(), "that no process of the attack is left");
  const std::string marker = new_marker();
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  std::ptrdiff_t before = 0;
  in_environment([&](auto& env) -> awaitable<void> {
    for (int i = 0; i < 15; ++i) {
      if (i == 5) before = open_files();  // by then, connections that stay open are open
      const char* const lines[] = {"setsid sleep M & exit 3", "kill -9 $$", "sleep M & echo done",
                                   "(setsid sleep M &); exit 4", "trap '' TERM; sleep M; sleep M"};
      co_await env.run_command(
          shell(with_marker(lines[i % 5], marker)).timeout(std::chrono::milliseconds(i % 5 == 4 ? 50 : 30'000)));
    }
    EXPECT_TRUE(eventually([&] { return marked(marker).empty(); }, 5s)) << shown(marked(marker));
    EXPECT_TRUE(eventually([&] { return open_files() <= before + 1; }, 5s)) << before << " and " << open_files();
  });
  // Control: the naive runner leaves the first of these.
  { naive_runner(with_marker("setsid sleep M & sleep 0.05; exit 3", marker), "/").finish(1s); }
  EXPECT_FALSE(marked(marker).empty());
  kill_marked(marker);
}

TEST_F(HostileConformance, EN_01_EN_08_EN_09_secrets_proxies_and_the_home_of_the_host_are_not_inherited) {
  const temporary_folder home;
  home.write(".netrc", "machine hush password hush-home\n");
  const char* const names[] = {"OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "https_proxy", "ALL_PROXY"};
  const std::string own_home = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "/";
  for (const char* const name : names) ::setenv(name, "hush-variable", 1);
  ::setenv("HOME", home.path().c_str(), 1);
  const std::string attack = "env; cat /proc/self/environ; cat ~/.netrc \"$HOME/.netrc\"";
  std::string output;
  in_environment([&](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell(attack));
    output = result.out().text();
  });
  naive_runner control(attack, home.path().string());
  const bool ended = control.finish(20s);
  for (const char* const name : names) ::unsetenv(name);
  ::setenv("HOME", own_home.c_str(), 1);
  EXPECT_NE(output.find("PATH="), std::string::npos) << output;
  EXPECT_EQ(output.find("hush"), std::string::npos) << output;
  EXPECT_TRUE(ended);
  EXPECT_NE(control.text().find("hush-variable"), std::string::npos);
  EXPECT_NE(control.text().find("hush-home"), std::string::npos);
}

}  // namespace cofferdam_test
