// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks PR-01, 02, 04, 05, 10, 15, 17, 18 and RS-09 of the project's catalogue of attacks: commands that resist their
// time limit, and the processes they leave, over `local` and in the jail. The tests check the host's process table.
// `naive_runner` is the control, in which each attack succeeds.

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/with.hpp>

#include "support/attack_place.hpp"
#include "support/census.hpp"
#include "support/naive_runner.hpp"
#include "support/pause.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <linux/sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pr_time_tests {

namespace {

using asio::awaitable;
using cofferdam::any_provider;
using cofferdam::argv;
using cofferdam::command;
using cofferdam::command_result;
using cofferdam::error_kind;
using cofferdam::process;
using cofferdam::shell;
using cofferdam::with;
using cofferdam_test::attack_folder;
using cofferdam_test::census;
using cofferdam_test::eventually;
using cofferdam_test::guests_of;
using cofferdam_test::is_alive;
using cofferdam_test::kill_guests_of;
using cofferdam_test::naive_runner;
using cofferdam_test::pause_for;
using cofferdam_test::process_entry;
using cofferdam_test::run;
using cofferdam_test::temporary_folder;
using namespace std::chrono_literals;

using clock = std::chrono::steady_clock;

any_provider provider(const attack_folder& base, std::chrono::milliseconds grace = 100ms) {
  return base.provider(grace, grace);
}

/// Runs one command in a new environment and returns its result. Expects that no process of the command is left while
/// the environment is still open.
command_result result_of(const attack_folder& base, command c) {
  const auto body = [&](auto& env) -> awaitable<command_result> {
    command_result result = co_await env.run_command(c);
    // Killed processes may take a moment to disappear.
    const bool gone = eventually([&] { return guests_of(base.path()).empty(); }, 5s);
    EXPECT_TRUE(gone) << guests_of(base.path()).size() << " processes survived";
    co_return result;
  };
  return run([&]() -> awaitable<command_result> {
    command_result result = co_await with(provider(base), std::ref(body));
    co_return result;
  });
}

double milliseconds(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

class PrTimeAttack : public cofferdam_test::attack_places {};
INSTANTIATE_TEST_SUITE_P(Places, PrTimeAttack, cofferdam_test::in_places("local", "jail"), cofferdam_test::place_name);

}  // namespace

TEST_P(PrTimeAttack, PR_01_a_command_that_sleeps_is_back_when_its_time_is_over_with_its_output) {
  const attack_folder base(GetParam());
  const auto before = clock::now();
  const command_result result = result_of(base, shell("echo before; sleep 1000").timeout(1s));
  const auto took = clock::now() - before;
  EXPECT_EQ(result.kind(), error_kind::timeout);
  EXPECT_EQ(result.out().text(), "before\n");
  EXPECT_GE(result.duration(), 1s);
  std::cout << "back after " << milliseconds(result.duration()) << " ms, closed after " << milliseconds(took)
            << " ms\n";
  EXPECT_LT(result.duration(), 20s) << "1.05 s on a quiet machine";
}

TEST(Attack, PR_01_control_reading_to_the_end_waits_as_long_as_the_guest_likes) {
  const temporary_folder base;
  naive_runner naive("echo before; exec sleep 1000", base.path());
  EXPECT_FALSE(naive.finish(1500ms));
}

TEST_P(PrTimeAttack, RS_09_a_time_limit_of_zero_or_less_is_refused_and_never_means_for_ever) {
  const attack_folder base(GetParam());
  for (const std::chrono::milliseconds limit : {0ms, -1ms, std::chrono::milliseconds::min()}) {
    try {
      const command_result refused = result_of(base, shell("sleep 5").timeout(limit));
      EXPECT_EQ(refused.kind(), error_kind::invalid_argument);
    } catch (const cofferdam::error& failure) {
      EXPECT_EQ(failure.code(), cofferdam::exec_errc::invalid_argument) << failure.what();
    }
  }
  // Control: limits that are none of these are accepted, and hold.
  EXPECT_TRUE(result_of(base, shell("true").timeout(std::chrono::milliseconds::max())).ok());
  EXPECT_EQ(result_of(base, shell("sleep 5").timeout(1ms)).kind(), error_kind::timeout);
}

TEST_P(PrTimeAttack, PR_02_a_command_that_ignores_blocks_or_stops_is_dead_in_time) {
  const std::string lines[] = {
      "trap '' TERM INT HUP QUIT USR1; while :; do sleep 0.01; done",
      "trap '' TERM; kill -STOP 0; sleep 60",
      "trap '' TERM INT HUP; (trap '' TERM; sleep 60) & (trap '' TERM; sleep 60) & sleep 60",
      "kill -STOP $$",
      "kill -STOP 0",
      "exec perl -MPOSIX -e 'POSIX::sigprocmask(SIG_SETMASK, POSIX::SigSet->new(1..31)); sleep 60 while 1'",
  };
  for (const std::string& line : lines) {
    const attack_folder base(GetParam());
    const command_result result = result_of(base, shell(line).timeout(150ms));
    EXPECT_EQ(result.kind(), error_kind::timeout) << line;
    EXPECT_LT(result.duration(), 20s) << line;
  }
}

TEST(Attack, PR_02_control_sigterm_alone_does_not_end_it) {
  const temporary_folder base;
  naive_runner naive("trap '' TERM; echo up; while :; do sleep 0.01; done", base.path());
  char first = 0;
  ASSERT_EQ(::read(naive.output(), &first, 1), 1);  // the trap is set
  ::kill(naive.pid(), SIGTERM);
  EXPECT_FALSE(eventually([&] { return !is_alive(naive.pid()); }, 300ms));
}

TEST_P(PrTimeAttack, PR_04_a_background_child_that_keeps_stdout_does_not_keep_the_result) {
  const attack_folder base(GetParam());
  const command_result result = result_of(base, shell("sleep 600 & (sleep 600 &) ; echo done").timeout(60s));
  EXPECT_EQ(result.kind(), error_kind::none) << "a finished command is no timeout";
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.out().text(), "done\n");
  EXPECT_GE(result.duration(), 100ms) << "the grace";
  EXPECT_LT(result.duration(), 20s);
}

