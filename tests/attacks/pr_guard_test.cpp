// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks PR-06d, PR-06e, EN-01 and PR-10 of the project's catalogue of attacks. A guest (a process that a command
// started) has the same user id as its supervisor, its warden and its host. Without a signal, the guest lowers the
// limits of these processes, starves them of processor time, traces them and steals their descriptors. (The warden is
// the library's helper program in each environment; a supervisor is the warden's child process that starts and watches
// one command.) The attacks are a small C program that is compiled here and run by guests; the tests check the results
// in /proc. The controls are sessions without the system call filter or without Landlock, and `warden_policy::never`.

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

#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pr_guard_tests {

namespace {

using asio::awaitable;
using cofferdam::argv;
using cofferdam::command;
using cofferdam::command_result;
using cofferdam::error_kind;
using cofferdam::isolation_kind;
using cofferdam::process;
using cofferdam::shell;
using cofferdam::warden_policy;
using cofferdam::warden_session;
using cofferdam::with;
using cofferdam_test::census;
using cofferdam_test::eventually;
using cofferdam_test::forked_program;
using cofferdam_test::in_forked_host;
using cofferdam_test::in_spare_host;
using cofferdam_test::is_alive;
using cofferdam_test::is_warden;
using cofferdam_test::kill_marked;
using cofferdam_test::marked;
using cofferdam_test::new_marker;
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

constexpr unsigned kernels_own = ~0U;
constexpr unsigned levels[] = {kernels_own, 2, 0};

// ---- the attacker's program ----------------------------------------------------------------------------------------

/// Source of the attacker's program. It prints one word per call: `ok`, or the number of the error.
constexpr const char* attacker_source = R"(
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static struct { uint64_t soft, hard; } limits, before;

static void tell(long result) {
  if (result >= 0) printf("ok "); else printf("%d ", errno);
}

// A system call by each interface of the machine: its number there, and four arguments.
static long call_by(const char* abi, long number, long number_i386, long first, long second, void* third, void* fourth) {
  long result;
#ifdef __x86_64__
  if (strcmp(abi, "i386") == 0) {
    __asm__ volatile("int $0x80" : "=a"(result)
                     : "a"(number_i386), "b"(first), "c"(second), "d"(third), "S"(fourth) : "memory");
  } else {
    if (strcmp(abi, "x32") == 0) number |= 0x40000000;
    register void* r10 __asm__("r10") = fourth;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second), "d"(third), "r"(r10)
                     : "rcx", "r11", "memory");
  }
#else
  result = syscall(number, first, second, third, fourth);
  if (result < 0) result = -errno;
#endif
  if (result >= 0) return result;
  errno = (int)-result;
  return -1;
}

// The kernel takes an int, whatever stands in the register's upper half.
static long process_of(const char* abi, int pid) {
  return (long)(unsigned)pid | (strcmp(abi, "upper") == 0 ? 0x7654321000000000 : 0);
}

static long set_limits(const char* abi, int pid, int resource, void* new_limits, void* old_limits) {
  return call_by(abi, SYS_prlimit64, 340, process_of(abi, pid), resource, new_limits, old_limits);
}

// Each call that takes the processor or the disk from a process, or from its group.
static void starve(const char* abi, int pid) {
  static struct sched_param none = {0};
  static struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t other[3]; } idle;
  const long process = process_of(abi, pid);
  idle.size = sizeof idle;
  idle.policy = SCHED_IDLE;
  idle.nice = 19;
  tell(call_by(abi, SYS_setpriority, 97, PRIO_PROCESS, process, (void*)19, 0));
  tell(call_by(abi, SYS_sched_setscheduler, 156, process, SCHED_IDLE, &none, 0));
  tell(call_by(abi, SYS_sched_setparam, 154, process, (long)&none, 0, 0));
  tell(call_by(abi, SYS_sched_setattr, 351, process, (long)&idle, 0, 0));
  tell(call_by(abi, SYS_ioprio_set, 289, 1, process, (void*)(3 << 13), 0));
  if (pid == 0) return;
  tell(call_by(abi, SYS_setpriority, 97, PRIO_PGRP, getpgid(pid), (void*)19, 0));
  tell(call_by(abi, SYS_ioprio_set, 289, 2, getpgid(pid), (void*)(3 << 13), 0));
}

static int number_of(const char* word) { return strcmp(word, "parent") == 0 ? getppid() : atoi(word); }

