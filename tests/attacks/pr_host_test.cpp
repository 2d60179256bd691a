// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks PR-11 to 14, 16, 19, 20 and 22 of the project's catalogue of attacks: the state that a guest (a process
// that a command started) inherits from its host, and the harm that it can do to the host, over `local` and in the
// jail. The tests check the host's process table. `naive_runner` and a plain `fork` are the controls.

#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/with.hpp>

#include "support/attack_place.hpp"
#include "support/census.hpp"
#include "support/forked_host.hpp"
#include "support/naive_runner.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

namespace pr_host_tests {

namespace {

using asio::awaitable;
using cofferdam::any_provider;
using cofferdam::argv;
using cofferdam::bytes;
using cofferdam::command;
using cofferdam::command_result;
using cofferdam::error_kind;
using cofferdam::exec_errc;
using cofferdam::process;
using cofferdam::shell;
using cofferdam::with;
using cofferdam_test::attack_folder;
using cofferdam_test::eventually;
using cofferdam_test::guests_of;
using cofferdam_test::in_forked_host;
using cofferdam_test::kill_guests_of;
using cofferdam_test::naive_runner;
using cofferdam_test::process_entry;
using cofferdam_test::read_proc;
using cofferdam_test::run;
using cofferdam_test::temporary_folder;
using namespace std::chrono_literals;
using namespace std::string_literals;

using clock = std::chrono::steady_clock;

any_provider provider(const attack_folder& base) { return base.provider(100ms, 100ms); }

command_result result_of(const attack_folder& base, command c) {
  const auto body = [&](auto& env) -> awaitable<command_result> {
    command_result result = co_await env.run_command(c);
    co_return result;
  };
  return run([&]() -> awaitable<command_result> {
    command_result result = co_await with(provider(base), std::ref(body));
    co_return result;
  });
}

/// Starts `sleep` in an environment, and calls `look` with its pid.
template <class Look>
void look_at_a_guest(const attack_folder& base, Look look) {
  const auto body = [&](auto& env) -> awaitable<void> {
    process running = co_await env.start(argv("sleep", "60"));
    std::vector<process_entry> guests;
    eventually([&] {
      guests = guests_of(base.path());
      return guests.size() == 1 && guests.front().name == "sleep";
    });
    if (guests.size() == 1) look(guests.front().pid);
    running = process();
  };
  run([&]() -> awaitable<void> { co_await with(provider(base), std::ref(body)); });
}

class PrHostAttack : public cofferdam_test::attack_places {};
INSTANTIATE_TEST_SUITE_P(Places, PrHostAttack, cofferdam_test::in_places("local", "jail"), cofferdam_test::place_name);

std::string proc_file(pid_t pid, const std::string& name) { return "/proc/" + std::to_string(pid) + "/" + name; }

/// Returns the number and the target of each open descriptor of a process.
std::set<std::string> descriptors_of(pid_t pid) {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(proc_file(pid, "fd")))
    found.insert(entry.path().filename().string() + " " + std::filesystem::read_symlink(entry.path()).string());
  return found;
}

std::string line_of(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(name);
  if (at == std::string::npos) return "no " + name;
  const std::size_t start = text.find_first_not_of(" \t:", at + name.size());
  return text.substr(start, text.find('\n', start) - start);
}

/// Opens 200 descriptors without O_CLOEXEC, one of them of a secret file. The destructor closes them.
class leaky_host {
 public:
  explicit leaky_host(const std::filesystem::path& secret) {
    fds_.push_back(::open(secret.c_str(), O_RDONLY));
    while (fds_.size() < 200) fds_.push_back(::open("/dev/zero", O_RDONLY));
  }
  leaky_host(const leaky_host&) = delete;
  leaky_host& operator=(const leaky_host&) = delete;
  ~leaky_host() {
    for (const int fd : fds_) ::close(fd);
  }

 private:
  std::vector<int> fds_;
};

}  // namespace

