// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks PR-03, 05 to 08 and 10 of the project's catalogue of attacks, as far as they concern process trees and the
// death of the host: commands that leave their process group, hide from their parents, attack the processes that watch
// them (the warden, which is the library's helper program, and one supervisor for each command), or outlive the host.
// They run over `local`; those of PR-03, 05, 07 and 08 also in the jail.
// The tests check the host's process table, in which every process of an attack has a marker among its arguments. The
// controls are `warden_policy::never` (only the process group is killed), a session without Landlock's restriction of
// signals, and a plain fork.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/warden/start_warden.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/warden/image.hpp>
#include <cofferdam/warden/session.hpp>

#include "support/attack_place.hpp"
#include "support/census.hpp"
#include "support/forked_host.hpp"
#include "support/hostile.hpp"
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
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pr_tree_tests {

namespace {

using asio::awaitable;
using cofferdam::argv;
using cofferdam::command;
using cofferdam::command_result;
using cofferdam::error_kind;
using cofferdam::exec_errc;
using cofferdam::isolation_kind;
using cofferdam::process;
using cofferdam::shell;
using cofferdam::warden_policy;
using cofferdam::warden_session;
using cofferdam::with;
using cofferdam_test::attack_folder;
using cofferdam_test::census;
using cofferdam_test::eventually;
using cofferdam_test::forked_program;
using cofferdam_test::has_perl;
using cofferdam_test::in_forked_host;
using cofferdam_test::in_spare_host;
using cofferdam_test::is_alive;
using cofferdam_test::is_warden;
using cofferdam_test::joined;
using cofferdam_test::kill_marked;
using cofferdam_test::marked;
using cofferdam_test::new_marker;
using cofferdam_test::only;
using cofferdam_test::orphanage;
using cofferdam_test::own_wardens;
using cofferdam_test::pause_for;
using cofferdam_test::process_entry;
using cofferdam_test::process_of;
using cofferdam_test::process_table;
using cofferdam_test::read_proc;
using cofferdam_test::run;
using cofferdam_test::shown;
using cofferdam_test::spare_user;
using cofferdam_test::supervisors_of;
using cofferdam_test::temporary_folder;
using cofferdam_test::with_marker;
using namespace std::chrono_literals;
using namespace std::string_literals;

using clock = std::chrono::steady_clock;

double milliseconds(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

auto provider(const temporary_folder& base, warden_policy policy = warden_policy::require) {
  return cofferdam::local()
      .without_warning()
      .temporary_base(base.path())
      .warden(policy)
      .kill_grace(50ms)
      .output_grace(50ms);
}

/// Opens a new environment and runs `body(env)` in it.
template <class Body>
void in_environment(const temporary_folder& base, warden_policy policy, Body body) {
  run([&]() -> awaitable<void> { co_await with(provider(base, policy), std::ref(body)); });
}

/// Opens a new environment over the backend of `base`, and runs `body(env)` in it.
template <class Body>
void in_environment(const attack_folder& base, Body body) {
  run([&]() -> awaitable<void> { co_await with(base.provider(50ms, 50ms), std::ref(body)); });
}

class PrTreeAttack : public cofferdam_test::attack_places {};
INSTANTIATE_TEST_SUITE_P(Places, PrTreeAttack, cofferdam_test::in_places("local", "jail"), cofferdam_test::place_name);

/// Returns true if this kernel can prevent guests from signalling other processes (Landlock's scopes, Linux 6.12).
bool has_scope() {
  static const bool answer = [] {
    const temporary_folder base;
    bool exists = false;
    in_environment(base, warden_policy::require, [&](auto& env) -> awaitable<void> {
      command_result result = co_await env.run_command(argv("true"));
      exists = result.isolation().of(isolation_kind::signals) != "none";
    });
    return exists;
  }();
  return answer;
}

/// Opens a session whose guests may signal all processes of their user, as in `local` on a kernel without Landlock's
/// scopes.
awaitable<warden_session> open_without_scope(const temporary_folder& base) {
  cofferdam::detail::started_warden started =
      cofferdam::detail::start_warden(cofferdam::native_warden_image().program(), base.path());
  cofferdam::warden_settings settings;
  settings.landlock = 0;
  settings.commands.kill_grace = 50ms;
  settings.commands.output_grace = 50ms;
  warden_session session =
      co_await warden_session::open(co_await asio::this_coro::executor, std::move(started.socket), std::move(settings));
  co_return session;
}

cofferdam::spawn_request plain_request(const command& c) {
  return cofferdam::request_for(c, "/bin/sh", {"PATH=" + std::string(cofferdam::default_path)});
}

/// Returns a short description of a result.
std::string shown(const command_result& result) {
  return std::string(to_string(result.kind())) + " exit " + std::to_string(result.exit_code()) + " signal " +
         std::to_string(result.term_signal()) + " '" + result.out().text() + "'";
}

// ---- guests: the processes that the commands start ------------------------------------------------------------------

/// Returns a command that waits for its input, copies it to its output, and exits with status 5. It runs in the same
/// environment as an attack, and must not be affected.
command bystander(const std::string& marker) {
  return argv("sh", "-c", "cat; exit 5; # " + marker).open_input().timeout(30s);
}
/// Waits until a bystander has begun to read, so that no other process has its marker. Returns the process id of its
/// shell; 0 if it does not begin.
pid_t shell_of_bystander(const std::string& marker) {
  pid_t shell = 0;
  eventually([&] {
    shell = only(marked(marker));
    const std::vector<process_entry> all = process_table();
    const auto reads = [&](const process_entry& each) { return each.parent == shell && each.name == "cat"; };
    return shell != 0 && std::any_of(all.begin(), all.end(), reads);
  });
  return shell;
}
constexpr const char* bystander_end = "none exit 5 signal 0 'as it was\n'";

awaitable<std::string> end_of(process& running) {
  const std::string text = "as it was\n";
  try {
    co_await running.write_input(cofferdam::to_bytes(text));
    // Writing fails if the process is dead, which the result shows.
  } catch (const cofferdam::error&) {
  }
  co_await running.close_input();
  command_result result = co_await running.wait();
  co_return shown(result);
}

/// Returns shell lines that leave their process group, each in another way. The process that has left creates the
/// file `up`. M stands for the marker.
std::vector<std::string> ways_out() {
  std::vector<std::string> lines = {
      "setsid sh -c 'setsid sh -c \"echo > up; exec sleep M\" & exit 0' &",
      "env -i setsid sh -c 'env -i setsid sh -c \"echo > up; exec sleep M\" & exit 0' &",
      "nohup setsid sh -c 'trap \"\" TERM; echo > up; sleep M; sleep M' > /dev/null 2>&1 &",
      "(setsid sh -c 'exec 0<&- 1>&- 2>&-; echo > up; exec sleep M' &)",
      "(D=$PWD; cd /; env -i setsid sh -c 'exec < /dev/null > /dev/null 2>&1; echo > \"$0\"/up; exec sleep M' $D &)",
  };
  if (has_perl())
    lines.emplace_back(
        "perl -MPOSIX -e 'fork and POSIX::_exit(0); setsid; $SIG{$_} = \"IGNORE\" for qw(TERM HUP INT); "
        "fork and POSIX::_exit(0); POSIX::close($_) for 0..255; umask 0; "
        "open(my $f, \">\", \"up\"); close $f; sleep 1 while 1' M &");
  return lines;
}

constexpr const char* until_up = "\nwhile ! test -e up; do sleep 0.005; done; ";

}  // namespace

// ---- PR-03: processes leave the process group -----------------------------------------------------------------------

namespace {

enum class ending { exit, timeout, cancel, close, drop };

/// Starts a command, ends it in the given way, and returns its processes that are alive when the end is reported.
std::vector<process_entry> left_at_the_end(const std::string& place, const std::string& way, ending how) {
  const attack_folder base(place);
  const std::string marker = new_marker();
  const std::string line = with_marker(way, marker) + until_up;
  std::vector<process_entry> left;
  in_environment(base, [&](auto& env) -> awaitable<void> {
    const std::filesystem::path up = base.workspace() / "up";
    switch (how) {
      case ending::exit: {
        command_result result = co_await env.run_command(shell(line + "echo done").timeout(30s));
        left = marked(marker);
        EXPECT_EQ(shown(result), "none exit 0 signal 0 'done\n'") << way;
        break;
      }
      case ending::timeout: {
        command_result result = co_await env.run_command(shell(line + "sleep " + marker).timeout(500ms));
        left = marked(marker);
        EXPECT_EQ(result.kind(), error_kind::timeout) << way;
        break;
      }
      case ending::cancel: {
        asio::cancellation_signal stop;
        bool ended = false;
        const auto run_one = [&]() -> awaitable<void> {
          co_await env.run_command(shell(line + "sleep " + marker).timeout(30s));
        };
        cofferdam_test::spawn(
            co_await asio::this_coro::executor, std::ref(run_one),
            [&](std::exception_ptr failure) {
              left = marked(marker);
              ended = true;
              EXPECT_TRUE(failure);
            },
            stop.slot());
        for (int i = 0; i < 2000 && !std::filesystem::exists(up); ++i) co_await pause_for(5ms);
        stop.emit(asio::cancellation_type::terminal);
        while (!ended) co_await pause_for(1ms);
        break;
      }
      case ending::close: {
        process running = co_await env.start(shell(line + "sleep " + marker).timeout(30s));
        for (int i = 0; i < 2000 && !std::filesystem::exists(up); ++i) co_await pause_for(5ms);
        EXPECT_TRUE(std::filesystem::exists(up)) << way;
        co_await env.close();
        left = marked(marker);
        co_return;
      }
      case ending::drop: {
        process running = co_await env.start(shell(line + "sleep " + marker).timeout(30s));
        for (int i = 0; i < 2000 && !std::filesystem::exists(up); ++i) co_await pause_for(5ms);
        // No result is reported for a dropped process, so the loop below waits for its end, up to one second.
        running = process();
        for (int i = 0; i < 100 && !marked(marker).empty(); ++i) co_await pause_for(10ms);
        left = marked(marker);
        break;
      }
    }
    EXPECT_TRUE(std::filesystem::exists(up)) << way << ": the attack has not begun";
  });
  if (base.has_warden()) {
    EXPECT_EQ(shown(marked(marker)), "") << way;
  }
  kill_marked(marker);
  return left;
}

}  // namespace

TEST_P(PrTreeAttack, PR_03_a_daemon_is_gone_when_its_command_has_returned) {
  for (const std::string& way : ways_out()) EXPECT_EQ(shown(left_at_the_end(GetParam(), way, ending::exit)), "") << way;
}

// Feature: B8
TEST_P(PrTreeAttack, PR_03_a_daemon_is_gone_after_a_timeout_a_cancellation_close_and_a_dropped_handle) {
  const std::vector<std::string> ways = ways_out();
  const ending endings[] = {ending::timeout, ending::cancel, ending::close, ending::drop};
  for (std::size_t i = 0; i < std::max(ways.size(), std::size(endings)) * (cofferdam_test::is_soak() ? 4 : 1); ++i) {
    const std::string& way = ways[i % ways.size()];
    const ending how = endings[(i + i / ways.size()) % std::size(endings)];
    EXPECT_EQ(shown(left_at_the_end(GetParam(), way, how)), "") << way << " " << static_cast<int>(how);
  }
}

TEST(Attack, PR_03_control_a_process_group_does_not_hold_a_daemon) {
  // Under load, a process that is just beginning a program is not found by its marker; so there are three attempts.
  const auto escapes = [](const std::string& way, ending how) {
    for (int attempt = 0; attempt < 3; ++attempt)
      if (!left_at_the_end("no_warden", way, how).empty()) return true;
    return false;
  };
  for (const std::string& way : ways_out()) EXPECT_TRUE(escapes(way, ending::exit)) << way;
  for (const ending how : {ending::timeout, ending::cancel, ending::close, ending::drop})
    EXPECT_TRUE(escapes(ways_out().front(), how)) << static_cast<int>(how);
}

// ---- PR-05: fork bombs whose processes leave the group --------------------------------------------------------------

namespace {

/// A fork bomb that ends by itself. Every process starts a session of its own and continues to fork: as a tree of depth
/// 6, and as four chains in which each process starts its successor and exits.
constexpr const char* bounded_bomb =
    "use POSIX; $SIG{TERM} = 'IGNORE'; open(my $f, '>>', 'started'); $f->autoflush(1); "
    "sub tree { my $n = shift; setsid; syswrite $f, 'x'; if ($n) { for (1..2) { my $p = fork; "
    "if (defined $p && !$p) { tree($n - 1) } } } sleep 1 while 1 } "
    "sub hop { for my $n (1..1000) { setsid; syswrite $f, 'x'; my $p = fork; _exit(0) if $p; "
    "select(undef, undef, undef, 0.001) } sleep 1 while 1 } "
    "if ($ARGV[1] ne 'tree') { for (1..4) { my $p = fork; if (defined $p && !$p) { hop() } } } tree(6)";

/// A fork bomb that never ends by itself. Every process starts a session of its own.
constexpr const char* endless_bomb =
    "use POSIX; $SIG{TERM} = 'IGNORE'; open(my $f, '>>', 'started'); "
    "for (;;) { my $p = fork; if (!defined $p) { select(undef, undef, undef, 0.001) } "
    "elsif (!$p) { setsid; syswrite $f, 'x' } else { select(undef, undef, undef, 0.001) } }";

}  // namespace

TEST_P(PrTreeAttack, PR_05_a_bomb_that_leaves_the_group_is_gone_after_while_other_commands_go_on) {
  COFFERDAM_NEEDS("perl", has_perl(), "a bomb whose processes leave the group");
  const attack_folder base(GetParam());
  const std::string marker = new_marker();
  const std::string others = new_marker();
  std::size_t peak = 0;
  int commands = 0;
  std::uintmax_t started = 0;
  in_environment(base, [&](auto& env) -> awaitable<void> {
    process bomb = co_await env.start(argv("perl", "-e", bounded_bomb, marker, "both").timeout(800ms));
    process other = co_await env.start(bystander(others));
    const auto end = clock::now() + 700ms;
    while (clock::now() < end) {
      command_result result = co_await env.run_command(shell("echo in between; exit 3").timeout(30s));
      EXPECT_EQ(shown(result), "none exit 3 signal 0 'in between\n'");
      peak = std::max(peak, marked(marker).size());
      ++commands;
    }
    command_result result = co_await bomb.wait();
    EXPECT_EQ(shown(marked(marker)), "");
    EXPECT_EQ(result.kind(), error_kind::timeout);
    started = std::filesystem::file_size(base.workspace() / "started");
    co_await pause_for(50ms);
    EXPECT_EQ(std::filesystem::file_size(base.workspace() / "started"), started) << "it still goes on";
    const std::string end_of_other = co_await end_of(other);
    EXPECT_EQ(end_of_other, bystander_end);
  });
  std::cout << started << " processes, " << peak << " seen at once, " << commands << " other commands meanwhile\n";
  EXPECT_GT(started, 100U) << "the bomb did not go off";
  EXPECT_GT(peak, 20U);
  EXPECT_GT(commands, 0);
  kill_marked(marker);
  kill_marked(others);
}

TEST(Attack, PR_05_an_endless_bomb_under_a_limit_is_gone_after) {
  COFFERDAM_NEEDS("perl", has_perl(), "a bomb whose processes leave the group");
  COFFERDAM_NEEDS("root", spare_user::instance().is_there(), "an endless bomb, as a user of its own with a limit");
  const temporary_folder base;
  const std::string marker = new_marker();
  const std::string others = new_marker();
  const std::string report = in_spare_host(base, [&] {
    const rlimit few{150, 150};
    if (::setrlimit(RLIMIT_NPROC, &few) != 0) return "no limit"s;
    std::string text;
    in_environment(base, warden_policy::require, [&](auto& env) -> awaitable<void> {
      process other = co_await env.start(bystander(others));
      const auto begin = clock::now();
      process bomb = co_await env.start(argv("perl", "-e", endless_bomb, marker).timeout(800ms));
      std::size_t peak = 0;
      while (clock::now() < begin + 700ms) {
        peak = std::max(peak, marked(marker).size());
        co_await pause_for(20ms);
      }
      command_result result = co_await bomb.wait();
      const std::string left = shown(marked(marker));
      const double took = milliseconds(result.duration());
      text = std::string(to_string(result.kind())) + (left.empty() ? " all gone" : " left: " + left) +
             (peak > 100 ? " full" : " at most " + std::to_string(peak)) + "; ";
      text += co_await end_of(other);
      command_result after = co_await env.run_command(shell("echo after"));
      text += " " + shown(after);
      std::cout << "at most " << peak << " processes; back after " << took << " ms of 800\n" << std::flush;
    });
    return text;
  });
  EXPECT_EQ(report, "timeout all gone full; "s + bystander_end + " none exit 0 signal 0 'after\n'");
  kill_marked(marker);
  kill_marked(others);
}

TEST(Attack, PR_05_control_a_process_group_does_not_hold_a_bomb_that_leaves_it) {
  COFFERDAM_NEEDS("perl", has_perl(), "a bomb whose processes leave the group");
  const temporary_folder base;
  const std::string marker = new_marker();
  in_environment(base, warden_policy::never, [&](auto& env) -> awaitable<void> {
    co_await env.run_command(argv("perl", "-e", bounded_bomb, marker, "tree").timeout(300ms));
    EXPECT_GT(marked(marker).size(), 10U);
    kill_marked(marker);
  });
  EXPECT_EQ(shown(marked(marker)), "");
}

// ---- PR-06: signals to the host, the warden, supervisors and siblings -----------------------------------------------

namespace {

/// Returns a perl script that sends a signal to processes. Its arguments are the system call to use, the number of
/// the signal, and the pids.
std::string signalling_script() {
  const auto number = [](long call) { return std::to_string(call); };
  return "my ($way, $signal, @all) = @ARGV; $| = 1; for my $p (@all) { next if $p < 0 && $> == 0; "
         "if ($way eq 'kill') { syscall(" +
         number(SYS_kill) +
         ", $p+0, $signal+0) } "
         "elsif ($way eq 'tgkill') { syscall(" +
         number(SYS_tgkill) +
         ", $p+0, $p+0, $signal+0) } "
         "elsif ($way eq 'pidfd') { my $f = syscall(" +
         number(SYS_pidfd_open) +
         ", $p+0, 0); "
         "syscall(" +
         number(SYS_pidfd_send_signal) +
         ", $f, $signal+0, 0, 0) } "
         "else { my $i = pack('iiix4ii', $signal, 0, -1, $$, $<) . \"\\0\" x 104; "
         "syscall(" +
         number(SYS_rt_sigqueueinfo) +
         ", $p+0, $signal+0, $i) } } "
         "print \"done\\n\"; exit 7";
}
constexpr const char* attacker_end = "none exit 7 signal 0 'done\n'";

/// Returns a command that sends `signal` to each of the pids. `way` selects the system call.
command signalling(const std::string& way, int signal, const std::vector<pid_t>& pids, const std::string& marker) {
  std::vector<std::string> words = {"perl", "-e", signalling_script() + " # " + marker, way, std::to_string(signal)};
  for (const pid_t pid : pids) words.push_back(std::to_string(pid));
  return argv(words).timeout(30s);
}

const std::vector<std::string>& ways_to_signal() {
  static const std::vector<std::string> ways = {"kill", "tgkill", "pidfd", "sigqueue"};
  return ways;
}

/// Lets a guest signal the host, the warden, the supervisors and another command of its environment. Returns a
/// description of the damage; empty means none.
std::string attack_the_neighbours(const temporary_folder& base, warden_policy policy, const std::string& marker,
                                  const std::vector<std::string>& ways, int signal, bool host_too) {
  std::string wrong;
  in_environment(base, policy, [&](auto& env) -> awaitable<void> {
    process other = co_await env.start(bystander(marker));
    const pid_t sibling = shell_of_bystander(marker);
    std::vector<pid_t> pids;
    if (host_too) pids.push_back(::getpid());
    const std::vector<process_entry> wardens = own_wardens();
    for (const process_entry& warden : wardens) {
      pids.push_back(warden.pid);
      for (const pid_t pid : supervisors_of(warden.pid)) pids.push_back(pid);
    }
    pids.push_back(sibling);
    if (policy == warden_policy::require && (wardens.size() != 1 || pids.size() < 4)) wrong += "not all there; ";
    for (const std::string& way : ways) {
      std::vector<pid_t> targets = pids;
      if (way == "everybody") targets = {-1};
      const std::string call = way == "everybody" ? "kill" : way;
      const command attack = signalling(call, signal, targets, "again " + marker);
      command_result result = co_await env.run_command(attack);
      if (shown(result) != attacker_end) wrong += way + ": " + shown(result) + "; ";
      for (const pid_t pid : pids) {
        const process_entry now = process_of(pid);
        if (now.pid == 0 || now.is_zombie()) wrong += way + ": " + std::to_string(pid) + " is dead; ";
        if (now.state == 'T') wrong += way + ": " + std::to_string(pid) + " is stopped; ";
      }
    }
    const std::string end = co_await end_of(other);
    if (end != bystander_end) wrong += "sibling: " + end;
  });
  return wrong;
}

}  // namespace

TEST(Attack, PR_06_signals_by_number_do_not_reach_host_warden_supervisors_or_siblings) {
  COFFERDAM_NEEDS("perl", has_perl(), "signals by every call there is");
  COFFERDAM_NEEDS("landlock-scope", has_scope(), "a guest cannot signal its host and siblings (Linux 6.12)");
  const std::string marker = new_marker();
  for (const int signal : {SIGKILL, SIGSTOP, SIGUSR1, SIGRTMIN}) {
    const temporary_folder base;
    const std::string report = in_spare_host(base, [&] {
      return attack_the_neighbours(base, warden_policy::require, marker, ways_to_signal(), signal, true);
    });
    ASSERT_EQ(report, "") << "signal " << signal;
    EXPECT_EQ(shown(marked(marker)), "");
  }
}

TEST(Attack, PR_06_a_signal_to_everybody_reaches_the_guests_own_processes_only) {
  COFFERDAM_NEEDS("perl", has_perl(), "signals by every call there is");
  COFFERDAM_NEEDS("landlock-scope", has_scope(), "a guest cannot signal its host and siblings (Linux 6.12)");
  COFFERDAM_NEEDS("root", spare_user::instance().is_there(), "kill(-1), which needs a user of its own");
  const std::string marker = new_marker();
  for (const int signal : {SIGKILL, SIGSTOP}) {
    const temporary_folder base;
    const std::string report = in_spare_host(base, [&] {
      if (::getuid() != spare_user::instance().uid()) return "not the spare user"s;
      return attack_the_neighbours(base, warden_policy::require, marker, {"everybody"}, signal, true);
    });
    ASSERT_EQ(report, "") << "signal " << signal;
    EXPECT_EQ(shown(marked(marker)), "");
  }
}

TEST(Attack, PR_06_control_a_plain_child_kills_its_host_and_its_sibling_each_way) {
  COFFERDAM_NEEDS("perl", has_perl(), "signals by every call there is");
  const std::string marker = new_marker();
  std::vector<std::string> ways = ways_to_signal();
  if (spare_user::instance().is_there()) ways.emplace_back("everybody");
  for (const std::string& way : ways) {
    const temporary_folder base;
    const std::string report = in_spare_host(base, [&] {
      if (way == "everybody" && ::getuid() != spare_user::instance().uid()) return "not the spare user"s;
      return attack_the_neighbours(base, warden_policy::never, marker, {way}, SIGKILL, true);
    });
    EXPECT_EQ(report, "died of signal 9") << way;
    if (way == "everybody") continue;
    kill_marked(marker);
    const std::string sibling = in_spare_host(
        base, [&] { return attack_the_neighbours(base, warden_policy::never, marker, {way}, SIGKILL, false); });
    EXPECT_NE(sibling.find("sibling: none exit -1 signal 9"), std::string::npos) << way << ": " << sibling;
  }
  kill_marked(marker);
}

TEST(Attack, PR_06_control_without_the_scope_a_guest_gets_rid_of_supervisor_and_warden) {
  const temporary_folder base;
  const std::string marker = new_marker();
  const std::string report = in_spare_host(base, [&] {
    std::string text = "nothing";
    run([&]() -> awaitable<void> {
      warden_session session = co_await open_without_scope(base);
      // The guest suspends the warden first, so that the warden cannot react when the supervisor dies.
      const std::string warden = std::to_string(session.hello().pid());
      const command c = shell("kill -STOP " + warden + "; kill -9 $PPID; kill -9 " + warden + "; sleep " + marker);
      cofferdam::spawn_request request = plain_request(c);
      try {
        co_await session.run(c, std::move(request));
      } catch (const cofferdam::error& failure) {
        text = failure.code() == exec_errc::provider_lost ? "provider_lost" : failure.what();
      }
      session.abandon();
      co_await pause_for(200ms);
      text += marked(marker).empty() ? ", nothing left" : ", and it goes on";
    });
    return text;
  });
  EXPECT_EQ(report, "provider_lost, and it goes on");
  kill_marked(marker);
}

// ---- PR-06b, PR-06c: a guest signals its supervisor, and Landlock does not prevent it -------------------------------

namespace {

/// Runs the attack `line` in a session without Landlock. Returns the result of the attack, its remaining processes,
/// and the result of another command of the session if it was affected. In the line, OTHERS stands for the pids of
/// all supervisors except the attacker's own.
std::string attack_the_supervisor(const temporary_folder& base, const std::string& line, const std::string& marker,
                                  const std::function<std::string(const command_result&)>& judge) {
  return in_spare_host(base, [&] {
    std::string text;
    run([&]() -> awaitable<void> {
      warden_session session = co_await open_without_scope(base);
      const command sibling = bystander("sibling " + marker);
      process other = co_await session.start(bystander("sibling " + marker), plain_request(sibling));
      const pid_t bystanding = shell_of_bystander("sibling " + marker);
      const std::vector<pid_t> others = supervisors_of(static_cast<pid_t>(session.hello().pid()));
      std::string attack = with_marker(line, marker);
      for (std::size_t at = attack.find(" OTHERS"); at != std::string::npos; at = attack.find(" OTHERS"))
        attack.replace(at, 7, joined(others));
      const command c = shell(attack).timeout(400ms);
      command_result result = co_await session.run(c, plain_request(c));
      std::string left;
      for (const process_entry& entry : marked(marker))
        if (entry.pid != bystanding) left += entry.name + " (" + entry.state + ") ";
      text = judge(result) + (left.empty() ? "" : ", left: " + left);
      if (result.duration() > 2s) text += ", after " + std::to_string(milliseconds(result.duration())) + " ms";
      const std::string end = co_await end_of(other);
      if (end != bystander_end) text += ", sibling: " + end;
      const command again = shell("echo again");
      command_result after = co_await session.run(again, plain_request(again));
      if (shown(after) != "none exit 0 signal 0 'again\n'") text += ", then: " + shown(after);
      co_await session.close();
    });
    const bool ended = eventually([] { return own_wardens().empty(); }, 5s);
    return text + (ended ? "" : ", the warden goes on");
  });
}

std::string by_kind(const command_result& result) {
  if (result.kind() == error_kind::timeout) return "timeout";
  if (result.kind() == error_kind::execution_error && !result.reason().empty()) return "lost";
  return shown(result);
}

}  // namespace

TEST(Attack, PR_06b_a_guest_that_stops_its_supervisor_is_ended_in_time) {
  const std::string marker = new_marker();
  const std::string stopped_once[] = {
      "kill -STOP $PPID; sleep M",
      "(setsid sh -c 'sleep M' &); trap '' TERM; kill -STOP $PPID; sleep M; sleep M",
      "kill -STOP $PPID OTHERS; sleep M",
  };
  for (const std::string& line : stopped_once) {
    const temporary_folder base;
    EXPECT_EQ(attack_the_supervisor(base, line, marker, by_kind), "timeout") << line;
    EXPECT_EQ(shown(marked(marker)), "");
  }
  // The warden kills a supervisor that is suspended again and again. The command then ends at once, with an unknown
  // status.
  const std::string in_a_loop[] = {
      "P=$PPID; (while kill -STOP $P; do :; done) & sleep M",
      "P=$PPID; (setsid sh -c 'while kill -STOP $0; do :; done' $P &); while kill -STOP $P; do :; done; sleep M",
  };
  for (const std::string& line : in_a_loop) {
    const temporary_folder base;
    const std::string report = attack_the_supervisor(base, line, marker, by_kind);
    EXPECT_TRUE(report == "lost" || report == "timeout") << line << ": " << report;
    EXPECT_EQ(shown(marked(marker)), "");
  }
}

TEST(Attack, PR_06c_a_guest_that_kills_its_supervisor_is_reported_lost_and_gone) {
  const std::string marker = new_marker();
  const std::string lines[] = {
      "kill -9 $PPID; echo alive; sleep M",
      "(setsid sh -c 'trap \"\" TERM; sleep M; sleep M' &); (env -i setsid sleep M &); sleep 0.05; kill -9 $PPID; "
      "sleep M",
      "trap '' TERM; kill -9 $PPID; while :; do setsid sleep M & sleep 0.001; done",
      "kill -STOP $PPID; kill -9 $PPID; exec sleep M",
  };
  for (const std::string& line : lines) {
    const temporary_folder base;
    EXPECT_EQ(attack_the_supervisor(base, line, marker, by_kind), "lost") << line;
    EXPECT_EQ(shown(marked(marker)), "");
  }
}

TEST(Attack, PR_06c_a_guest_that_kills_its_warden_ends_with_it) {
  const temporary_folder base;
  const std::string marker = new_marker();
  const std::string report = in_spare_host(base, [&] {
    std::string text = "nothing";
    run([&]() -> awaitable<void> {
      warden_session session = co_await open_without_scope(base);
      const command c = shell("(setsid sleep " + marker + " &); sleep 0.05; echo before; kill -9 " +
                              std::to_string(session.hello().pid()) + "; sleep " + marker);
      try {
        co_await session.run(c, plain_request(c));
      } catch (const cofferdam::error& failure) {
        text = failure.code() == exec_errc::provider_lost ? "provider_lost" : failure.what();
        if (failure.partial() == nullptr || failure.partial()->out().text() != "before\n") text += ", output lost";
      }
      const auto begin = clock::now();
      while (clock::now() < begin + 1s && !marked(marker).empty()) co_await pause_for(5ms);
      if (!marked(marker).empty()) text += ", and it goes on";
    });
    return text;
  });
  EXPECT_EQ(report, "provider_lost");
  kill_marked(marker);
}

TEST(Attack, PR_06b_and_PR_06c_control_whoever_watches_alone_is_stopped_or_killed_for_good) {
  for (const bool stops : {true, false}) {
    const temporary_folder base;
    const std::string marker = new_marker();
    spare_user::instance().own(base);
    // Without a warden, the host itself watches the command, with a time limit of 100 ms.
    forked_program host([&](int) {
      spare_user::instance().become();
      in_environment(base, warden_policy::never, [&](auto& env) -> awaitable<void> {
        const std::string line = (stops ? "kill -STOP $PPID; sleep " : "kill -9 $PPID; sleep ") + marker;
        co_await env.run_command(shell(line).timeout(100ms));
      });
    });
    EXPECT_TRUE(eventually([&] { return process_of(host.pid()).state == (stops ? 'T' : 'Z'); }));
    std::this_thread::sleep_for(500ms);
    EXPECT_FALSE(marked(marker).empty()) << "past its limit";
    host.kill();
    kill_marked(marker);
  }
}

TEST(Attack, PR_06b_and_PR_06c_in_the_jail_a_guest_that_attacks_its_supervisor_ends_with_it) {
  COFFERDAM_NEEDS("bubblewrap", cofferdam_test::has_jail(), "the attacks in the jail");
  const std::string marker = new_marker();
  const std::string lines[] = {
      "kill -STOP $PPID; sleep M",
      "(setsid sh -c 'sleep M' &); trap '' TERM; kill -STOP $PPID; sleep M; sleep M",
      "(setsid sh -c 'trap \"\" TERM; sleep M; sleep M' &); kill -9 $PPID; sleep M",
      "kill -STOP 1; kill -9 1; kill -STOP $PPID; kill -9 $PPID; exec sleep M",
  };
  for (const std::string& line : lines) {
    const attack_folder base("jail");
    // Without Landlock, the supervisors can be signalled. Process 1 cannot: the kernel drops the signals to it.
    const auto recipe = cofferdam::jail()
                            .temporary_base(base.path())
                            .workspace(base.workspace())
                            .landlock(0)
                            .kill_grace(50ms)
                            .output_grace(50ms);
    run([&]() -> awaitable<void> {
      const auto body = [&](auto& env) -> awaitable<void> {
        process other = co_await env.start(bystander("sibling " + marker));
        std::vector<process_entry> neighbours;
        eventually([&] { return !(neighbours = marked("sibling " + marker)).empty(); });
        command_result result = co_await env.run_command(shell(with_marker(line, marker)).timeout(400ms));
        EXPECT_TRUE(result.kind() == error_kind::timeout || result.kind() == error_kind::execution_error)
            << line << ": " << shown(result);
        std::vector<process_entry> left;
        eventually([&] { return (left = marked(marker)).size() <= neighbours.size(); }, 2s);
        EXPECT_LE(left.size(), neighbours.size()) << line << " left " << shown(left);
        const std::string end_of_other = co_await end_of(other);
        EXPECT_EQ(end_of_other, bystander_end) << line;
        command_result after = co_await env.run_command(shell("echo again"));
        EXPECT_EQ(shown(after), "none exit 0 signal 0 'again\n'") << line;
      };
      co_await with(recipe, std::ref(body));
    });
    EXPECT_EQ(shown(marked(marker)), "") << line;
  }
}

// ---- PR-07: processes that evade the signals and adoptions by the kernel --------------------------------------------

namespace {

/// Returns a perl script in which each process adopts orphans (as a subreaper), disables the signal at its parent's
/// death, and leaves its session. `stays` decides if the first process stays alive or exits.
std::string adopting_script(bool stays) {
  const std::string control = "syscall(" + std::to_string(SYS_prctl) + ", ";
  return "use POSIX; sub free { " + control + "36, 1, 0, 0, 0); " + control +
         "1, 0, 0, 0, 0); setsid } free(); "
         "sub leaf { free(); open(my $f, '>', shift); close $f; sleep 1 while 1 } "
         "for my $n (1..3) { my $p = fork; if (!$p) { free(); my $q = fork; if (!$q) { free(); my $r = fork; "
         "if (!$r) { leaf(\"up$n\") } _exit(0) } if ($n == 2) { _exit(0) } sleep 1 while 1 } } "
         "while (!(-e 'up1' && -e 'up2' && -e 'up3')) { select(undef, undef, undef, 0.005) } " +
         (stays ? "sleep 1 while 1"s : "exit 4"s);
}

std::vector<process_entry> left_of_adopters(const std::string& place, bool stays) {
  const attack_folder base(place);
  const std::string marker = new_marker();
  std::vector<process_entry> left;
  in_environment(base, [&](auto& env) -> awaitable<void> {
    command_result result =
        co_await env.run_command(argv("perl", "-e", adopting_script(stays), marker).timeout(stays ? 600ms : 30s));
    left = marked(marker);
    EXPECT_EQ(result.kind(), stays ? error_kind::timeout : error_kind::none);
    if (!stays) {
      EXPECT_EQ(result.exit_code(), 4);
    }
    EXPECT_TRUE(std::filesystem::exists(base.workspace() / "up3")) << "the attack has not begun";
  });
  kill_marked(marker);
  return left;
}

}  // namespace

TEST_P(PrTreeAttack, PR_07_what_adopts_and_hands_around_its_children_is_still_killed) {
  COFFERDAM_NEEDS("perl", has_perl(), "guests that adopt");
  EXPECT_EQ(shown(left_of_adopters(GetParam(), false)), "");
  EXPECT_EQ(shown(left_of_adopters(GetParam(), true)), "");
}

TEST(Attack, PR_07_control_neither_a_group_nor_a_signal_at_the_parents_death_holds_it) {
  COFFERDAM_NEEDS("perl", has_perl(), "guests that adopt");
  EXPECT_GE(left_of_adopters("no_warden", false).size(), 3U);
  EXPECT_GE(left_of_adopters("no_warden", true).size(), 3U);
  // Control: a runner that relies on PR_SET_PDEATHSIG dies, and its guest, which has disabled this signal, survives.
  const temporary_folder base;
  const std::string marker = new_marker();
  const std::string script = "syscall(" + std::to_string(SYS_prctl) + ", 1, 0, 0, 0, 0); open(my $f, '>', '" +
                             (base / "free").string() + "'); close $f; sleep 1 while 1";
  forked_program host([&](int) {
    if (::fork() == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::execl("/usr/bin/perl", "perl", "-e", script.c_str(), marker.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::pause();
  });
  EXPECT_TRUE(eventually([&] { return base.has("free"); }));
  host.kill();
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(marked(marker).size(), 1U);
  kill_marked(marker);
}

// ---- PR-08: the host is killed --------------------------------------------------------------------------------------

namespace {

/// A command that resists its end, and the result that is expected if the host is not killed.
struct hostile_command {
  std::string line;
  std::chrono::milliseconds timeout;
  std::string end;  ///< expected text of the result; empty means any
  /// Further accepted results. On a busy machine the time limit may expire before the shell has set its traps, or
  /// before the command has started.
  std::vector<std::string> or_ends = {};
};

std::vector<hostile_command> hostile_commands(const std::string& marker, bool with_signals = true) {
  constexpr auto soon = 60ms;
  constexpr auto late = std::chrono::milliseconds(20s);
  std::vector<hostile_command> commands = {
      {"(setsid sleep M &); exit 3", late, "none exit 3 signal 0 ''"},
      {"setsid sh -c 'setsid sleep M & exit 0' & wait; echo x", late, "none exit 0 signal 0 'x\n'"},
      {"(env -i setsid sh -c 'exec 0<&- 1>&- 2>&-; sleep M; sleep M' &); exit 4", late, "none exit 4 signal 0 ''"},
      {"trap '' TERM INT HUP QUIT; while :; do sleep 0.01; done # M",
       soon,
       "timeout exit -1 signal 9 ''",
       {"timeout exit -1 signal 15 ''", "timeout exit -1 signal 0 ''"}},
      {"kill -STOP $$; sleep M", soon, ""},
      {"(setsid sh -c 'trap \"\" TERM; kill -STOP $$; sleep M' &); kill -STOP 0; sleep M", soon, ""},
      {"b() { if [ $1 -gt 0 ]; then b $(($1-1)) & b $(($1-1)) & fi; sleep M & wait; }; b 3", soon, ""},
      {"nohup setsid sh -c 'while :; do sh -c \"sleep M\" & sleep 0.02; done' > /dev/null 2>&1 & sleep M", soon, ""},
      {"kill -9 $$ # M", late, "none exit -1 signal 9 ''"},
  };
  // These commands need a kernel with Landlock's scopes.
  if (with_signals && has_scope()) {
    commands.push_back(
        {"kill -9 $PPID; kill -STOP $PPID; (setsid sleep M &); exit 5", late, "none exit 5 signal 0 ''"});
    if (spare_user::instance().is_there())
      commands.push_back({"(setsid sleep M &); sleep 0.01; test $(id -u) = " +
                              std::to_string(spare_user::instance().uid()) + " && kill -9 -1; exit 6",
                          late, "none exit 6 signal 0 ''"});
  }
  for (hostile_command& hostile : commands) hostile.line = with_marker(hostile.line, marker);
  return commands;
}

/// Runs `count` of the commands at once in a new environment, from number `first` on. Returns a description of the
/// unexpected results.
template <class Provider>
awaitable<std::string> run_hostile_batch(Provider where, const std::vector<hostile_command>& commands,
                                         std::size_t first, std::size_t count) {
  std::string wrong;
  const auto body = [&](auto& env) -> awaitable<void> {
    std::size_t ended = 0;
    const auto run_one = [&](const hostile_command& c) -> awaitable<void> {
      command_result result = co_await env.run_command(shell(c.line).timeout(c.timeout));
      const std::string end = shown(result);
      const bool is_accepted =
          c.end.empty() || end == c.end || std::find(c.or_ends.begin(), c.or_ends.end(), end) != c.or_ends.end();
      if (!is_accepted) wrong += c.line + ": " + end + "; ";
    };
    for (std::size_t i = 0; i < count; ++i) {
      const hostile_command& c = commands[(first + i) % commands.size()];
      const auto start = [&run_one, &c] { return run_one(c); };
      cofferdam_test::spawn(co_await asio::this_coro::executor, start, [&](std::exception_ptr failure) {
        if (failure) wrong += "threw; ";
        ++ended;
      });
    }
    while (ended < count) co_await pause_for(2ms);
  };
  co_await with(std::move(where), std::ref(body));
  co_return wrong;
}

auto impatient(const temporary_folder& base, warden_policy policy) {
  return provider(base, policy).kill_grace(5ms).output_grace(5ms);
}

std::size_t folders_in(const temporary_folder& base) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(base.path()), {}));
}

}  // namespace

TEST_P(PrTreeAttack, PR_08_nothing_outlives_a_host_that_is_killed_at_any_moment) {
  const attack_folder base(GetParam());
  const int times = cofferdam_test::is_soak() ? 1000 : base.is_jail() ? 15 : 50;
  spare_user::instance().own(base);
  const std::string marker = new_marker();
  const std::vector<hostile_command> commands = hostile_commands(marker, !base.is_jail());
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const orphanage orphans;
  std::vector<double> took;
  std::size_t peak = 0;
  for (int i = 0; i < times; ++i) {
    forked_program host([&](int) {
      spare_user::instance().become();
      run([&]() -> awaitable<void> {
        for (std::size_t first = static_cast<std::size_t>(i);; first += 3)
          co_await run_hostile_batch(base.provider(5ms, 5ms), commands, first, 6);
      });
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 120'000));
    const std::size_t before = orphans.living().size();
    peak = std::max(peak, before);
    EXPECT_TRUE(is_alive(host.pid())) << host.line(0ms);
    const auto begin = clock::now();
    host.kill();
    const bool gone = eventually([&] { return orphans.is_empty() && marked(marker).empty(); }, 1s);
    took.push_back(milliseconds(clock::now() - begin));
    ASSERT_TRUE(gone) << shown(orphans.living()) << shown(marked(marker)) << " of " << before;
  }
  std::sort(took.begin(), took.end());
  std::cout << times << " hosts killed, with at most " << peak << " processes; all gone after p50 "
            << took[took.size() / 2] << " ms, worst " << took.back() << " ms; " << folders_in(base)
            << " folders left by those that had made one\n";
  EXPECT_GT(peak, 5U);
  EXPECT_LE(folders_in(base), static_cast<std::size_t>(times) + 1) << "one a host at most, and the workspace";
}

TEST(Attack, PR_08_control_without_a_warden_guests_outlive_their_host) {
  const temporary_folder base;
  spare_user::instance().own(base);
  const std::string marker = new_marker();
  const orphanage orphans;
  {
    forked_program host([&](int) {
      spare_user::instance().become();
      in_environment(base, warden_policy::never, [&](auto& env) -> awaitable<void> {
        process running = co_await env.start(shell("exec sleep " + marker));
        process two = co_await env.start(shell("(setsid sleep " + marker + " &); sleep " + marker));
        co_await pause_for(60s);
      });
    });
    EXPECT_TRUE(eventually([&] { return marked(marker).size() >= 3; }));
  }
  std::this_thread::sleep_for(1s);
  EXPECT_GE(marked(marker).size(), 3U);
  EXPECT_GE(orphans.living().size(), 3U);
  kill_marked(marker);
}

// ---- PR-10: many hostile runs ---------------------------------------------------------------------------------------

TEST(Attack, PR_10_hostile_runs_leave_the_machine_as_it_was) {
  constexpr std::size_t batch = 10;
  constexpr std::size_t batches = 20;  // batches of one host; in the last batch the host is killed
  const std::size_t hosts = cofferdam_test::is_soak() ? 10'000 / (batch * batches) : 1;
  const temporary_folder base;
  spare_user::instance().own(base);
  const std::string marker = new_marker();
  const std::vector<hostile_command> commands = hostile_commands(marker);
  std::mt19937 random{std::random_device{}()};
  const orphanage orphans;
  const census before = census::take(base.path());
  const auto begin = clock::now();
  std::size_t killed_folders = 0;
  for (std::size_t i = 0; i < hosts; ++i) {
    forked_program host([&](int words) {
      spare_user::instance().become();
      std::size_t first = i * 7;
      std::string wrong;
      const auto next = [&]() -> awaitable<void> {
        std::string unexpected =
            co_await run_hostile_batch(impatient(base, warden_policy::require), commands, first, batch);
        wrong += unexpected;
        first += batch;
      };
      // The first event loop of a program opens descriptors that stay open, and must not be counted.
      run([&]() -> awaitable<void> { co_await pause_for(1ms); });
      const census at_first = census::take(base.path());
      for (std::size_t k = 0; k + 1 < batches; ++k) run(next);
      eventually([&] { return census::take(base.path()) == at_first; });
      std::ostringstream difference;
      const census at_last = census::take(base.path());
      if (at_last != at_first) difference << "before " << at_first << "; after " << at_last << "; ";
      if (!marked(marker).empty()) difference << "left: " << shown(marked(marker));
      std::string report = wrong + difference.str();
      std::replace(report.begin(), report.end(), '\n', ' ');
      forked_program::say(words, "results: " + report + "\n");
      for (;;) run(next);
    });
    EXPECT_EQ(host.line(), "results: ");
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 100'000));
    host.kill();
    const bool gone = eventually([&] { return orphans.is_empty() && marked(marker).empty(); }, 1s);
    ASSERT_TRUE(gone) << shown(orphans.living()) << shown(marked(marker));
    // A killed host process leaves its workspace folders behind, so the test removes them.
    for (const auto& folder : std::filesystem::directory_iterator(base.path())) {
      std::filesystem::remove_all(folder.path());
      ++killed_folders;
    }
    EXPECT_LE(killed_folders, i + 1);
  }
  eventually([&] { return census::take(base.path()) == before; });
  EXPECT_EQ(census::take(base.path()), before);
  std::cout << hosts * batch * batches << " hostile runs in " << milliseconds(clock::now() - begin) << " ms; " << hosts
            << " hosts killed, which left " << killed_folders << " folders; " << before << " before and after\n";
}

TEST(Attack, PR_10_a_host_that_adopts_orphans_as_process_1_does_has_none_to_reap) {
  const temporary_folder base;
  const std::string marker = new_marker();
  const auto zombies_after = [&](warden_policy policy) {
    return in_spare_host(base, [&] {
      ::prctl(PR_SET_CHILD_SUBREAPER, 1);
      for (int i = 0; i < 10; ++i)
        in_environment(base, policy, [&](auto& env) -> awaitable<void> {
          process other = co_await env.start(shell("sleep 0.01 & sleep 0.02"));
          co_await env.run_command(shell("(setsid sleep " + marker + " &); (setsid sleep 0.01 &); sleep 0.02"));
          co_await other.wait();
        });
      kill_marked(marker);
      std::this_thread::sleep_for(50ms);
      return census::take(base.path()).zombies == 0 ? "none"s : "some"s;
    });
  };
  EXPECT_EQ(zombies_after(warden_policy::require), "none");
  EXPECT_EQ(zombies_after(warden_policy::never), "some") << "the control";
}

TEST(Attack, PR_10_control_hostile_runs_without_a_warden_leave_processes) {
  const temporary_folder base;
  const std::string marker = new_marker();
  const orphanage orphans;
  spare_user::instance().own(base);
  {
    const std::vector<hostile_command> commands = hostile_commands(marker);
    forked_program host([&](int words) {
      spare_user::instance().become();
      run([&]() -> awaitable<void> {
        // The first three commands send no signals.
        co_await run_hostile_batch(impatient(base, warden_policy::never), commands, 0, 3);
      });
      forked_program::say(words, "over\n");
    });
    EXPECT_EQ(host.line(), "over");
    EXPECT_GE(marked(marker).size(), 1U);
  }
  EXPECT_FALSE(orphans.is_empty());
  kill_marked(marker);
}

}  // namespace pr_tree_tests