int main(int count, char** words) {
  const char* what = words[1];
  int i;
  if (strcmp(what, "limit") == 0) {  // ABI first last soft hard PID...
    for (int resource = atoi(words[3]); resource <= atoi(words[4]); ++resource)
      for (i = 7; i < count; ++i) {
        limits.soft = strtoull(words[5], 0, 10);
        limits.hard = strtoull(words[6], 0, 10);
        tell(set_limits(words[2], number_of(words[i]), resource, &limits, 0));
      }
  } else if (strcmp(what, "same") == 0) {  // PID...: sets what they have already
    for (int resource = 0; resource < 16; ++resource)
      for (i = 2; i < count; ++i) {
        tell(set_limits("64", number_of(words[i]), resource, 0, &before));
        tell(set_limits("64", number_of(words[i]), resource, &before, 0));
      }
  } else if (strcmp(what, "own") == 0) {
    limits.soft = limits.hard = 77;
    tell(set_limits("64", 0, 7, &limits, 0));
    struct rlimit now;
    getrlimit(RLIMIT_NOFILE, &now);
    printf("%d ", (int)now.rlim_cur);
  } else if (strcmp(what, "core") == 0) {  // ABI...: allows core handlers, by each call
    for (i = 2; i < count; ++i) {
      tell(call_by(words[i], SYS_setrlimit, 75, 4, (long)&limits, 0, 0));
      tell(set_limits(words[i], 0, 4, &limits, 0));
      tell(set_limits(words[i], 0, 4, &limits, &before));
    }
    struct rlimit now;
    getrlimit(RLIMIT_CORE, &now);
    printf("%d %d", (int)now.rlim_cur, (int)now.rlim_max);
  } else if (strcmp(what, "starve") == 0) {  // ABI PID...; 0 stands for the attacker itself
    for (i = 3; i < count; ++i) starve(words[2], number_of(words[i]));
  } else if (strcmp(what, "spin") == 0) {  // N
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    for (i = 0; i < atoi(words[2]); ++i)
      if (fork() == 0) {
        setsid();
        sched_setaffinity(0, sizeof first, &first);
        for (;;) {}
      }
    fflush(stdout);
    for (;;) pause();
  } else if (strcmp(what, "environ") == 0 || strcmp(what, "memory") == 0) {  // PID [ADDRESS SIZE]
    static char path[64], text[70000];
    sprintf(path, "/proc/%s/%s", words[2], what[0] == 'e' ? "environ" : "mem");
    const int fd = open(path, O_RDONLY);
    long got = fd;
    if (fd >= 0) got = pread(fd, text, count > 4 ? atoi(words[4]) : (long)sizeof text, count > 4 ? strtoll(words[3], 0, 10) : 0);
    if (got < 0) tell(got);
    for (i = 0; i < got; ++i) putchar(text[i] == 0 ? '\n' : text[i]);
  } else if (strcmp(what, "vm") == 0) {  // PID ADDRESS SIZE
    static char text[4096];
    struct iovec to = {text, atoi(words[4])}, from = {(void*)strtoull(words[3], 0, 10), atoi(words[4])};
    const long got = process_vm_readv(atoi(words[2]), &to, 1, &from, 1, 0);
    if (got < 0) tell(got); else printf("%.*s", (int)got, text);
  } else if (strcmp(what, "take") == 0) {  // PID: every socket that it has
    int taken = 0, refused = 0;
    const int pidfd = syscall(434, atoi(words[2]), 0);
    for (i = 0; i < 64; ++i) {
      const int fd = syscall(438, pidfd, i, 0);
      struct stat status;
      if (fd >= 0 && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode)) ++taken;
      if (fd < 0 && errno == EPERM) ++refused;
    }
    printf("%s", taken > 0 ? "taken" : refused == 64 ? "refused" : "nothing");
  } else if (strcmp(what, "trace") == 0) {  // PID, or own for a child of its own
    int pid = atoi(words[2]);
    if (pid == 0 && (pid = fork()) == 0) for (;;) pause();
    const long result = ptrace(PTRACE_ATTACH, pid, 0, 0);
    tell(result);
    if (result >= 0) { waitpid(pid, 0, 0x40000000); ptrace(PTRACE_DETACH, pid, 0, 0); }
    if (atoi(words[2]) == 0) kill(pid, SIGKILL);
  } else if (strcmp(what, "compare") == 0) {  // PID
    tell(syscall(SYS_kcmp, getpid(), atoi(words[2]), 1, 0, 0));
  }
  printf("\n");
  return 0;
}
)";

/// A folder that every user may enter. It contains the attacker's program.
class attacker {
 public:
  static const attacker& instance() {
    static const attacker shared_attacker;
    return shared_attacker;
  }
  bool is_there() const noexcept { return there_; }
  std::string path() const { return (folder_.path() / "attacker").string(); }

 private:
  attacker() {
    ::chmod(folder_.path().c_str(), 0755);
    const std::string source = folder_.write("attacker.c", attacker_source).string();
    there_ = std::system(("gcc -w -O1 -no-pie -o " + path() + " " + source).c_str()) == 0;
  }
  temporary_folder folder_;
  bool there_ = false;
};

#define NEEDS_ATTACKER() \
  COFFERDAM_NEEDS("gcc", attacker::instance().is_there(), "attacks by programs of the guest's own")

/// Returns a command that runs one attack of the attacker's program.
template <class... Words>
command attack(const Words&... words) {
  std::vector<std::string> arguments = {attacker::instance().path(), std::string(words)...};
  return argv(std::move(arguments)).timeout(60s);
}

std::string times(std::size_t count, const std::string& word) {
  std::string text;
  while (count-- != 0) text += word + " ";
  return text + "\n";
}

// ---- sessions and hosts ---------------------------------------------------------------------------------------------

cofferdam::spawn_request plain_request(const command& c) {
  return cofferdam::request_for(c, "/bin/sh", {"PATH=" + std::string(cofferdam::default_path)});
}