TEST_P(PrHostAttack, PR_11_descriptors_of_the_host_do_not_reach_the_guest) {
  const attack_folder base(GetParam());
  const temporary_folder elsewhere;
  const leaky_host host(elsewhere.write("secret", "canary"));
  std::set<std::string> descriptors;
  look_at_a_guest(base, [&](pid_t pid) { descriptors = descriptors_of(pid); });
  ASSERT_EQ(descriptors.size(), 3U);
  EXPECT_EQ(*descriptors.begin(), "0 /dev/null");
  for (const std::string& descriptor : descriptors)
    EXPECT_TRUE(descriptor[0] == '0' || descriptor.find("pipe:") != std::string::npos) << descriptor;
}

TEST(Attack, PR_11_control_a_plain_fork_hands_the_secret_over) {
  const temporary_folder base;
  const temporary_folder elsewhere;
  const leaky_host host(elsewhere.write("secret", "canary"));
  naive_runner naive("for f in /proc/self/fd/*; do case $(readlink $f) in */secret) cat $f;; esac; done", base.path());
  EXPECT_TRUE(naive.finish(20s));
  EXPECT_EQ(naive.text(), "canary");
}

namespace {

/// Starts a guest from a host with blocked and ignored signals, a strict umask and a low limit of open files. Returns
/// the guest's state of each, read from /proc. `naively` selects a plain fork instead of an environment.
std::string guest_of_odd_host(const attack_folder& base, bool naively) {
  return in_forked_host([&] {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    for (const int number : {SIGPIPE, SIGHUP, SIGINT, SIGTERM, SIGUSR1}) ::sigaction(number, &ignore, nullptr);
    sigset_t every_signal;
    ::sigfillset(&every_signal);
    ::pthread_sigmask(SIG_SETMASK, &every_signal, nullptr);
    ::umask(0777);
    rlimit few{};
    ::getrlimit(RLIMIT_NOFILE, &few);
    few.rlim_cur = 128;
    ::setrlimit(RLIMIT_NOFILE, &few);
    std::string report = "no guest";
    const auto look = [&](pid_t pid) {
      const std::string status = read_proc(proc_file(pid, "status"));
      report = "blocked " + line_of(status, "SigBlk") + " ignored " + line_of(status, "SigIgn") + " umask " +
               line_of(status, "Umask") + " files " +
               line_of(read_proc(proc_file(pid, "limits")), "Max open files").substr(0, 5);
    };
    if (naively) {
      naive_runner naive("exec sleep 60", base.path());
      eventually([&] { return cofferdam_test::process_of(naive.pid()).name == "sleep"; });
      look(naive.pid());
    } else {
      // This is the strictest umask under which an ordinary user can still create folders.
      ::umask(0077);
      look_at_a_guest(base, look);
    }
    return report;
  });
}

}  // namespace

TEST_P(PrHostAttack, PR_12_a_guest_starts_clean_whatever_the_hosts_signals_umask_and_limits) {
  const attack_folder base(GetParam());
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  COFFERDAM_NEEDS("nofile", files.rlim_max >= 1024, "a guest is given the usual limit on open files");
  EXPECT_EQ(guest_of_odd_host(base, false), "blocked 0000000000000000 ignored 0000000000000000 umask 0022 files 1024 ");
}

TEST(Attack, PR_12_control_a_plain_fork_hands_them_over) {
  const attack_folder base("local");
  const std::string report = guest_of_odd_host(base, true);
  EXPECT_EQ(report.find("blocked 0000000000000000"), std::string::npos) << report;
  EXPECT_EQ(report.find("ignored 0000000000000000"), std::string::npos) << report;
  EXPECT_NE(report.find("umask 0777 files 128"), std::string::npos) << report;
}