TEST(Attack, PR_04_control_reading_to_the_end_waits_for_the_background_child) {
  const temporary_folder base;
  {
    naive_runner naive("sleep 600 & echo done", base.path());
    EXPECT_FALSE(naive.finish(500ms));
    EXPECT_EQ(naive.text(), "done\n");
    EXPECT_TRUE(eventually([&] { return !is_alive(naive.pid()); })) << "the command itself has ended";
  }
  EXPECT_FALSE(guests_of(base.path()).empty()) << "and killing the child left the grandchild";
  kill_guests_of(base.path());
}

namespace {

/// Starts about 250 processes that finally all sleep. It is a fork bomb that ends by itself, so that it does no harm to
/// the machine.
constexpr const char* tree_of_processes =
    "trap '' TERM; b() { echo >> started; if [ $1 -gt 0 ]; then b $(($1-1)) & b $(($1-1)) & fi; sleep 30 & wait; }; b "
    "6; sleep 60";

/// Starts 16 chains of processes. Each process starts its successor and exits, so code that kills processes by pid
/// comes too late.
constexpr const char* hopping_processes =
    "trap '' TERM; h() { echo >> started; [ $1 -gt 0 ] && h $(($1-1)) & }; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 "
    "15 16; do h 3000 & "
    "done; sleep 60";

}  // namespace

TEST_P(PrTimeAttack, PR_05_a_bomb_of_processes_in_the_group_is_gone_after_and_the_host_stays_responsive) {
  for (const char* line : {tree_of_processes, hopping_processes}) {
    const attack_folder base(GetParam());
    if (base.is_jail() && line == tree_of_processes) continue;  // that of PR_05 in pr_tree_test.cpp is harder
    std::vector<double> late;
    std::size_t peak = 0;
    std::uintmax_t started = 0;
    const auto body = [&](auto& env) -> awaitable<void> {
      command_result result = co_await env.run_command(shell(line).timeout(700ms));
      EXPECT_EQ(result.kind(), error_kind::timeout);
      const bool gone = eventually([&] { return guests_of(base.path()).empty(); }, 5s);
      EXPECT_TRUE(gone) << guests_of(base.path()).size() << " processes survived";
      started = std::filesystem::file_size(base.workspace() / "started");
      co_await pause_for(100ms);
      EXPECT_EQ(std::filesystem::file_size(base.workspace() / "started"), started) << "it still goes on";
    };
    run([&]() -> awaitable<void> {
      std::atomic<bool> over = false;
      const auto probe = [&]() -> awaitable<void> {
        while (!over) {
          const auto begin = clock::now();
          co_await pause_for(2ms);
          late.push_back(milliseconds(clock::now() - begin) - 2);
        }
      };
      std::thread counter([&] {
        while (!over) {
          peak = std::max(peak, guests_of(base.path()).size());
          std::this_thread::sleep_for(100ms);
        }
      });
      bool probed = false;
      cofferdam_test::spawn(co_await asio::this_coro::executor, std::ref(probe),
                            [&](std::exception_ptr) { probed = true; });
      co_await with(provider(base), std::ref(body));
      over = true;
      counter.join();
      while (!probed) co_await pause_for(1ms);
    });
    ASSERT_FALSE(late.empty());
    std::sort(late.begin(), late.end());
    const double p99 = late[late.size() * 99 / 100];
    std::cout << started << " processes, at most " << peak << " seen at once; host probe p99 " << p99 << " ms\n";
    EXPECT_GT(started, 50U) << "the bomb did not go off";
    EXPECT_LT(p99, 1000) << "100 ms on a quiet machine";
  }
}