/// Opens a session as the backend `local` does, with the given version of Landlock. `filter` switches the filter of
/// system calls on or off.
awaitable<warden_session> open_session(const temporary_folder& base, unsigned landlock, bool filter,
                                       cofferdam::tracing_policy tracing = cofferdam::tracing_policy::contained) {
  cofferdam::detail::started_warden started =
      cofferdam::detail::start_warden(cofferdam::native_warden_image().program(), base.path());
  cofferdam::warden_settings settings;
  settings.landlock = landlock;
  settings.system_call_filter = filter;
  settings.tracing = tracing;
  settings.commands.kill_grace = 50ms;
  settings.commands.output_grace = 50ms;
  warden_session session =
      co_await warden_session::open(co_await asio::this_coro::executor, std::move(started.socket), std::move(settings));
  co_return session;
}

awaitable<command_result> run_in(warden_session& session, command c) {
  cofferdam::spawn_request request = plain_request(c);
  command_result result = co_await session.run(std::move(c), std::move(request));
  co_return result;
}

/// Runs `body(folder)` in forked hosts: as root if this program runs as root, and as an ordinary user if one is
/// available.
template <class Body>
void as_each_user(Body body) {
  if (::geteuid() == 0) {
    SCOPED_TRACE("as root");
    const temporary_folder base;
    EXPECT_EQ(in_forked_host([&] { return body(base); }, 300), "");
  }
  if (::geteuid() != 0 || spare_user::instance().is_there()) {
    SCOPED_TRACE("as an ordinary user");
    const temporary_folder base;
    EXPECT_EQ(in_spare_host(base, [&] { return body(base); }), "");
  }
}

/// Collects the differences between actual and expected values. `text()` is empty if there are none.
class differences {
 public:
  void expect(const std::string& what, const std::string& actual, const std::string& expected) {
    if (actual != expected) text_ += what + ": '" + actual + "' instead of '" + expected + "'; ";
  }
  void expect(const std::string& what, bool holds) {
    if (!holds) text_ += what + "; ";
  }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

std::string limits_of(const std::vector<pid_t>& pids) {
  std::string text;
  for (const pid_t pid : pids) text += read_proc("/proc/" + std::to_string(pid) + "/limits");
  return text;
}

/// Returns how the kernel schedules these processes: the policy and the nice value.
std::string scheduling_of(const std::vector<pid_t>& pids) {
  std::string text;
  for (const pid_t pid : pids)
    text += std::to_string(::sched_getscheduler(pid)) + " " + std::to_string(::getpriority(PRIO_PROCESS, pid)) + "\n";
  return text;
}

std::string level_name(unsigned level) { return level == kernels_own ? "own" : std::to_string(level); }

auto provider(const temporary_folder& base, unsigned landlock) {
  return cofferdam::local()
      .without_warning()
      .temporary_base(base.path())
      .warden(warden_policy::require)
      .landlock(landlock)
      .kill_grace(50ms)
      .output_grace(50ms);
}

/// Runs `body(environment, level)` once with each version of Landlock.
template <class Body>
void at_each_level(const temporary_folder& base, Body body) {
  for (const unsigned level : levels) {
    const auto with_level = [&](auto& env) { return body(env, level_name(level)); };
    run([&]() -> awaitable<void> { co_await with(provider(base, level), std::ref(with_level)); });
  }
}

}  // namespace

// ---- PR-06d: a guest sets limits of other processes -----------------------------------------------------------------

TEST(Attack, PR_06d_no_limit_or_priority_of_supervisor_warden_or_host_can_be_changed) {
  NEEDS_ATTACKER();
  as_each_user([](const temporary_folder& base) {
    differences found;
    at_each_level(base, [&](auto& env, std::string level) -> awaitable<void> {
      const std::string at = level + " ";
      co_await env.run_command(argv("true"));
      const pid_t warden = own_wardens().front().pid;
      std::vector<pid_t> pids = supervisors_of(warden);
      pids.push_back(warden);
      pids.push_back(::getpid());
      const std::string before = limits_of(pids) + scheduling_of(pids);
      const std::string host = std::to_string(::getpid());
      const std::string its_warden = std::to_string(warden);
      for (const std::string abi : {"64", "upper", "i386", "x32"}) {
#if !defined(__x86_64__)
        if (abi != "64") continue;
#endif
        command_result result =
            co_await env.run_command(attack("limit", abi, "0", "15", "0", "0", "parent", its_warden, host));
        found.expect(at + abi, result.out().text(), times(48, "1"));
        result = co_await env.run_command(attack("starve", abi, "parent", its_warden, host));
        found.expect(at + abi + " scheduling", result.out().text(), times(21, "1"));
      }
      found.expect(at + "limits", limits_of(pids) + scheduling_of(pids), before);
      // A guest may still read limits of other processes, and set its own.
      command_result same = co_await env.run_command(attack("same", "parent"));
      std::string expected;
      for (int i = 0; i < 16; ++i) expected += "ok 1 ";
      found.expect(at + "reading", same.out().text(), expected + "\n");
      command_result own = co_await env.run_command(attack("own"));
      found.expect(at + "own", own.out().text(), "ok 77 \n");
      // It may also change its own scheduling.
      command_result calm = co_await env.run_command(attack("starve", "64", "0"));
      found.expect(at + "own scheduling", calm.out().text(), times(5, "ok"));
    });
    return found.text();
  });
}

