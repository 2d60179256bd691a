// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks PR-06b, PR-06c, PR-06d and PR-08 of the project's catalogue of attacks, in which a guest silences the warden
// (the library's helper program in each environment). The guest sends so many descriptors through sockets that the
// kernel lets the host pass none to the warden. Or the guest suspends the warden by SIGSTOP, which works where Landlock
// does not restrict signals. The controls are a plain sendmsg(2), and a host that waits for the warden without a time
// limit.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/warden/start_warden.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/warden/image.hpp>
#include <cofferdam/warden/session.hpp>

#include "support/census.hpp"
#include "support/forked_host.hpp"
#include "support/hostile.hpp"
#include "support/naive_runner.hpp"
#include "support/pass_descriptor.hpp"
#include "support/pause.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pr_silence_tests {

namespace {

using asio::awaitable;
using cofferdam::argv;
using cofferdam::command;
using cofferdam::command_result;
using cofferdam::error;
using cofferdam::error_kind;
using cofferdam::exec_errc;
using cofferdam::isolation_kind;
using cofferdam::process;
using cofferdam::shell;
using cofferdam::warden_policy;
using cofferdam::warden_session;
using cofferdam::with;
using cofferdam_test::eventually;
using cofferdam_test::forked_program;
using cofferdam_test::in_forked_host;
using cofferdam_test::in_spare_host;
using cofferdam_test::kill_marked;
using cofferdam_test::marked;
using cofferdam_test::naive_runner;
using cofferdam_test::new_marker;
using cofferdam_test::orphanage;
using cofferdam_test::own_wardens;
using cofferdam_test::pause_for;
using cofferdam_test::run;
using cofferdam_test::shown;
using cofferdam_test::spare_user;
using cofferdam_test::temporary_folder;
using cofferdam_test::with_marker;
using namespace std::chrono_literals;
using namespace std::string_literals;

using clock = std::chrono::steady_clock;

auto provider(const temporary_folder& base) {
  return cofferdam::local()
      .without_warning()
      .temporary_base(base.path())
      .warden(warden_policy::require)
      .kill_grace(50ms)
      .output_grace(50ms);
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()));
}

std::string took(clock::time_point begin) { return std::to_string((clock::now() - begin) / 1ms) + " ms"; }

// ---- the guest exhausts the limit of descriptors in flight ----------------------------------------------------------

constexpr rlim_t max_descriptors = 512;

/// Lowers the limit of open files. For ordinary users, the kernel limits the descriptors in flight (sent through a
/// socket, but not received yet) to the same number.
void allow_few_descriptors() {
  const rlimit few{max_descriptors, max_descriptors};
  ::setrlimit(RLIMIT_NOFILE, &few);
}

/// Sends descriptors to itself, until the kernel refuses more of them.
constexpr const char* hog =
    "import resource, socket, sys, time\n"
    "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
    "resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))\n"
    "kept = []\n"
    "while True:\n"
    "    kept.append(socket.socketpair())\n"
    "    try:\n"
    "        socket.send_fds(kept[-1][0], [b'x'], [0] * 250)\n"
    "    except OSError as failure:\n"
    "        print('full', failure.errno, flush=True)\n"
    "        break\n"
    "time.sleep(60)\n";

bool has_python() { return ::access("/usr/bin/python3", X_OK) == 0; }

#define NEEDS_HOG()                                                                  \
  COFFERDAM_NEEDS("python3", has_python(), "a guest with descriptors on their way"); \
  COFFERDAM_NEEDS("root", ::geteuid() != 0 || spare_user::instance().is_there(), "an ordinary user")

awaitable<process> start_hog(cofferdam::local_environment& env) {
  process running = co_await env.start(argv("/usr/bin/python3", "-c", hog).timeout(60s));
  std::string text;
  while (text.find('\n') == std::string::npos) {
    const cofferdam::output_chunk piece = co_await running.read();
    if (piece.data().empty()) break;
    text += cofferdam::as_text(piece.data());
  }
  if (text != "full " + std::to_string(ETOOMANYREFS) + "\n") throw std::runtime_error("the attack failed: " + text);
  co_return running;
}

/// Runs a command and returns a short text for its result. The text is "unavailable" if the error is the expected
/// ETOOMANYREFS.
awaitable<std::string> outcome(cofferdam::local_environment& env, command c) {
  try {
    command_result result = co_await env.run_command(std::move(c));
    co_return std::string(to_string(result.kind())) + " " + result.out().text();
  } catch (const error& failure) {
    if (failure.code() == exec_errc::cancelled) co_return "cancelled";
    const bool is_it = failure.code() == exec_errc::unavailable &&
                       failure.cause() == std::error_code(ETOOMANYREFS, std::system_category());
    co_return is_it ? "unavailable" : failure.what();
  }
}