TEST_P(PrHostAttack, PR_12_a_host_that_ignores_sigchld_gets_exact_results_or_is_told_why_not) {
  const attack_folder base(GetParam());
  const attack_folder unwatched("no_warden");
  for (const bool by_flag : {false, true}) {
    for (const bool by_warden : {true, false}) {
      if (base.is_jail() && !by_warden) continue;
      const std::string report = in_forked_host([&] {
        struct sigaction action {};
        if (by_flag) {
          action.sa_handler = SIG_DFL;
          action.sa_flags = SA_NOCLDWAIT;
        } else {
          action.sa_handler = SIG_IGN;
        }
        ::sigaction(SIGCHLD, &action, nullptr);
        try {
          command_result result;
          run([&]() -> awaitable<void> {
            co_await with(provider(by_warden ? base : unwatched),
                          [&](auto& env) -> awaitable<void> { result = co_await env.run_command(shell("exit 3")); });
          });
          return "exit code " + std::to_string(result.exit_code());
        } catch (const cofferdam::error& failure) {
          return (failure.code() == exec_errc::provider_failed ? "provider_failed: " : "another code: ") +
                 std::string(failure.what());
        }
      });
      if (by_warden) {
        EXPECT_EQ(report, "exit code 3");
      } else {
        EXPECT_EQ(report.find("provider_failed: "), 0U) << report;
        EXPECT_NE(report.find("ignores SIGCHLD"), std::string::npos) << report;
      }
    }
  }
  for (const attack_folder* folder : {&base, &unwatched}) {
    std::filesystem::remove(folder->workspace());
    EXPECT_TRUE(std::filesystem::is_empty(folder->path()));
  }
}

TEST_P(PrHostAttack, PR_12_and_PR_20_a_guest_has_no_terminal_although_the_host_has_one) {
  const attack_folder base(GetParam());
  // The attack uses perl, because the shell cannot make these calls. TIOCSTI types text for the user, and TIOCLINUX
  // pastes text, both through /dev/tty.
  const std::string attack =
      "exec 2>&1; (: < /dev/tty) && echo opened; stty -echo < /dev/tty; "
      "perl -e 'open(my $t, \"+<\", \"/dev/tty\") or die \"no tty\\n\"; my $c = \"x\"; print ioctl($t, 0x5412, $c) ? "
      "\"typed\\n\" : \"not typed\\n\"'; "
      "perl -e 'for my $n (0, 1, 2) { open(my $f, \"<&=\", $n); my $c = \"x\"; print \"typed by $n\\n\" if ioctl($f, "
      "0x5412, $c) }'";
  const auto attacked_host = [&](bool naively) {
    return in_forked_host([&] {
      const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
      if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return "no pty"s;
      ::setsid();
      const int terminal = ::open(::ptsname(master), O_RDWR);
      if (terminal < 0 || ::ioctl(terminal, TIOCSCTTY, 0) != 0) return "no terminal"s;
      ::dup2(terminal, 0);
      termios before{};
      ::tcgetattr(terminal, &before);
      std::string text;
      if (naively) {
        naive_runner naive(attack, base.path());
        naive.finish(20s);
        text = naive.text();
      } else {
        text = result_of(base, shell(attack)).out().text();
      }
      termios after{};
      ::tcgetattr(terminal, &after);
      int typed = 0;
      ::ioctl(terminal, FIONREAD, &typed);
      const bool changed = before.c_lflag != after.c_lflag;
      return (text.find("opened") != std::string::npos ? "opened " : "shut ") +
             std::string(changed ? "changed" : "unchanged");
    });
  };
  EXPECT_EQ(attacked_host(false), "shut unchanged");
  EXPECT_EQ(attacked_host(true), "opened changed") << "the control";
}