TEST(Attack, PR_06d_control_without_the_filter_every_limit_of_theirs_can_be_set) {
  NEEDS_ATTACKER();
  as_each_user([](const temporary_folder& base) {
    differences found;
    run([&]() -> awaitable<void> {
      warden_session session = co_await open_session(base, kernels_own, false);
      const pid_t warden = static_cast<pid_t>(session.hello().pid());
      const std::string host = std::to_string(::getpid());
      command_result same = co_await run_in(session, attack("same", "parent", std::to_string(warden), host));
      found.expect("set", same.out().text(), times(96, "ok"));
      const auto queue_of = [](pid_t pid) {
        const std::string text = read_proc("/proc/" + std::to_string(pid) + "/limits");
        const std::size_t line = text.find("Max msgqueue size");
        return text.substr(line, text.find('\n', line) - line).find(" 7 ") != std::string::npos;
      };
      co_await run_in(session, attack("limit", "64", "12", "12", "7", "7", "parent", std::to_string(warden), host));
      found.expect("the warden's limit", queue_of(warden));
      found.expect("the host's limit", queue_of(::getpid()));
      const std::string calm = scheduling_of({warden});
      command_result starved = co_await run_in(session, attack("starve", "64", "parent", std::to_string(warden)));
      found.expect("starving", starved.out().text(), times(14, "ok"));
      found.expect("the warden's scheduling", scheduling_of({warden}) != calm);
      co_await session.close();
    });
    return found.text();
  });
}

// Another program of the same user could set the limit too, so the filter of system calls is not enough. A supervisor
// whose limit of open files is exceeded must still end its command, with the descriptors that it opened at its start.
TEST(Attack, PR_06d_a_supervisor_that_can_open_nothing_ends_its_command_in_time) {
  NEEDS_ATTACKER();
  const std::string marker = new_marker();
  const std::string attacks = attacker::instance().path() + " limit 64 7 7 5 5 ";
  const std::string lines[] = {
      attacks + "$PPID; sleep M",
      attacks +
          "$PPID; trap '' TERM; (setsid sh -c 'trap \"\" TERM; (setsid sleep M &); sleep M; sleep M' &); sleep M; "
          "sleep M",
      attacks + "$PPID; b() { if [ $1 -gt 0 ]; then b $(($1-1)) & b $(($1-1)) & fi; sleep M & wait; }; b 5",
      attacks + "$PPID; kill -STOP $PPID; setsid setsid setsid sleep M & sleep M",
      attacks + "$PPID WARDEN; trap '' TERM; (setsid sleep M &); sleep M; sleep M",
  };
  as_each_user([&](const temporary_folder& base) {
    differences found;
    for (std::string line : lines) {
      line = with_marker(line, marker);
      run([&]() -> awaitable<void> {
        warden_session session = co_await open_session(base, 0, false);
        const std::size_t place = line.find("WARDEN");
        const bool warden_too = place != std::string::npos;
        if (warden_too) line.replace(place, 6, std::to_string(session.hello().pid()));
        command_result result = co_await run_in(session, shell(line).timeout(400ms));
        found.expect(line, std::string(to_string(result.kind())), "timeout");
        found.expect(line + " left: " + shown(marked(marker)), marked(marker).empty());
        found.expect(line + ": late", result.duration() < 10s);
        if (!warden_too) {
          command_result after = co_await run_in(session, shell("echo again"));
          // The limited supervisor may get the next command. It then reports a failure, and the warden replaces it.
          if (after.out().text() != "again\n") after = co_await run_in(session, shell("echo again"));
          found.expect(line + ": then", after.out().text(), "again\n");
        }
        co_await session.close();
      });
      found.expect("the warden goes on", eventually([] { return own_wardens().empty(); }, 10s));
    }
    return found.text();
  });
  EXPECT_EQ(shown(marked(marker)), "");
  kill_marked(marker);
}

TEST(Attack, PR_06d_deadlines_hold_when_a_guest_starves_those_who_watch) {
  NEEDS_ATTACKER();
  const std::string marker = new_marker();
  as_each_user([&](const temporary_folder& base) {
    differences found;
    run([&]() -> awaitable<void> {
      const auto body = [&](auto& env) -> awaitable<void> {
        co_await env.run_command(argv("true"));
        const std::string warden = std::to_string(own_wardens().front().pid);
        const std::string program = attacker::instance().path();
        const std::string line = program + " starve 64 $PPID parent " + warden + "; " + program + " spin 12 " + marker;
        command_result result = co_await env.run_command(shell(line).timeout(500ms));
        found.expect("kind", std::string(to_string(result.kind())), "timeout");
        found.expect("attack", result.out().text(), times(21, "1"));
        found.expect("left: " + shown(marked(marker)), marked(marker).empty());
        found.expect("late: " + std::to_string(result.duration() / 1ms) + " ms", result.duration() < 20s);
        command_result after = co_await env.run_command(shell("echo again"));
        found.expect("then", after.out().text(), "again\n");
      };
      co_await with(provider(base, kernels_own), std::ref(body));
    });
    return found.text();
  });
  kill_marked(marker);
}

// ---- PR-06e: a guest sets limits, and the host dies afterwards ------------------------------------------------------