/// Runs `body(env)` in an environment whose host is an ordinary user with few descriptors. Returns the text from the
/// body.
template <class Body>
std::string with_few_descriptors(Body body) {
  const temporary_folder base;
  return in_spare_host(base, [&] {
    allow_few_descriptors();
    std::string text;
    run([&]() -> awaitable<void> {
      const auto in = [&](cofferdam::local_environment& env) -> awaitable<void> {
        std::string returned = co_await body(env);
        text = std::move(returned);
      };
      co_await with(provider(base), std::ref(in));
    });
    return text;
  });
}

}  // namespace

TEST(Attack, PR_06d_descriptors_on_their_way_keep_no_command_waiting) {
  NEEDS_HOG();
  const std::string report = with_few_descriptors([](cofferdam::local_environment& env) -> awaitable<std::string> {
    process hogging = co_await start_hog(env);
    const std::size_t before = open_descriptors();
    std::string wrong;
    for (const auto limit : {4000ms, 60ms}) {
      const auto begin = clock::now();
      const std::string got = co_await outcome(env, shell("sleep 30").timeout(limit));
      if (got != "unavailable") wrong += "a limit of " + std::to_string(limit / 1ms) + ": " + got + "; ";
      if (clock::now() - begin > std::min<std::chrono::milliseconds>(limit, 1000ms) + 1000ms)
        wrong += "late: " + took(begin) + "; ";
    }
    if (open_descriptors() != before) wrong += "descriptors are left; ";
    co_await hogging.signal(SIGKILL);
    co_await hogging.wait();
    const std::string after = co_await outcome(env, shell("echo again").timeout(20s));
    if (after != "none again\n") wrong += "then: " + after;
    co_return wrong;
  });
  EXPECT_EQ(report, "");
}

TEST(Attack, PR_06d_what_ends_commands_overtakes_what_descriptors_on_their_way_hold_up) {
  NEEDS_HOG();
  const std::string report = with_few_descriptors([](cofferdam::local_environment& env) -> awaitable<std::string> {
    std::string wrong;
    const auto executor = co_await asio::this_coro::executor;
    // Two commands wait for free descriptors. The first is cancelled and must never run. Then the hog is killed, and
    // the second must run.
    process hogging = co_await start_hog(env);
    asio::cancellation_signal stop;
    std::string cancelled;
    std::string other;
    const auto first = [&]() -> awaitable<void> {
      cancelled = co_await outcome(env, shell("echo > ran").timeout(20s));
    };
    const auto second = [&]() -> awaitable<void> {
      other = co_await outcome(env, argv("cat").input("in").timeout(20s));
    };
    const auto started = clock::now();
    cofferdam_test::spawn(
        executor, std::ref(first), [](std::exception_ptr) {}, stop.slot());
    cofferdam_test::spawn(executor, std::ref(second), [](std::exception_ptr) {});
    process signalled = co_await env.start(shell("sleep 30").timeout(20s));
    co_await signalled.signal(SIGTERM);
    co_await pause_for(20ms);
    stop.emit(asio::cancellation_type::terminal);
    while (cancelled.empty() && clock::now() < started + 20s) co_await pause_for(1ms);
    if (clock::now() - started > 280ms) wrong += "to cancel takes " + took(started) + "; ";
    const auto begin = clock::now();
    co_await hogging.signal(SIGKILL);
    command_result killed = co_await hogging.wait();
    if (killed.term_signal() != SIGKILL) wrong += "the hog is not killed; ";
    if (clock::now() - begin > 200ms) wrong += "it takes " + took(begin) + "; ";
    while ((cancelled.empty() || other.empty()) && clock::now() < begin + 20s) co_await pause_for(5ms);
    command_result by_signal = co_await signalled.wait();
    if (by_signal.term_signal() != SIGTERM || by_signal.kind() != error_kind::none) wrong += "a signal was lost; ";
    if (cancelled != "cancelled") wrong += "cancelled: " + cancelled + "; ";
    if (other != "none in") wrong += "the other: " + other + "; ";
    if (std::filesystem::exists(env.workspace() / "ran")) wrong += "what was cancelled has run; ";
    // Closing the environment does not wait for the blocked commands either.
    process again = co_await start_hog(env);
    std::string closed;
    const auto third = [&]() -> awaitable<void> { closed = co_await outcome(env, shell("sleep 30").timeout(20s)); };
    cofferdam_test::spawn(executor, std::ref(third), [](std::exception_ptr) {});
    co_await pause_for(20ms);
    const auto closing = clock::now();
    co_await env.close();
    if (clock::now() - closing > 1s) wrong += "close takes " + took(closing) + "; ";
    while (closed.empty() && clock::now() < closing + 20s) co_await pause_for(5ms);
    if (closed.find("closed") == std::string::npos) wrong += "closed: " + closed;
    co_return wrong;
  });
  EXPECT_EQ(report, "");
}

