// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/local.hpp>

#include "support/census.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

// Tests close() of the local backend if the processes that should end the commands fail. The tests check from outside
// which processes are alive.

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::is_alive;
using cofferdam_test::process_entry;
using cofferdam_test::run;

struct outcome {
  std::optional<error> failure;
  std::chrono::milliseconds time{0};
  pid_t warden = 0;
  pid_t supervisor = 0;
  std::vector<pid_t> guests;  // the shell and its child
};

/// Opens an environment, starts a command with a child, calls `harm` with the pids, and closes the environment.
template <class Harm>
outcome close_after(Harm harm) {
  outcome result;
  run([&]() -> awaitable<void> {
    local_environment env = co_await local().without_warning().kill_grace(200ms).open();
    process running = co_await env.start(shell("sleep 1000 & echo there; wait"));
    const output_chunk first = co_await running.read();
    EXPECT_EQ(as_text(first.data()), "there\n");
    // The test finds processes by their environment variables. The child of the shell has its variables only after
    // its exec.
    EXPECT_TRUE(cofferdam_test::eventually([&] {
      result.guests.clear();
      for (const process_entry& guest : cofferdam_test::guests_of(env.workspace().parent_path())) {
        result.guests.push_back(guest.pid);
        if (cofferdam_test::is_warden(guest.parent)) result.supervisor = guest.parent;
      }
      return result.guests.size() == 2;
    }));
    // The warden of an earlier test may still be ending.
    for (const process_entry& each : cofferdam_test::process_table())
      if (each.pid == result.supervisor) result.warden = each.parent;
    EXPECT_TRUE(cofferdam_test::is_warden(result.warden));
    harm(result);
    const auto begun = std::chrono::steady_clock::now();
    try {
      co_await env.close();
    } catch (const error& failure) {
      result.failure = failure;
    }
    result.time = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
  });
  return result;
}

/// Returns true as soon as all processes are gone. A process may need a moment to die after SIGKILL.
bool are_gone(const std::vector<pid_t>& pids) {
  return cofferdam_test::eventually([&] { return std::none_of(pids.begin(), pids.end(), is_alive); });
}

TEST(LocalClose, a_sound_warden_ends_everything_at_once) {
  const outcome result = close_after([](const outcome&) {});
  EXPECT_FALSE(result.failure);
  EXPECT_LT(result.time, 2s);
  EXPECT_TRUE(are_gone(result.guests));
}

TEST(LocalClose, of_an_environment_that_was_destroyed_before_it_began_returns_at_once) {
  run([]() -> awaitable<void> {
    const auto recipe = local().without_warning();
    std::optional<local_environment> env(co_await recipe.open());
    awaitable<void> closing = env->close();
    env.reset();
    co_await std::move(closing);
  });
}

TEST(LocalClose, a_warden_that_is_stopped_does_not_hold_close_for_ever) {
  const outcome result = close_after([](const outcome& running) { ::kill(running.warden, SIGSTOP); });
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->code(), exec_errc::provider_lost);
  EXPECT_LT(result.time, 5200ms);
  const std::string message = result.failure->what();
  for (const pid_t pid : result.guests)
    EXPECT_NE(message.find(std::to_string(pid) + " ("), std::string::npos) << message;
  EXPECT_NE(message.find("everything has ended"), std::string::npos) << message;
  EXPECT_TRUE(are_gone(result.guests));
  EXPECT_TRUE(are_gone({result.warden, result.supervisor}));
}

TEST(LocalClose, a_supervisor_that_is_stopped_does_not_hold_close_for_ever) {
  const outcome result = close_after([](const outcome& running) { ::kill(running.supervisor, SIGSTOP); });
  if (result.failure) {
    EXPECT_EQ(result.failure->code(), exec_errc::provider_lost) << result.failure->what();
  }
  EXPECT_LT(result.time, 5200ms);
  EXPECT_TRUE(are_gone(result.guests));
  EXPECT_TRUE(are_gone({result.warden, result.supervisor}));
}

TEST(LocalClose, what_outlived_a_killed_warden_and_supervisor_is_found_and_named) {
  const outcome result = close_after([](const outcome& running) {
    ::kill(running.supervisor, SIGSTOP);
    ::kill(running.warden, SIGKILL);
    ::kill(running.supervisor, SIGKILL);
  });
  EXPECT_LT(result.time, 5200ms);
  EXPECT_TRUE(are_gone(result.guests));
  // The kernel has ended the guests together with their parents.
  if (!result.failure) return;
  EXPECT_EQ(result.failure->code(), exec_errc::provider_lost);
  const std::string message = result.failure->what();
  for (const pid_t pid : result.guests)
    EXPECT_NE(message.find(std::to_string(pid) + " ("), std::string::npos) << message;
}

}  // namespace