namespace {

/// Returns the warden and the supervisors of the only jail that this program has open, by the host's numbers.
std::vector<pid_t> watchers_in_the_jail() {
  std::set<pid_t> inside;
  for (const process_entry& entry : cofferdam_test::own_bubblewraps()) inside.insert(entry.pid);
  std::vector<pid_t> found;
  for (bool grown = true; grown;) {
    grown = false;
    for (const process_entry& entry : process_table()) {
      if (!inside.contains(entry.parent) || !inside.insert(entry.pid).second) continue;
      grown = true;
      if (is_warden(entry.pid)) found.push_back(entry.pid);
    }
  }
  return found;
}

/// Returns the recipe of a jail that shows the attacker's program, in its workspace.
cofferdam::jail jail_with_attacker(const cofferdam_test::attack_folder& base, unsigned landlock) {
  std::filesystem::copy(attacker::instance().path(), base.workspace() / "attacker",
                        std::filesystem::copy_options::overwrite_existing);
  return cofferdam::jail()
      .temporary_base(base.path())
      .workspace(base.workspace())
      .landlock(landlock)
      .kill_grace(50ms)
      .output_grace(50ms);
}

}  // namespace

TEST(Attack, PR_06d_in_the_jail_no_limit_of_supervisor_or_warden_can_be_changed) {
  NEEDS_ATTACKER();
  COFFERDAM_NEEDS("bubblewrap", cofferdam_test::has_jail(), "the attacks in the jail");
  for (const unsigned level : {kernels_own, 0U}) {
    const cofferdam_test::attack_folder base("jail");
    run([&]() -> awaitable<void> {
      const auto body = [&](auto& env) -> awaitable<void> {
        co_await env.run_command(argv("true"));
        const std::vector<pid_t> pids = watchers_in_the_jail();
        EXPECT_GE(pids.size(), 2U) << "a warden and a supervisor";
        const std::string before = limits_of(pids);
        command_result result =
            co_await env.run_command(shell("for p in 1 $PPID; do ./attacker limit 64 0 15 0 0 $p; done"));
        EXPECT_EQ(result.out().text(), times(16, "1") + times(16, "1"));
        EXPECT_EQ(limits_of(pids), before);
        command_result after = co_await env.run_command(shell("echo again"));
        EXPECT_EQ(after.out().text(), "again\n");
      };
      co_await with(jail_with_attacker(base, level), std::ref(body));
    });
  }
}

TEST(Attack, PR_06e_in_the_jail_nothing_outlives_a_host_whose_guest_has_limited_everybody) {
  NEEDS_ATTACKER();
  COFFERDAM_NEEDS("bubblewrap", cofferdam_test::has_jail(), "the attacks in the jail");
  const std::string marker = new_marker();
  const std::string line = with_marker(
      "for p in 1 $PPID; do ./attacker limit 64 0 15 0 0 $p; ./attacker limit 64 7 7 5 5 $p; done; ./attacker starve "
      "64 1 "
      "$PPID; (setsid sh -c 'trap \"\" TERM; (setsid sleep M &); sleep M; sleep M' &); echo > up; sleep M",
      marker);
  const cofferdam_test::attack_folder base("jail");
  const orphanage orphans;
  forked_program host([&](int) {
    run([&]() -> awaitable<void> {
      const auto body = [&](auto& env) -> awaitable<void> { co_await env.run_command(shell(line).timeout(60s)); };
      co_await with(jail_with_attacker(base, 0), std::ref(body));
    });
  });
  EXPECT_TRUE(eventually([&] { return base.has("w/up") && marked(marker).size() >= 3; }, 30s)) << host.line(0ms);
  host.kill();
  const bool gone = eventually([&] { return orphans.is_empty() && marked(marker).empty(); }, 20s);
  EXPECT_TRUE(gone) << shown(orphans.living()) << shown(marked(marker));
  kill_marked(marker);
}

TEST(Attack, PR_06e_nothing_outlives_a_host_whose_guest_has_limited_everybody) {
  NEEDS_ATTACKER();
  const std::string marker = new_marker();
  const std::string program = attacker::instance().path();
  const std::string leaves =
      "; (setsid sh -c 'trap \"\" TERM; (setsid sleep M &); sleep M; sleep M' &); echo > UP; sleep M";
  struct hostile_line {
    bool filter;
    std::string line;
  };
  const hostile_line ways[] = {
      {true, program + " limit 64 0 15 0 0 $PPID WARDEN HOST" + leaves},
      {true, program + " limit 64 7 7 5 5 $PPID WARDEN HOST" + leaves},
      {true, program + " starve 64 $PPID WARDEN HOST; " + program + " spin 3 M &" + leaves.substr(1)},
      {false, program + " limit 64 7 7 5 5 $PPID" + leaves},
      {false, program + " limit 64 7 7 5 5 $PPID WARDEN" + leaves},
  };
  for (const bool as_root : {true, false}) {
    if (as_root ? ::geteuid() != 0 : ::geteuid() == 0 && !spare_user::instance().is_there()) continue;
    for (const unsigned level : levels) {
      for (const hostile_line& way : ways) {
        SCOPED_TRACE((as_root ? "root, " : "user, ") + level_name(level) + ", " + way.line);
        const temporary_folder base;
        if (!as_root) spare_user::instance().own(base);
        const orphanage orphans;
        forked_program host([&](int) {
          if (!as_root) spare_user::instance().become();
          run([&]() -> awaitable<void> {
            warden_session session = co_await open_session(base, level, way.filter);
            std::string line = with_marker(way.line, marker);
            const auto put = [&line](const std::string& name, const std::string& value) {
              const std::size_t at = line.find(name);
              if (at != std::string::npos) line.replace(at, name.size(), value);
            };
            put("WARDEN", std::to_string(session.hello().pid()));
            put("HOST", std::to_string(::getpid()));
            put("UP", (base.path() / "up").string());
            const command c = shell(line).timeout(60s);
            process running = co_await session.start(shell(line).timeout(60s), plain_request(c));
            co_await pause_for(60s);
          });
        });
        EXPECT_TRUE(eventually([&] { return base.has("up"); }, 30s)) << host.line(0ms);
        EXPECT_TRUE(is_alive(host.pid()));
        EXPECT_TRUE(eventually([&] { return marked(marker).size() >= 3; }));
        const auto begin = clock::now();
        host.kill();
        const bool gone = eventually([&] { return orphans.is_empty() && marked(marker).empty(); }, 20s);
        EXPECT_TRUE(gone) << shown(orphans.living()) << shown(marked(marker));
        EXPECT_LT(clock::now() - begin, 20s);
      }
    }
  }
  kill_marked(marker);
}