TEST_P(PrHostAttack, PR_13_each_way_to_end_is_told_apart) {
  const attack_folder base(GetParam());
  const auto body = [&](auto& env) -> awaitable<void> {
    for (int code = 0; code < 256; ++code) {
      command_result result = co_await env.run_command(argv("sh", "-c", "exit " + std::to_string(code)));
      EXPECT_EQ(result.exit_code(), code);
      EXPECT_EQ(result.term_signal(), 0);
      EXPECT_EQ(result.kind(), error_kind::none);
    }
    for (int number = 1; number <= 64; ++number) {
      const std::set<int> not_deadly = {SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH, 32, 33};
      if (not_deadly.contains(number)) continue;
      command_result result = co_await env.run_command(argv("sh", "-c", "kill -" + std::to_string(number) + " $$"));
      EXPECT_EQ(result.term_signal(), number);
      EXPECT_EQ(result.exit_code(), -1);
      EXPECT_EQ(result.kind(), error_kind::none);
    }
    command_result by_exit = co_await env.run_command(shell("exit 137"));
    command_result by_signal = co_await env.run_command(shell("kill -9 $$"));
    command_result by_time =
        co_await env.run_command(shell("trap '' TERM; while :; do sleep 0.01; done").timeout(50ms));
    EXPECT_TRUE(by_exit.exit_code() == 137 && by_exit.term_signal() == 0 && by_exit.kind() == error_kind::none);
    EXPECT_TRUE(by_signal.exit_code() == -1 && by_signal.term_signal() == 9 && by_signal.kind() == error_kind::none);
    EXPECT_TRUE(by_time.exit_code() == -1 && by_time.term_signal() == 9 && by_time.kind() == error_kind::timeout);
  };
  run([&]() -> awaitable<void> { co_await with(provider(base), std::ref(body)); });
}

TEST(Attack, PR_13_control_a_shells_status_makes_137_of_two_of_them) {
  const temporary_folder base;
  naive_runner by_exit("sh -c 'exit 137'; exit $?", base.path());
  naive_runner by_signal("sh -c 'kill -9 $$'; exit $?", base.path());
  EXPECT_TRUE(by_exit.finish(20s) && by_signal.finish(20s));
  EXPECT_EQ(WEXITSTATUS(by_exit.status()), 137);
  EXPECT_EQ(WEXITSTATUS(by_signal.status()), 137);
}

TEST_P(PrHostAttack, PR_14_what_cannot_be_started_is_named_with_the_systems_code) {
  const attack_folder base(GetParam());
  const std::filesystem::path programs = base.workspace();
  base.make_folder("w/directory");
  base.write("w/no_x", "#!/bin/sh\nexit 0\n", 0644);
  base.write("w/bad_shebang", "#!/cofferdam/no/such/interpreter\n", 0755);
  base.write("w/no_format", "exit 0\n", 0755);
  base.write("w/empty", "", 0755);
  std::filesystem::copy("/bin/true", programs / "busy");
  const int writer = ::open((programs / "busy").c_str(), O_WRONLY | O_CLOEXEC);
  for (const std::string name :
       {"missing", "directory", "no_x", "bad_shebang", "no_format", "empty", "busy", "directory/"}) {
    const std::string path = (programs / name).string();
    // Control: the expected value is the error of a plain fork and execve.
    const std::string expected = in_forked_host([&] {
      const char* words[] = {path.c_str(), nullptr};
      ::execv(path.c_str(), const_cast<char**>(words));
      return std::to_string(errno);
    });
    const command_result result = result_of(base, argv(path));
    EXPECT_EQ(result.kind(), error_kind::execution_error) << name;
    EXPECT_EQ(result.exit_code(), -1) << name << ": never a guessed 126 or 127";
    EXPECT_EQ(std::to_string(result.cause().value()), expected) << name;
    EXPECT_EQ(result.cause().category(), std::system_category());
    EXPECT_FALSE(result.reason().empty());
    EXPECT_FALSE(result.advice().empty()) << name;
  }
  ::close(writer);
}

TEST(Attack, PR_14_control_a_shell_guesses_126_or_127) {
  const temporary_folder base;
  naive_runner missing("/cofferdam/no/such/program", base.path());
  naive_runner said_so("exit 127", base.path());
  EXPECT_TRUE(missing.finish(20s) && said_so.finish(20s));
  EXPECT_EQ(missing.status(), said_so.status());
}

