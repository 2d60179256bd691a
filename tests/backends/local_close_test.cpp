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

// Tests close() if the processes that should end the commands fail to do so. The processes are observed from outside.

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

/// Opens an environment, starts a command with a child, does `harm` and closes.
template <class Harm>
outcome close_after(Harm harm) {
  outcome seen;
  run([&]() -> awaitable<void> {
    local_environment env = co_await local().without_warning().kill_grace(200ms).open();
    seen.warden = cofferdam_test::own_wardens().at(0).pid;
    process running = co_await env.start(shell("sleep 1000 & echo there; wait"));
    const output_chunk first = co_await running.read();
    EXPECT_EQ(as_text(first.data()), "there\n");
    // The child of the shell has its variables only after its exec.
    EXPECT_TRUE(cofferdam_test::eventually([&] {
      seen.guests.clear();
      for (const process_entry& guest : cofferdam_test::guests_of(env.workspace().parent_path())) {
        seen.guests.push_back(guest.pid);
        if (cofferdam_test::is_warden(guest.parent)) seen.supervisor = guest.parent;
      }
      return seen.guests.size() == 2;
    }));
    EXPECT_NE(seen.supervisor, 0);
    harm(seen);
    const auto begun = std::chrono::steady_clock::now();
    try {
      co_await env.close();
    } catch (const error& failure) {
      seen.failure = failure;
    }
    seen.time = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
  });
  return seen;
}

/// SIGKILL is delivered soon, not at once.
bool are_gone(const std::vector<pid_t>& all) {
  return cofferdam_test::eventually([&] { return std::none_of(all.begin(), all.end(), is_alive); });
}

TEST(LocalClose, a_sound_warden_ends_everything_at_once) {
  const outcome seen = close_after([](const outcome&) {});
  EXPECT_FALSE(seen.failure);
  EXPECT_LT(seen.time, 2s);
  EXPECT_TRUE(are_gone(seen.guests));
}

TEST(LocalClose, a_warden_that_is_stopped_does_not_hold_close_for_ever) {
  const outcome seen = close_after([](const outcome& all) { ::kill(all.warden, SIGSTOP); });
  ASSERT_TRUE(seen.failure);
  EXPECT_EQ(seen.failure->code(), exec_errc::provider_lost);
  EXPECT_LT(seen.time, 5200ms);
  const std::string said = seen.failure->what();
  for (const pid_t one : seen.guests) EXPECT_NE(said.find(std::to_string(one) + " ("), std::string::npos) << said;
  EXPECT_NE(said.find("everything has ended"), std::string::npos) << said;
  EXPECT_TRUE(are_gone(seen.guests));
  EXPECT_TRUE(are_gone({seen.warden, seen.supervisor}));
}

TEST(LocalClose, a_supervisor_that_is_stopped_does_not_hold_close_for_ever) {
  const outcome seen = close_after([](const outcome& all) { ::kill(all.supervisor, SIGSTOP); });
  if (seen.failure) {
    EXPECT_EQ(seen.failure->code(), exec_errc::provider_lost) << seen.failure->what();
  }
  EXPECT_LT(seen.time, 5200ms);
  EXPECT_TRUE(are_gone(seen.guests));
  EXPECT_TRUE(are_gone({seen.warden, seen.supervisor}));
}

TEST(LocalClose, what_outlived_a_killed_warden_and_supervisor_is_found_and_named) {
  const outcome seen = close_after([](const outcome& all) {
    ::kill(all.supervisor, SIGSTOP);
    ::kill(all.warden, SIGKILL);
    ::kill(all.supervisor, SIGKILL);
  });
  EXPECT_LT(seen.time, 5200ms);
  EXPECT_TRUE(are_gone(seen.guests));
  if (!seen.failure) return;  // the kernel has ended them with their parents
  EXPECT_EQ(seen.failure->code(), exec_errc::provider_lost);
  const std::string said = seen.failure->what();
  for (const pid_t one : seen.guests) EXPECT_NE(said.find(std::to_string(one) + " ("), std::string::npos) << said;
}

}  // namespace