TEST(Attack, PR_06e_control_a_host_that_watches_alone_is_ended_by_a_limit_and_its_guest_goes_on) {
  NEEDS_ATTACKER();
  const std::string marker = new_marker();
  const temporary_folder base;
  spare_user::instance().own(base);
  {
    forked_program host([&](int) {
      spare_user::instance().become();
      run([&]() -> awaitable<void> {
        const auto body = [&](auto& env) -> awaitable<void> {
          process running =
              co_await env.start(shell(attacker::instance().path() + " limit 64 0 0 0 0 $PPID; exec sleep " + marker));
          volatile unsigned long turns = 0;
          // The limit counts processor time, so the host must keep the processor busy.
          for (;;) turns = turns + 1;
        };
        co_await with(provider(base, kernels_own).warden(warden_policy::never), std::ref(body));
      });
    });
    EXPECT_TRUE(eventually([&] { return process_of(host.pid()).state == 'Z'; }, 30s)) << "the host lives";
    EXPECT_FALSE(marked(marker).empty());
  }
  kill_marked(marker);
}

// ---- PR-22: a guest lets the host's core handler run ----------------------------------------------------------------

namespace {

/// The interfaces of this machine, and the answers of `attacker core`: each call by each of them.
#if defined(__x86_64__)
constexpr const char* every_abi = "64 i386 x32";
constexpr const char* ignored_by_every_abi = "ok ok 1 ok ok 1 ok ok 1 1 1\n";
#else
constexpr const char* every_abi = "64";
constexpr const char* ignored_by_every_abi = "ok ok 1 1 1\n";
#endif

}  // namespace

// With a soft limit of 0, the kernel runs the program in core_pattern(5); with 1, it does not.
TEST(Attack, PR_22_no_command_can_let_the_core_handler_of_the_host_run) {
  NEEDS_ATTACKER();
  as_each_user([](const temporary_folder& base) {
    differences found;
    at_each_level(base, [&](auto& env, std::string level) -> awaitable<void> {
      const std::string calls = attacker::instance().path() + " core " + every_abi;
      command_result result = co_await env.run_command(shell(calls));
      found.expect(level + " limits", result.out().text(), ignored_by_every_abi);
      // Programs that switch core files off succeed.
      result = co_await env.run_command(shell("ulimit -c 0 && echo fine"));
      found.expect(level + " ulimit", result.out().text(), "fine\n");
    });
    run([&]() -> awaitable<void> {
      warden_session session = co_await open_session(base, kernels_own, false);
      command_result control = co_await run_in(session, attack("core", "64"));
      found.expect("the control, without the filter", control.out().text(), "ok ok ok 0 0\n");
      co_await session.close();
    });
    return found.text();
  });
}

TEST(Attack, PR_22_in_the_jail_no_command_can_let_the_core_handler_of_the_host_run) {
  NEEDS_ATTACKER();
  COFFERDAM_NEEDS("bubblewrap", cofferdam_test::has_jail(), "the attacks in the jail");
  const cofferdam_test::attack_folder base("jail");
  run([&]() -> awaitable<void> {
    const auto body = [&](auto& env) -> awaitable<void> {
      command_result result = co_await env.run_command(shell("./attacker core 64"));
      EXPECT_EQ(result.out().text(), "ok ok 1 1 1\n");
    };
    co_await with(jail_with_attacker(base, kernels_own), std::ref(body));
  });
}

// ---- EN-01: the host's secrets --------------------------------------------------------------------------------------