TEST(Attack, PR_05_control_killing_the_child_alone_leaves_the_bomb) {
  const temporary_folder base;
  {
    naive_runner naive("b() { if [ $1 -gt 0 ]; then b $(($1-1)) & b $(($1-1)) & fi; sleep 30 & wait; }; b 2; sleep 60",
                       base.path());
    EXPECT_TRUE(eventually([&] { return guests_of(base.path()).size() > 5; }));
  }
  EXPECT_GT(guests_of(base.path()).size(), 5U);
  kill_guests_of(base.path());
}

TEST_P(PrTimeAttack, PR_10_runs_leave_the_host_as_it_was) {
  const int runs = cofferdam_test::is_soak() ? 10'000 : 400;
  const attack_folder base(GetParam());
  const std::string lines[] = {"true", "echo x; exit 3", "sleep 5 & echo done", "kill -9 $$", "cat", "echo x > file"};
  // The first event loop of a program opens descriptors that stay open, and must not be counted.
  run([&]() -> awaitable<void> { co_await pause_for(1ms); });
  const census before = census::take(base.path());
  const auto body = [&](auto& env) -> awaitable<void> {
    for (int i = 0; i < runs / 8; ++i) {
      const std::string& line = lines[static_cast<std::size_t>(i) % std::size(lines)];
      command_result result = co_await env.run_command(shell(line).timeout(30s));
      EXPECT_EQ(result.kind(), error_kind::none);
    }
  };
  run(
      [&]() -> awaitable<void> {
        int done = 0;
        const auto run_one = [&]() -> awaitable<void> { co_await with(base.provider(100ms, 1ms), std::ref(body)); };
        for (int i = 0; i < 8; ++i)
          cofferdam_test::spawn(co_await asio::this_coro::executor, std::ref(run_one), [&](std::exception_ptr failure) {
            EXPECT_FALSE(failure);
            ++done;
          });
        while (done < 8) co_await pause_for(5ms);
      },
      600s);
  eventually([&] { return census::take(base.path()) == before; });
  EXPECT_EQ(census::take(base.path()), before) << runs << " runs";
}

TEST_P(PrTimeAttack, PR_10_a_thousand_timed_out_runs_with_background_children_leave_nothing) {
  const attack_folder base(GetParam());
  // The runs in the jail that leave nothing are mostly those of jail_soak_test.cpp.
  const bool is_long = cofferdam_test::is_soak() || (!cofferdam_test::is_sanitized() && !base.is_jail());
  const int runs = is_long ? 1000 : 200;
  constexpr int at_once = 20;
  run([&]() -> awaitable<void> { co_await pause_for(1ms); });
  const census before = census::take(base.path());
  int timeouts = 0;
  std::size_t peak = 0;
  const auto begin = clock::now();
  run(
      [&]() -> awaitable<void> {
        int ended = 0;
        const auto body = [&](auto& env) -> awaitable<void> {
          for (int i = 0; i < runs / at_once; ++i) {
            command_result result = co_await env.run_command(
                shell("sleep 60 & (trap '' TERM; sleep 60 >/dev/null 2>&1) & sleep 60").timeout(20ms));
            if (result.kind() == error_kind::timeout) ++timeouts;
          }
        };
        const auto run_one = [&]() -> awaitable<void> { co_await with(provider(base, 5ms), std::ref(body)); };
        for (int i = 0; i < at_once; ++i)
          cofferdam_test::spawn(co_await asio::this_coro::executor, std::ref(run_one), [&](std::exception_ptr failure) {
            EXPECT_FALSE(failure);
            ++ended;
          });
        while (ended < at_once) {
          co_await pause_for(30ms);
          peak = std::max(peak, guests_of(base.path()).size());
        }
      },
      600s);
  std::cout << runs << " runs in " << milliseconds(clock::now() - begin) << " ms, " << peak
            << " processes seen at once\n";
  EXPECT_EQ(timeouts, runs);
  EXPECT_GT(peak, 0U);
  eventually([&] { return census::take(base.path()) == before; });
  EXPECT_EQ(census::take(base.path()), before);
}

TEST(Attack, PR_10_control_killing_the_child_alone_leaves_processes_behind) {
  const temporary_folder base;
  const census before = census::take(base.path());
  for (int i = 0; i < 5; ++i) {
    naive_runner naive("sleep 60 & echo up; sleep 60", base.path());
    EXPECT_TRUE(eventually([&] {
      naive.finish(10ms);
      return naive.text().find("up") != std::string::npos;
    }));
  }
  EXPECT_GE(census::take(base.path()).processes, before.processes + 5);
  kill_guests_of(base.path());
}