TEST(Attack, PR_06d_control_a_plain_send_is_refused_as_long_as_the_guest_likes) {
  NEEDS_HOG();
  const temporary_folder base;
  const std::string script = base.write("hog.py", hog).string();
  const std::string report = in_spare_host(base, [&] {
    allow_few_descriptors();
    naive_runner naive("exec python3 " + script, base.path());
    while (naive.text().find('\n') == std::string::npos && !naive.finish(20ms)) {
    }
    std::string text;
    for (int i = 0; i < 20; ++i) {
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return "no sockets"s;
      const bool refused = !cofferdam_test::pass_descriptor(ends[0], ends[0]) && errno == ETOOMANYREFS;
      if (!refused) text += "sent; ";
      ::close(ends[0]);
      ::close(ends[1]);
      std::this_thread::sleep_for(50ms);
    }
    return text;
  });
  EXPECT_EQ(report, "");
}

// ---- the guest suspends the warden ----------------------------------------------------------------------------------

namespace {

/// Returns a shell line that sets the variable W to the pid of the warden, and P to the pid of the supervisor (the
/// warden's child that watches the command), and then runs `line`.
std::string against_the_warden(const std::string& line, const std::string& marker) {
  return with_marker("W=$(sed -n 's/^PPid:[^0-9]*//p' /proc/$PPID/status); P=$PPID; " + line, marker);
}

}  // namespace

TEST(Attack, PR_06b_a_guest_that_stops_its_warden_is_ended_in_time) {
  const std::string marker = new_marker();
  struct hostile_line {
    std::string line;
    bool in_a_loop;
  };
  const hostile_line ways[] = {
      {"kill -STOP $W; sleep M", false},
      {"kill -STOP $W $P; (setsid sh -c 'trap \"\" TERM; sleep M' &); trap '' TERM; sleep M; sleep M", false},
      {"while kill -STOP $W; do :; done", true},
      {"trap '' TERM; for i in 1 2 3; do (setsid sh -c 'trap \"\" TERM; while :; do kill -STOP '$W' '$P'; done # M' &) "
       "; done; "
       "sleep M; sleep M",
       true},
  };
  for (const hostile_line& way : ways) {
    const temporary_folder base;
    const std::string line = against_the_warden(way.line, marker);
    const std::string report = in_spare_host(base, [&] {
      std::string text;
      run([&]() -> awaitable<void> {
        const auto body = [&](cofferdam::local_environment& env) -> awaitable<void> {
          const auto begin = clock::now();
          try {
            command_result result = co_await env.run_command(shell(line).timeout(400ms));
            text = to_string(result.kind());
          } catch (const error& failure) {
            text = failure.code() == exec_errc::provider_lost ? "provider_lost" : failure.what();
          }
          if (clock::now() - begin > 15s) text += ", late: " + took(begin);
          // Killed processes may take a moment to disappear.
          if (!eventually([&] { return marked(marker).empty(); }, 2s)) text += ", left: " + shown(marked(marker));
          if (text == "timeout") {
            command_result after = co_await env.run_command(shell("echo again"));
            if (after.out().text() != "again\n") text += ", then: " + std::string(to_string(after.kind()));
          }
        };
        co_await with(provider(base).landlock(0), std::ref(body));
      });
      if (!eventually([] { return own_wardens().empty(); }, 5s)) text += ", the warden goes on";
      return text;
    });
    EXPECT_TRUE(report == "timeout" || (way.in_a_loop && report == "provider_lost")) << way.line << ": " << report;
    kill_marked(marker);
  }
}