namespace {

/// Returns a list of what a guest can steal from its host. The host has a secret in its environment and one in its
/// memory, and holds a socket.
std::string loot_of(const temporary_folder& base, unsigned landlock, bool filter, bool undumpable = false) {
  static char secret[64];
  std::snprintf(secret, sizeof secret, "hush-%d-memory", static_cast<int>(::getpid()));
  // /proc shows the environment that this program had when it started.
  const std::string environment = read_proc("/proc/self/environ");
  const std::string known = environment.substr(0, environment.find('\0'));
  if (undumpable) ::prctl(PR_SET_DUMPABLE, 0);
  std::string loot;
  run([&]() -> awaitable<void> {
    warden_session session = co_await open_session(base, landlock, filter);
    const std::string host = std::to_string(::getpid());
    const std::string address = std::to_string(reinterpret_cast<std::uintptr_t>(secret));
    command_result env = co_await run_in(session, attack("environ", host));
    if (known.size() < 5 || env.out().text().find(known) != std::string::npos) loot += "environment ";
    command_result mem = co_await run_in(session, attack("memory", host, address, "32"));
    if (mem.out().text().find(secret) != std::string::npos) loot += "mem ";
    command_result vm = co_await run_in(session, attack("vm", host, address, "32"));
    if (vm.out().text().find(secret) != std::string::npos) loot += "vm ";
    command_result stolen = co_await run_in(session, attack("take", host));
    if (stolen.out().text() != "refused\n") loot += "socket ";
    command_result traced = co_await run_in(session, attack("trace", host));
    if (traced.out().text() != "1 \n") loot += "trace ";
    command_result compared = co_await run_in(session, attack("compare", host));
    if (compared.out().text() != "1 \n") loot += "kcmp ";
    command_result plain = co_await run_in(session, argv("true"));
    loot += "(" + std::string(plain.isolation().of(isolation_kind::secrets)) + ")";
    co_await session.close();
  });
  return loot;
}

/// Returns true if the kernel's Yama module is active. Many distributions enable it, and it keeps ordinary users from
/// tracing processes that are not their children.
bool has_yama() {
  const std::string scope = read_proc("/proc/sys/kernel/yama/ptrace_scope");
  return !scope.empty() && scope[0] != '0';
}

bool has_landlock(unsigned version) {
  const temporary_folder base;
  std::string secrets;
  run([&]() -> awaitable<void> {
    const auto body = [&](auto& env) -> awaitable<void> {
      command_result result = co_await env.run_command(argv("true"));
      secrets = result.isolation().of(version >= 6 ? isolation_kind::signals : isolation_kind::secrets);
    };
    co_await with(provider(base, version), std::ref(body));
  });
  return secrets.starts_with("Landlock");
}

}  // namespace

TEST(Attack, EN_01_a_guest_reads_no_environment_and_no_memory_and_takes_no_socket_of_its_host) {
  NEEDS_ATTACKER();
  COFFERDAM_NEEDS("landlock-scope", has_landlock(6), "that the host's secrets cannot be read (Linux 5.19, 6.12)");
  for (const unsigned level : {kernels_own, 5U, 2U}) {
    SCOPED_TRACE(level_name(level));
    as_each_user([&](const temporary_folder& base) {
      differences found;
      for (const bool filter : {true, false}) {
        std::string loot = loot_of(base, level, filter);
        // For root the result depends on the kernel, as the isolation report says.
        if (::geteuid() == 0) {
          if (loot.starts_with("environment ")) loot.erase(0, 12);
          found.expect("loot", loot, "(Landlock: the environment may be readable, because commands run as root)");
        } else {
          found.expect("loot", loot, "(Landlock: not readable)");
        }
      }
      return found.text();
    });
  }
}

TEST(Attack, EN_01_without_landlock_the_report_says_what_can_be_read_and_sockets_stay) {
  NEEDS_ATTACKER();
  COFFERDAM_NEEDS("no-yama", !has_yama(), "what a kernel without Yama lets be read");
  for (const unsigned level : {0U, 1U})
    as_each_user([&](const temporary_folder& base) {
      differences found;
      found.expect("loot", loot_of(base, level, true), "environment mem (readable)");
      return found.text();
    });
}

TEST(Attack, EN_01_without_landlock_an_ordinary_users_undumpable_host_keeps_its_secrets) {
  NEEDS_ATTACKER();
  COFFERDAM_NEEDS("root", ::geteuid() != 0 || spare_user::instance().is_there(), "hosts of ordinary users");
  const temporary_folder base;
  EXPECT_EQ(in_spare_host(base, [&] { return loot_of(base, 0, true, true); }), "(not readable while not dumpable)");
}

TEST(Attack, EN_01_control_without_landlock_and_filter_everything_can_be_had) {
  NEEDS_ATTACKER();
  COFFERDAM_NEEDS("no-yama", !has_yama(), "what a kernel without Yama lets be read");
  as_each_user([](const temporary_folder& base) {
    differences found;
    found.expect("loot", loot_of(base, 0, false), "environment mem vm socket trace kcmp (readable)");
    return found.text();
  });
}

TEST(Attack, EN_01_tracing_ones_own_child_works_where_landlock_holds_or_it_is_allowed) {
  NEEDS_ATTACKER();
  COFFERDAM_NEEDS("landlock-scope", has_landlock(6), "that a guest can trace its own");
  as_each_user([](const temporary_folder& base) {
    differences found;
    const auto traced = [&](unsigned level, cofferdam::tracing_policy policy) {
      std::string text;
      run([&]() -> awaitable<void> {
        warden_session session = co_await open_session(base, level, true, policy);
        command_result result = co_await run_in(session, attack("trace", "0"));
        text = result.out().text();
        co_await session.close();
      });
      return text;
    };
    for (const unsigned level : {kernels_own, 2U})
      found.expect(level_name(level), traced(level, cofferdam::tracing_policy::contained), "ok \n");
    found.expect("0", traced(0, cofferdam::tracing_policy::contained), "1 \n");
    found.expect("0, allowed", traced(0, cofferdam::tracing_policy::allowed), "ok \n");
    return found.text();
  });
}

// ---- PR-10: many hostile runs ---------------------------------------------------------------------------------------