TEST_P(PrHostAttack, PR_16_input_that_is_never_read_blocks_nothing_and_raises_no_sigpipe) {
  const std::size_t size = (cofferdam_test::is_soak() ? 1024U : 64U) << 20U;
  const attack_folder base(GetParam());
  struct sigaction standard {};
  struct sigaction before {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(SIGPIPE, &standard, &before);
  const command_result early = result_of(base, shell("echo out; exit 3").input(bytes(size)).timeout(60s));
  EXPECT_EQ(early.exit_code(), 3);
  EXPECT_EQ(early.out().text(), "out\n");
  const command_result late = result_of(base, shell("echo out; sleep 0.3; exit 4").input(bytes(size)).timeout(60s));
  EXPECT_EQ(late.exit_code(), 4);
  const command_result never = result_of(base, shell("sleep 60").input(bytes(size)).timeout(200ms));
  EXPECT_EQ(never.kind(), error_kind::timeout);
  // Both sides write more than a pipe can hold. Code that writes all input before it reads any output would deadlock.
  const command_result both = result_of(base, shell("cat").input(bytes(size)).keep_output(0).timeout(60s));
  EXPECT_TRUE(both.ok());
  EXPECT_EQ(both.out().total(), size);
  ::sigaction(SIGPIPE, &before, nullptr);
}

TEST(Attack, PR_16_control_a_plain_write_dies_of_sigpipe) {
  const std::string report = in_forked_host([] {
    ::signal(SIGPIPE, SIG_DFL);
    int ends[2];
    if (::pipe(ends) != 0) return "no pipe"s;
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return std::to_string(::write(ends[1], "x", 1));
  });
  EXPECT_EQ(report, "died of signal 13");
}

TEST_P(PrHostAttack, PR_19_a_thousand_commands_at_once_on_one_thread_are_all_exact) {
  constexpr int commands = 1000;
  const attack_folder base(GetParam());
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  COFFERDAM_NEEDS("nofile", files.rlim_max >= 5000, "a thousand commands at once");
  rlimit many = files;
  many.rlim_cur = std::max<rlim_t>(files.rlim_cur, 5000);
  ::setrlimit(RLIMIT_NOFILE, &many);
  // Each command blocks when it opens this FIFO, until the host opens it for writing.
  base.make_fifo("w/gate");
  ::chmod((base.workspace() / "gate").c_str(), 0666);
  int exact = 0;
  std::size_t peak = 0;
  std::vector<double> late;
  const auto begin = clock::now();
  run(
      [&]() -> awaitable<void> {
        const asio::any_io_executor executor = co_await asio::this_coro::executor;
        const auto body = [&](auto& env) -> awaitable<void> {
          int ended = 0;
          bool counting = false;
          const auto run_one = [&](int number) -> awaitable<void> {
            const std::string text = std::to_string(number);
            command_result result =
                co_await env.run_command(argv("sh", "-c", "read go < \"$2\"; echo $0; echo $0 >&2; exit $1", text,
                                              std::to_string(number % 256), (base.workspace() / "gate").string()));
            if (result.out().text() == text + "\n" && result.err().text() == text + "\n" &&
                result.exit_code() == number % 256)
              ++exact;
            ++ended;
          };
          const auto probe = [&]() -> awaitable<void> {
            asio::steady_timer timer(executor);
            while (ended < commands) {
              const auto due = clock::now() + 2ms;
              timer.expires_at(due);
              co_await timer.async_wait(asio::use_awaitable);
              if (!counting) late.push_back(std::chrono::duration<double, std::milli>(clock::now() - due).count());
            }
          };
          bool probed = false;
          cofferdam_test::spawn(executor, std::ref(probe), [&](std::exception_ptr) { probed = true; });
          for (int number = 0; number < commands; ++number) {
            const auto start = [&run_one, number] { return run_one(number); };
            cofferdam_test::spawn(executor, start, [&](std::exception_ptr failure) { EXPECT_FALSE(failure); });
            co_await asio::post(asio::use_awaitable);
          }
          asio::steady_timer timer(executor);
          // Counting the processes blocks the event loop, so delays are not recorded meanwhile.
          counting = true;
          for (int i = 0; i < 100 && peak < commands; ++i) {
            peak = guests_of(base.path()).size();
            timer.expires_after(20ms);
            co_await timer.async_wait(asio::use_awaitable);
          }
          counting = false;
          const int gate = ::open((base.workspace() / "gate").c_str(), O_WRONLY | O_CLOEXEC);
          ::close(gate);
          while (ended < commands || !probed) {
            timer.expires_after(5ms);
            co_await timer.async_wait(asio::use_awaitable);
          }
        };
        co_await with(base.provider(100ms, 100ms, 4000), std::ref(body));
      },
      300s);
  ::setrlimit(RLIMIT_NOFILE, &files);
  const auto took = std::chrono::duration<double, std::milli>(clock::now() - begin).count();
  std::sort(late.begin(), late.end());
  ASSERT_FALSE(late.empty());
  std::cout << commands << " commands in " << took << " ms, " << peak << " at once; loop latency p50 "
            << late[late.size() / 2] << " ms, p99 " << late[late.size() * 99 / 100] << " ms, worst " << late.back()
            << " ms\n";
  EXPECT_EQ(exact, commands);
  EXPECT_EQ(peak, static_cast<std::size_t>(commands)) << "at once";
  EXPECT_LT(late[late.size() * 99 / 100], 1000) << "20 ms on a quiet machine";
}

TEST_P(PrHostAttack, PR_22_a_crash_leaves_no_core_dump) {
  const auto crash = [](bool naively, const std::string& place = "no_warden") {
    return in_forked_host([naively, place] {
      const attack_folder base(place);
      const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
      if (::setrlimit(RLIMIT_CORE, &unlimited) != 0) return "no core files here"s;
      if (naively) {
        if (::chdir(base.path().c_str()) != 0) return "no folder for the core file"s;
        naive_runner naive("kill -SEGV $$", base.path());
        naive.finish(20s);
        return std::string(WCOREDUMP(naive.status()) ? "dumped" : "not dumped");
      }
      std::string report = "nothing";
      const auto body = [&](auto& env) -> awaitable<void> {
        process running = co_await env.start(argv("sleep", "60"));
        std::vector<process_entry> guests;
        eventually([&] {
          guests = guests_of(base.path());
          return guests.size() == 1 && guests.front().name == "sleep";
        });
        const pid_t pid = guests.front().pid;
        report = line_of(read_proc(proc_file(pid, "limits")), "Max core file size").substr(0, 27);
        ::kill(pid, SIGSEGV);
        siginfo_t info{};
        ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
        // The process is not a child of this program. Instead of the wait status, the test checks the limit that the
        // kernel reports.
        if (base.has_warden())
          report = report.starts_with("1 ") ? "not dumped" : "limit: " + report;
        else
          report = info.si_code == CLD_DUMPED ? "dumped" : info.si_code == CLD_KILLED ? "not dumped" : "odd";
        command_result result = co_await running.wait();
        if (result.term_signal() != SIGSEGV) report = "not seen";
      };
      run([&]() -> awaitable<void> { co_await with(provider(base), std::ref(body)); });
      return report;
    });
  };
  EXPECT_EQ(crash(false, GetParam()), "not dumped");
  if (GetParam() == "local") {
    EXPECT_EQ(crash(false), "not dumped");
  }
  const std::string control = crash(true);
  if (control != "dumped")
    std::cout << "not proven here: the control (this machine dumps no cores: " << control << ")\n";
}

}  // namespace pr_host_tests