TEST(Attack, PR_06b_a_guest_that_stops_its_warden_is_ended_when_it_is_cancelled) {
  const std::string marker = new_marker();
  const temporary_folder base;
  const std::string line = against_the_warden("(setsid sleep M &); kill -STOP $W $P; sleep M", marker);
  const std::string report = in_spare_host(base, [&] {
    std::string text;
    run([&]() -> awaitable<void> {
      const auto body = [&](cofferdam::local_environment& env) -> awaitable<void> {
        asio::cancellation_signal stop;
        const auto run_one = [&]() -> awaitable<void> {
          text = co_await outcome(env, shell(line).timeout(cofferdam::no_timeout));
        };
        cofferdam_test::spawn(
            co_await asio::this_coro::executor, std::ref(run_one), [](std::exception_ptr) {}, stop.slot());
        while (marked(marker).size() < 2) co_await pause_for(5ms);
        co_await pause_for(100ms);
        const auto begin = clock::now();
        stop.emit(asio::cancellation_type::terminal);
        while (text.empty() && clock::now() < begin + 30s) co_await pause_for(5ms);
        if (clock::now() - begin > 6s) text += ", late: " + took(begin);
        if (!eventually([&] { return marked(marker).empty(); }, 1s)) text += ", left: " + shown(marked(marker));
      };
      co_await with(provider(base).landlock(0), std::ref(body));
    });
    return text;
  });
  EXPECT_EQ(report, "cancelled");
  kill_marked(marker);
}

TEST(Attack, PR_06b_a_terminal_that_nobody_reads_puts_no_limit_off_where_the_warden_is_stopped) {
  const std::string marker = new_marker();
  const temporary_folder base;
  const std::string line = against_the_warden(
      "(sleep 0.3; kill -STOP $W) & while :; do echo 0123456789012345678901234567890123456789; done # M", marker);
  const std::string report = in_spare_host(base, [&] {
    std::string text;
    run([&]() -> awaitable<void> {
      const auto body = [&](cofferdam::local_environment& env) -> awaitable<void> {
        process running = co_await env.start(shell(line).terminal(24, 80).timeout(800ms));
        const auto begin = clock::now();
        while (marked(marker).empty() && clock::now() < begin + 5s) co_await pause_for(5ms);
        if (marked(marker).empty()) text += "it has not begun; ";
        while (!marked(marker).empty() && clock::now() < begin + 9s) co_await pause_for(20ms);
        if (!marked(marker).empty()) text += "left: " + shown(marked(marker)) + "; ";
        for (bool is_over = false; !is_over;) {
          const cofferdam::output_chunk piece = co_await running.read();
          is_over = piece.end();
        }
        command_result result = co_await running.wait();
        text += to_string(result.kind());
      };
      co_await with(provider(base).landlock(0), std::ref(body));
    });
    return text;
  });
  EXPECT_EQ(report, "timeout");
  kill_marked(marker);
}

// Another process traces the warden, so the host cannot resume the warden by a signal.
TEST(Attack, PR_06b_a_host_whose_warden_never_runs_again_ends_everything_itself) {
  COFFERDAM_NEEDS("root", ::geteuid() == 0, "a warden that never runs");
  const std::string marker = new_marker();
  const temporary_folder base;
  const std::string report = in_forked_host([&] {
    std::string text;
    run([&]() -> awaitable<void> {
      const auto body = [&](cofferdam::local_environment& env) -> awaitable<void> {
        const auto command_ends = [&]() -> awaitable<void> {
          const auto begin = clock::now();
          try {
            co_await env.run_command(shell("(setsid sleep " + marker + " &); sleep " + marker).timeout(600ms));
            text = "ended";
          } catch (const error& failure) {
            text = failure.code() == exec_errc::provider_lost ? "provider_lost" : failure.what();
          }
          if (clock::now() - begin > 12s) text += ", late: " + took(begin);
        };
        cofferdam_test::spawn(co_await asio::this_coro::executor, std::ref(command_ends), [](std::exception_ptr) {});
        while (marked(marker).size() < 2) co_await pause_for(5ms);
        const pid_t warden = own_wardens().front().pid;
        forked_program tracer([&](int words) {
          const bool traces = ::ptrace(PTRACE_SEIZE, warden, nullptr, nullptr) == 0 &&
                              ::ptrace(PTRACE_INTERRUPT, warden, nullptr, nullptr) == 0;
          forked_program::say(words, traces ? "traced\n" : "refused\n");
          ::pause();
        });
        const std::string traced = tracer.line(5s);
        while (text.empty()) co_await pause_for(5ms);
        if (traced != "traced") text = "not traced";
        if (!eventually([&] { return marked(marker).empty(); }, 2s)) text += ", left: " + shown(marked(marker));
        tracer.kill();
        try {
          co_await env.run_command(shell("echo again"));
          text += ", then it goes on";
        } catch (const error& failure) {
          if (failure.code() != exec_errc::provider_lost) text += ", then: "s + failure.what();
        }
      };
      co_await with(provider(base), std::ref(body));
    });
    if (!eventually([] { return own_wardens().empty(); }, 5s)) text += ", the warden goes on";
    return text;
  });
  COFFERDAM_NEEDS("ptrace", !report.starts_with("not traced"), "a warden that never runs");
  EXPECT_EQ(report, "provider_lost");
  kill_marked(marker);
}

