// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of `background_policy::keep`: processes that continue after their command has ended.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/with.hpp>

#include "support/far_provider.hpp"
#include "support/pause.hpp"
#include "support/run.hpp"

#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>

namespace {

using namespace cofferdam;
using cofferdam_test::pause_for;

bool lives(const std::string& pid) { return ::kill(std::stoi(pid), 0) == 0; }

awaitable<bool> ends(std::string pid) {
  for (int i = 0; i < 2000 && lives(pid); ++i) co_await pause_for(std::chrono::milliseconds(5));
  co_return !lives(pid);
}

constexpr const char* leaves_a_sleeper = "sleep 600 & echo $!";

TEST(Background, what_is_kept_goes_on_and_is_listed_and_ended) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(local().without_warning(), [](local_environment& env) -> awaitable<void> {
      command_result result = co_await env.run_command(shell(leaves_a_sleeper).background(background_policy::keep));
      EXPECT_TRUE(result.ok());
      EXPECT_TRUE(result.left_running());
      const std::string pid(result.out().text());
      EXPECT_TRUE(lives(pid));
      const std::vector<background_command> kept = env.background();
      EXPECT_EQ(kept.size(), 1U);
      EXPECT_NE(kept.at(0).program().find("sleep 600"), std::string::npos) << kept.at(0).program();
      co_await env.end_background(kept.at(0).number());
      EXPECT_TRUE(env.background().empty());
      const bool gone = co_await ends(pid);
      EXPECT_TRUE(gone);
      bool refused = false;
      try {
        co_await env.end_background(kept.at(0).number());
      } catch (const error& failure) {
        refused = failure.code() == exec_errc::not_found;
      }
      EXPECT_TRUE(refused);
    });
  });
}

TEST(Background, without_it_the_same_command_leaves_nothing) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(local().without_warning(), [](local_environment& env) -> awaitable<void> {
      command_result result = co_await env.run_command(shell(leaves_a_sleeper));
      EXPECT_TRUE(result.ok());
      EXPECT_FALSE(result.left_running());
      EXPECT_TRUE(env.background().empty());
      const bool gone = co_await ends(std::string(result.out().text()));
      EXPECT_TRUE(gone);
    });
  });
}

TEST(Background, closing_the_environment_ends_it) {
  cofferdam_test::run([]() -> awaitable<void> {
    local_environment env = co_await local().without_warning().open();
    // The process prints its number while the command waits for the file.
    command_result result =
        co_await env.run_command(shell("(trap '' TERM; setsid sh -c 'echo $$ > own; mv own pid; exec sleep 600') & "
                                       "until cat pid 2>/dev/null; do sleep 0.01; done")
                                     .background(background_policy::keep));
    EXPECT_TRUE(result.left_running());
    const std::string pid(result.out().text());
    EXPECT_TRUE(lives(pid)) << pid;
    co_await env.close();
    EXPECT_FALSE(lives(pid)) << pid;
  });
}

TEST(Background, an_environment_that_is_dropped_takes_it_along) {
  cofferdam_test::run([]() -> awaitable<void> {
    std::string pid;
    {
      local_environment env = co_await local().without_warning().open();
      command_result result = co_await env.run_command(shell(leaves_a_sleeper).background(background_policy::keep));
      pid = result.out().text();
      EXPECT_TRUE(lives(pid));
    }
    const bool gone = co_await ends(pid);
    EXPECT_TRUE(gone);
  });
}

/// Expects that a kept process can continue to write to the output of its command, and is not blocked.
template <class Environment>
awaitable<void> writes_on(Environment& env) {
  command_result result = co_await env.run_command(
      shell("echo before; (while [ ! -e stop ]; do echo noise; done; echo done > written) & sleep 0.02")
          .background(background_policy::keep)
          .keep_output(4096));
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(result.left_running());
  EXPECT_EQ(result.out().text().substr(0, 7), "before\n");
  co_await write_text(env, "stop", "");
  bool written = false;
  for (int i = 0; i < 2000 && !written; ++i) {
    written = co_await exists(env, "written");
    if (!written) co_await pause_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(written);
}

TEST(Background, it_may_go_on_writing_to_a_pipe) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(local().without_warning(),
                  [](local_environment& env) -> awaitable<void> { co_await writes_on(env); });
  });
}