namespace {

/// Returns shell lines that attack the processes that watch the command. Every line must be ended by its time limit.
/// H stands for the host's pid, W for the warden's, and M for the marker.
std::vector<std::string> robberies(const std::string& marker) {
  const std::string program = attacker::instance().path();
  std::vector<std::string> lines = {
      program + " limit 64 0 15 0 0 parent $PPID W H; (setsid sleep M &); sleep M",
      program + " limit 64 7 7 5 5 $PPID W H; trap '' TERM; setsid sh -c 'setsid sleep M & sleep M' & sleep M; sleep M",
      program + " limit 64 0 0 0 0 $PPID W H; while :; do kill -CHLD $PPID 2>/dev/null; sleep 0.01; done # M",
      program + " starve 64 $PPID W; (setsid sleep M &); " + program + " spin 2 M",
      program + " take H; " + program + " take W; " + program + " vm H 4096 16; (setsid sleep M &); exit 3",
      program + " environ H > /dev/null; " + program + " trace W; " + program + " trace $PPID; exit 4",
      program +
          " limit 64 6 6 1 1 $PPID W H; b() { if [ $1 -gt 0 ]; then b $(($1-1)) & b $(($1-1)) & fi; sleep M & "
          "wait; }; b 3",
      "echo 1000 > /proc/W/oom_score_adj; echo 1 > /proc/W/coredump_filter; echo 999999999 > /proc/W/timerslack_ns; "
      "(setsid sleep M &); exit 5",
  };
#if defined(__x86_64__)
  lines.push_back(program + " limit i386 0 15 0 0 $PPID W H; " + program +
                  " limit x32 0 15 0 0 $PPID W H; kill -STOP $$; sleep M");
#endif
  for (std::string& line : lines) line = with_marker(line, marker);
  return lines;
}

std::string with_numbers(std::string line, pid_t warden) {
  const auto put = [&line](const std::string& name, pid_t number) {
    for (std::size_t at = 0; (at = line.find(name, at)) != std::string::npos;)
      line.replace(at + 1, 1, std::to_string(number));
  };
  put(" H", ::getpid());
  put(" W", warden);
  put("/W/", warden);
  return line;
}

}  // namespace

TEST(Attack, PR_10_runs_that_limit_starve_and_rob_leave_the_machine_as_it_was) {
  NEEDS_ATTACKER();
  const std::size_t of_each = cofferdam_test::is_soak() ? 1'670 : 50;
  const std::string marker = new_marker();
  const std::vector<std::string> lines = robberies(marker);
  std::size_t total = 0;
  const auto begin = clock::now();
  for (const bool as_root : {true, false}) {
    if (as_root ? ::geteuid() != 0 : ::geteuid() == 0 && !spare_user::instance().is_there()) continue;
    for (const unsigned level : levels) {
      SCOPED_TRACE((as_root ? "root, " : "user, ") + level_name(level));
      const temporary_folder base;
      if (!as_root) spare_user::instance().own(base);
      const orphanage orphans;
      forked_program host([&](int words) {
        ::alarm(7000);
        if (!as_root) spare_user::instance().become();
        run([&]() -> awaitable<void> { co_await pause_for(1ms); });
        const census at_first = census::take(base.path());
        std::size_t next = 0;
        std::string wrong;
        while (next < of_each) {
          run([&]() -> awaitable<void> {
            const auto body = [&](auto& env) -> awaitable<void> {
              co_await env.run_command(argv("true"));
              const pid_t warden = own_wardens().front().pid;
              const std::size_t count = std::min<std::size_t>(10, of_each - next);
              std::size_t ended = 0;
              const auto run_one = [&](std::size_t number) -> awaitable<void> {
                const std::string line = with_numbers(lines[number % lines.size()], warden);
                command_result result = co_await env.run_command(shell(line).timeout(150ms));
                const bool fine = result.kind() == error_kind::timeout || result.exit_code() > 0;
                if (!fine) wrong += line + ": " + std::string(to_string(result.kind())) + "; ";
              };
              for (std::size_t i = 0; i < count; ++i) {
                const auto start = [&run_one, number = next + i] { return run_one(number); };
                cofferdam_test::spawn(co_await asio::this_coro::executor, start, [&](std::exception_ptr failure) {
                  if (failure) wrong += "threw; ";
                  ++ended;
                });
              }
              while (ended < count) co_await pause_for(5ms);
              next += count;
            };
            co_await with(provider(base, level).kill_grace(5ms).output_grace(5ms), std::ref(body));
          });
        }
        eventually([&] { return census::take(base.path()) == at_first; });
        std::ostringstream report;
        const census at_last = census::take(base.path());
        report << wrong;
        if (at_last != at_first) report << "before " << at_first << "; after " << at_last;
        if (!marked(marker).empty()) report << "left: " << shown(marked(marker));
        std::string text = report.str();
        std::replace(text.begin(), text.end(), '\n', ' ');
        forked_program::say(words, "results: " + text + "\n");
        ::pause();
      });
      EXPECT_EQ(host.line(std::chrono::milliseconds(6000s)), "results: ");
      EXPECT_TRUE(is_alive(host.pid()));
      host.kill();
      EXPECT_TRUE(eventually([&] { return orphans.is_empty() && marked(marker).empty(); }, 5s))
          << shown(orphans.living()) << shown(marked(marker));
      total += of_each;
    }
  }
  std::cout << total << " runs in " << (clock::now() - begin) / 1ms << " ms\n";
  kill_marked(marker);
}

}  // namespace pr_guard_tests