TEST(Attack, PR_06b_control_a_host_that_waits_for_its_warden_waits_for_ever) {
  const std::string marker = new_marker();
  const temporary_folder base;
  const std::string line = against_the_warden("kill -STOP $W; sleep M", marker);
  const std::string report = in_spare_host(base, [&] {
    std::string text;
    run([&]() -> awaitable<void> {
      cofferdam::detail::started_warden started =
          cofferdam::detail::start_warden(cofferdam::native_warden_image().program(), base.path());
      cofferdam::warden_settings settings;
      settings.landlock = 0;
      settings.report_timeout = 0ms;
      warden_session session = co_await warden_session::open(co_await asio::this_coro::executor,
                                                             std::move(started.socket), std::move(settings));
      const command c = shell(line).timeout(300ms);
      cofferdam::spawn_request request =
          cofferdam::request_for(c, "/bin/sh", {"PATH=" + std::string(cofferdam::default_path)});
      process running = co_await session.start(c, std::move(request));
      bool is_over = false;
      const auto waits = [&]() -> awaitable<void> { co_await running.wait(); };
      cofferdam_test::spawn(co_await asio::this_coro::executor, std::ref(waits),
                            [&](std::exception_ptr) { is_over = true; });
      co_await pause_for(4s);
      text = is_over ? "ended" : marked(marker).empty() ? "nothing there" : "it goes on";
      ::kill(static_cast<pid_t>(session.hello().pid()), SIGCONT);
      session.abandon();
      while (!is_over) co_await pause_for(5ms);
    });
    return text;
  });
  EXPECT_EQ(report, "it goes on");
  kill_marked(marker);
}

TEST(Attack, PR_06c_a_guest_that_stops_its_supervisor_and_kills_its_warden_ends_with_them) {
  const std::string marker = new_marker();
  const temporary_folder base;
  const std::string line = against_the_warden("(setsid sleep M &); kill -STOP $P; kill -9 $W; sleep M", marker);
  const std::string report = in_spare_host(base, [&] {
    std::string text = "nothing";
    run([&]() -> awaitable<void> {
      const auto body = [&](cofferdam::local_environment& env) -> awaitable<void> {
        try {
          co_await env.run_command(shell(line).timeout(30s));
        } catch (const error& failure) {
          text = failure.code() == exec_errc::provider_lost ? "provider_lost" : failure.what();
        }
        if (!eventually([&] { return marked(marker).empty(); }, 2s)) text += ", left: " + shown(marked(marker));
      };
      co_await with(provider(base).landlock(0), std::ref(body));
    });
    return text;
  });
  EXPECT_EQ(report, "provider_lost");
  kill_marked(marker);
}

TEST(Attack, PR_08_nothing_outlives_a_host_whose_warden_and_supervisor_a_guest_has_stopped) {
  const std::string marker = new_marker();
  for (const std::string stopped : {"$W", "$W $P"}) {
    const temporary_folder base;
    spare_user::instance().own(base);
    const orphanage orphans;
    const std::string line = against_the_warden(
        "(setsid sh -c 'trap \"\" TERM; sleep M; sleep M' &); kill -STOP " + stopped + "; echo > UP; sleep M", marker);
    forked_program host([&](int) {
      spare_user::instance().become();
      run([&]() -> awaitable<void> {
        const auto body = [&](cofferdam::local_environment& env) -> awaitable<void> {
          std::string here = line;
          here.replace(here.find("UP"), 2, (base.path() / "up").string());
          co_await env.run_command(shell(here).timeout(60s));
        };
        co_await with(provider(base).landlock(0), std::ref(body));
      });
    });
    EXPECT_TRUE(eventually([&] { return base.has("up") && marked(marker).size() >= 3; }, 30s)) << host.line(0ms);
    host.kill();
    const bool gone = eventually([&] { return orphans.is_empty() && marked(marker).empty(); }, 20s);
    EXPECT_TRUE(gone) << stopped << ": " << shown(orphans.living()) << shown(marked(marker));
    kill_marked(marker);
  }
}

}  // namespace pr_silence_tests