TEST(Background, it_may_go_on_writing_through_frames) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(cofferdam_test::far_provider(),
                  [](cofferdam_test::far_environment& env) -> awaitable<void> { co_await writes_on(env); });
  });
}

TEST(Background, one_that_ends_by_itself_leaves_the_list) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(local().without_warning(), [](local_environment& env) -> awaitable<void> {
      command_result result = co_await env.run_command(
          shell("(while [ ! -e stop ]; do sleep 0.01; done) &").background(background_policy::keep));
      EXPECT_TRUE(result.left_running());
      EXPECT_EQ(env.background().size(), 1U);
      co_await write_text(env, "stop", "");
      for (int i = 0; i < 2000 && !env.background().empty(); ++i) co_await pause_for(std::chrono::milliseconds(5));
      EXPECT_TRUE(env.background().empty());
    });
  });
}

TEST(Background, a_reader_gets_all_that_the_command_itself_wrote) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(local().without_warning(), [](local_environment& env) -> awaitable<void> {
      process running =
          co_await env.start(shell("head -c 30000 /dev/zero; sleep 600 & exit 3").background(background_policy::keep));
      // Usually the command has ended before the first read, which is the difficult case. The test is valid without
      // this wait.
      co_await pause_for(std::chrono::milliseconds(100));
      std::size_t total = 0;
      for (;;) {
        const output_chunk piece = co_await running.read();
        if (piece.end()) break;
        total += piece.data().size();
      }
      EXPECT_EQ(total, 30000U);
      command_result result = co_await running.wait();
      EXPECT_EQ(result.exit_code(), 3);
      EXPECT_TRUE(result.left_running());
    });
  });
}

TEST(Background, a_time_limit_ends_the_command_and_all_of_it) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(local().without_warning(), [](local_environment& env) -> awaitable<void> {
      command_result result = co_await env.run_command(shell("sleep 600 & echo $!; wait")
                                                           .background(background_policy::keep)
                                                           .timeout(std::chrono::milliseconds(300)));
      EXPECT_EQ(result.kind(), error_kind::timeout);
      EXPECT_FALSE(result.left_running());
      const bool gone = co_await ends(std::string(result.out().text()));
      EXPECT_TRUE(gone);
    });
  });
}

TEST(Background, a_loop_that_stood_still_past_the_limit_ends_nothing_that_is_kept) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(
        local().without_warning().kill_grace(std::chrono::milliseconds(10)),
        [](local_environment& env) -> awaitable<void> {
          process running = co_await env.start(shell("sleep 0.2; " + std::string(leaves_a_sleeper))
                                                   .background(background_policy::keep)
                                                   .timeout(std::chrono::milliseconds(600)));
          co_await pause_for(std::chrono::milliseconds(50));
          std::this_thread::sleep_for(std::chrono::milliseconds(3500));  // blocks the loop beyond the time limit
          command_result result = co_await running.wait();
          EXPECT_TRUE(result.ok()) << result.reason();
          EXPECT_TRUE(result.left_running());
          const std::string pid(result.out().text());
          co_await pause_for(std::chrono::milliseconds(500));
          EXPECT_TRUE(lives(pid));
        });
  });
}

TEST(Background, without_a_warden_it_is_refused) {
  cofferdam_test::run([]() -> awaitable<void> {
    local_environment env = co_await local().without_warning().warden(warden_policy::never).open();
    bool refused = false;
    try {
      co_await env.run_command(shell("true").background(background_policy::keep));
    } catch (const error& failure) {
      refused = failure.code() == exec_errc::unsupported;
    }
    EXPECT_TRUE(refused);
    co_await env.close();
  });
}

}  // namespace