TEST_P(PrTimeAttack, PR_15_a_command_that_reads_its_input_ends_at_once_where_there_is_none) {
  const attack_folder base(GetParam());
  for (const std::string line : {"cat", "python3 - || cat", "read answer; cat >&2", "cat /dev/stdin"}) {
    const command_result result = result_of(base, shell(line).timeout(30s));
    EXPECT_EQ(result.kind(), error_kind::none) << line;
    EXPECT_LT(result.duration(), 15s) << line;
  }
}

TEST(Attack, PR_15_control_a_pipe_that_nobody_closes_keeps_it_waiting) {
  const temporary_folder base;
  naive_runner naive("exec cat", base.path());
  EXPECT_FALSE(naive.finish(300ms));
}

TEST_P(PrTimeAttack, PR_17_a_command_that_closes_its_outputs_is_waited_for) {
  const attack_folder base(GetParam());
  const command_result by_itself = result_of(base, shell("exec >&- 2>&-; sleep 0.3; exit 7").timeout(30s));
  EXPECT_EQ(by_itself.exit_code(), 7);
  EXPECT_GE(by_itself.duration(), 300ms);
  const command_result by_time = result_of(base, shell("exec >&- 2>&-; sleep 60").timeout(200ms));
  EXPECT_EQ(by_time.kind(), error_kind::timeout);
}

TEST(Attack, PR_17_control_end_of_output_is_not_the_end) {
  const temporary_folder base;
  naive_runner naive("exec >&- 2>&-; sleep 60", base.path());
  char byte = 0;
  EXPECT_EQ(::read(naive.output(), &byte, 1), 0);
  EXPECT_TRUE(is_alive(naive.pid()));
}

namespace {

/// Starts a process with the given pid in a session of its own. Returns 0 if the kernel does not permit the choice.
pid_t stranger_with(pid_t number) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<std::uintptr_t>(&number);
  arguments.set_tid_size = 1;
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) {
    ::syscall(SYS_setsid);
    for (;;) ::syscall(SYS_pause);
  }
  return pid > 0 ? static_cast<pid_t>(pid) : 0;
}

pid_t only_guest(const attack_folder& base) {
  pid_t found = 0;
  eventually([&] {
    const std::vector<process_entry> guests = guests_of(base.path());
    found = guests.size() == 1 && guests.front().name == "sleep" ? guests.front().pid : 0;
    return found != 0;
  });
  return found;
}

}  // namespace

namespace {

/// A command dies and an unrelated process gets its pid. Then the command is signalled, dropped, timed out and
/// closed. None of these may hit the unrelated process. The control is a signal to its process group.
void give_number_away(const std::string& place) {
  const attack_folder base(place);
  std::string report = "nothing";
  const auto body = [&](auto& env) -> awaitable<void> {
    process running = co_await env.start(argv("sleep", "60").timeout(400ms));
    const pid_t number = only_guest(base);
    EXPECT_NE(number, 0);
    ::kill(number, SIGKILL);
    eventually([&] { return !is_alive(number); });
    pid_t stranger = stranger_with(number);
    // Without a warden the dead command is a child of this program that was not reaped yet, so its pid cannot be
    // reused. With a warden, a supervisor (the process that started the command) has already reaped it.
    if (!base.has_warden()) {
      EXPECT_EQ(stranger, 0);
    }
    command_result result = co_await running.wait();
    EXPECT_EQ(result.term_signal(), SIGKILL);
    if (stranger == 0) stranger = stranger_with(number);
    if (stranger == 0) {
      report = "no way to choose a number";
    } else {
      eventually([&] { return cofferdam_test::process_of(stranger).group == stranger; });
      co_await running.signal(SIGKILL);
      running = process();        // the last handle is gone
      co_await pause_for(600ms);  // the time limit of the command passes
      co_await env.close();
      report = is_alive(stranger) ? "alive" : "killed";
      // Control: a signal to the process group hits the unrelated process.
      ::kill(-stranger, SIGKILL);
      EXPECT_TRUE(eventually([&] { return !is_alive(stranger); }));
      ::waitpid(stranger, nullptr, 0);
    }
  };
  run([&]() -> awaitable<void> { co_await with(provider(base), std::ref(body)); });
  if (report == "no way to choose a number")
    std::cout << "not proven here: the number given to a stranger (needs CAP_CHECKPOINT_RESTORE)\n";
  else
    EXPECT_EQ(report, "alive");
}

}  // namespace

TEST_P(PrTimeAttack, PR_18_a_stranger_that_was_given_the_commands_number_is_not_signalled) {
  give_number_away(GetParam());
  if (GetParam() == "local") give_number_away("no_warden");
}

}  // namespace pr_time_tests
