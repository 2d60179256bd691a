// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Row PR-10 of the catalogue of attacks over the jail: many hosts run hostile commands, and one host of ten is killed
// in the middle. Afterwards the machine must be as it was: processes, zombies, descriptors, mounts, control groups and
// temporary folders. `./dev soak` makes it 10,000 commands.
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/os/control_group.hpp>

#include "support/census.hpp"
#include "support/hostile.hpp"
#include "support/jail_tests.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace jail_soak {

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::eventually;
using cofferdam_test::has_jail;
using cofferdam_test::open_folder;
using cofferdam_test::read_proc;
using cofferdam_test::result_of;
using cofferdam_test::run;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// A hostile command, and the kind of result that it must have.
class hostile_command {
 public:
  std::string line;
  error_kind kind = error_kind::none;
  int exit_code = 0;  ///< -1 means any
  std::chrono::milliseconds timeout = 30s;
};

/// Returns the commands. In their lines, M stands for the marker of this test's processes.
std::vector<hostile_command> hostile_commands() {
  return {
      {"exit 3", error_kind::none, 3},
      {"setsid sh -c 'setsid sleep M & exit 0' & exit 0"},
      {"(setsid sh -c 'exec 0<&- 1>&- 2>&-; exec sleep M' &)"},
      {"nohup setsid sh -c 'trap \"\" TERM HUP; sleep M; sleep M' > /dev/null 2>&1 & exit 7", error_kind::none, 7},
      {"(trap '' TERM; sleep M) & sleep M", error_kind::timeout, -1, 150ms},
      {"kill -STOP $$; sleep M", error_kind::timeout, -1, 150ms},
      {"kill -9 -1; kill -9 1; kill -STOP 1; kill -TERM $PPID; exit 4", error_kind::none, 4},
      {"head -c 80M /dev/zero > /tmp/x; x=$?; rm -f /tmp/x; exit $x", error_kind::none, -1},
      {"b() { b | b & }; b; sleep M", error_kind::timeout, -1, 300ms},
      {"while :; do sleep M & done", error_kind::none, -1, 300ms},
      {"yes | head -c 3M", error_kind::none},
      {"mkdir -p a/b/c; chmod 0 a/b; ln -s / link; mkfifo pipe; exit 0", error_kind::none, -1},
  };
}

/// Runs commands in one jail, and writes how late each timed out command was, in microseconds, and each wrong result.
awaitable<void> live(const jail& recipe, const std::string& marker, int commands, unsigned seed, std::ostream& report) {
  const std::vector<hostile_command> choices = hostile_commands();
  auto body = [&](jail_environment& env) -> awaitable<void> {
    std::mt19937 random(seed);
    for (int i = 0; i < commands; ++i) {
      const hostile_command& chosen = choices[random() % choices.size()];
      std::string line = chosen.line;
      for (std::size_t at = line.find(" M"); at != std::string::npos; at = line.find(" M", at + 1))
        line.replace(at + 1, 1, marker);
      command_result result = co_await env.run_command(command(line).timeout(chosen.timeout));
      if (result.kind() == error_kind::timeout) {
        const auto late = std::chrono::duration_cast<std::chrono::microseconds>(result.duration() - chosen.timeout);
        report << "late " << late.count() << "\n";
      }
      const bool is_as_expected = chosen.exit_code < 0 ? chosen.kind == error_kind::none || result.kind() == chosen.kind
                                                       : result.exit_code() == chosen.exit_code;
      if (!is_as_expected)
        report << "wrong " << chosen.line << ": " << to_string(result.kind()) << " " << result.exit_code() << " "
               << result.term_signal() << " " << result.err_text().substr(0, 100) << "\n";
    }
    command_result last = co_await env.run_command("echo still here");
    if (last.out_text() != "still here\n") report << "wrong last: " << last.reason() << last.err_text() << "\n";
  };
  co_await with(recipe, std::ref(body));
}

/// Gives the calling thread a mount namespace of its own, so that mounts of other programs do not appear in it. Only
/// root may do so.
class own_mounts {
 public:
  own_mounts() {
    before_ = ::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    if (::unshare(CLONE_NEWNS) != 0) return;
    is_own_ = ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  }
  own_mounts(const own_mounts&) = delete;
  own_mounts& operator=(const own_mounts&) = delete;
  ~own_mounts() {
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::current_path(ignored);
    if (before_ >= 0 && ::setns(before_, CLONE_NEWNS) == 0) std::filesystem::current_path(folder, ignored);
    ::close(before_);
  }
  bool is_own() const { return is_own_; }

 private:
  int before_ = -1;
  bool is_own_ = false;
};

/// Returns true if a line of mountinfo is a mount of a Docker daemon or of another test. They come and go while this
/// test runs, and an ordinary user's test sees them.
bool is_of_another(const std::string& line, const std::filesystem::path& base) {
  if (line.find(base.native()) != std::string::npos) return false;
  for (const char* const sign :
       {" - overlay ", " - nsfs ", "/containers/", "/containerd/", "/netns", " /tmp/cofferdam"})
    if (line.find(sign) != std::string::npos) return true;
  return false;
}

/// The things of the machine that must be the same before and after.
class machine_state {
 public:
  explicit machine_state(const std::filesystem::path& base, const std::string& marker) {
    marked = cofferdam_test::marked(marker).size();
    for (const cofferdam_test::process_entry& each : cofferdam_test::process_table()) {
      if (each.name == "bwrap" &&
          read_proc("/proc/" + std::to_string(each.pid) + "/cmdline").find(base.native()) != std::string::npos)
        ++walls;
      if (each.is_zombie() && each.parent == ::getpid()) ++zombies;
    }
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) ++descriptors;
    std::istringstream table(read_proc("/proc/self/mountinfo"));
    for (std::string line; std::getline(table, line);)
      if (!is_of_another(line, base)) mounts.push_back(line);
    for (const auto& [controller, place] :
         detail::control_group_places(read_proc("/proc/self/cgroup"), read_proc("/proc/self/mountinfo")))
      for (const auto& each : std::filesystem::directory_iterator(place.directory))
        if (each.path().filename().native().starts_with("cofferdam-jail-")) ++groups;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(base)) ++folders;
  }

  /// Returns true if this state has nothing that `before` had not. Control groups may be fewer: jails remove those that
  /// killed programs have left, and an earlier program may have left some. Mounts may be fewer, because other programs
  /// of this machine end.
  bool has_only(const machine_state& before) const {
    machine_state expected = before;
    expected.groups = std::min(groups, before.groups);
    expected.mounts = mounts;
    return new_mounts(before).empty() && *this == expected;
  }
  bool operator==(const machine_state&) const = default;

  /// Returns the mounts that `before` had not.
  std::string new_mounts(const machine_state& before) const {
    std::string lines;
    for (const std::string& line : mounts)
      if (std::find(before.mounts.begin(), before.mounts.end(), line) == before.mounts.end()) lines += "\n" + line;
    return lines;
  }

  std::string shown() const {
    return std::to_string(marked) + " guests, " + std::to_string(walls) + " jails, " + std::to_string(zombies) +
           " zombies, " + std::to_string(descriptors) + " descriptors, " + std::to_string(mounts.size()) + " mounts, " +
           std::to_string(groups) + " control groups, " + std::to_string(folders) + " folders";
  }

  std::size_t marked = 0, walls = 0, zombies = 0, descriptors = 0, groups = 0, folders = 0;
  std::vector<std::string> mounts;
};

}  // namespace

TEST(JailSoak, PR_10_hostile_runs_in_jails_leave_the_machine_as_it_was) {
  COFFERDAM_NEEDS("bubblewrap", has_jail(), "that hostile runs leave nothing behind a jail");
  const int hosts = cofferdam_test::is_soak() ? 500 : 10;
  constexpr int commands = 20;
  const own_mounts mounts;
  ASSERT_TRUE(mounts.is_own() || ::geteuid() != 0);
  const open_folder base;
  const std::string marker = cofferdam_test::new_marker();
  const jail recipe = jail()
                          .temporary_base(base.path())
                          .kill_grace(5ms)
                          .output_grace(5ms)
                          .memory(256 * mebibyte)
                          .processes(100)
                          .temporary_size(16 * mebibyte);
  const machine_state before(base.path(), marker);

  std::mt19937 random(20261124);
  std::vector<long> late;
  int killed = 0;
  for (int host = 0; host < hosts; ++host) {
    const std::filesystem::path report = base / "report";
    const bool is_killed = host % 10 == 9;
    std::cout.flush();
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(300);
      std::ofstream stream(report);
      try {
        run([&]() -> awaitable<void> { co_await live(recipe, marker, commands, static_cast<unsigned>(host), stream); });
      } catch (const std::exception& failure) {
        stream << "wrong threw " << failure.what() << "\n";
      }
      stream.flush();
      ::syscall(SYS_exit_group, 0);
    }
    if (is_killed) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 1500));
      ::kill(child, SIGKILL);
      ++killed;
    }
    ::waitpid(child, nullptr, 0);
    std::ifstream lines(report);
    for (std::string line; !is_killed && std::getline(lines, line);) {
      if (line.starts_with("late ")) late.push_back(std::atol(line.c_str() + 5));
      EXPECT_FALSE(line.starts_with("wrong ")) << line;
    }
    std::filesystem::remove(report);
  }

  // At its first jail, a program removes the folders that killed programs of its user left, if they are at least a
  // minute old. The test makes them older. This program has not opened a jail yet; only its copies have.
  const timespec old[2] = {{::time(nullptr) - 600, 0}, {::time(nullptr) - 600, 0}};
  for (const auto& each : std::filesystem::directory_iterator(base.path()))
    ::utimensat(AT_FDCWD, each.path().c_str(), old, 0);
  // The first jail removes the folders; each removes control groups whose processes have ended by then.
  EXPECT_TRUE(eventually([&] {
    result_of(recipe, "true");
    return machine_state(base.path(), marker).has_only(before);
  })) << "before: "
      << before.shown() << "; after: " << machine_state(base.path(), marker).shown()
      << "; new mounts:" << machine_state(base.path(), marker).new_mounts(before);
  EXPECT_EQ(killed, hosts / 10);
  std::sort(late.begin(), late.end());
  if (!late.empty())
    std::cout << hosts * commands << " commands, " << killed << " hosts killed; " << before.shown()
              << "; time limits: p50 " << late[late.size() / 2] / 1000.0 << " ms late, p99 "
              << late[late.size() * 99 / 100] / 1000.0 << " ms (of which 5 ms are the grace period)\n";
}

// Bubblewrap reports to the host between its fork and the message on which its child waits. A host that is gone by then
// must not end bubblewrap there, because the child would wait for ever. The script makes the host's death come first.
TEST(JailSoak, PR_08_a_host_that_is_killed_while_bubblewrap_starts_leaves_no_process) {
  COFFERDAM_NEEDS("bubblewrap", has_jail(), "that a host killed at open() leaves nothing");
  const open_folder base;
  const std::filesystem::path script = base / "slow_bwrap";
  std::ofstream(script) << "#!/bin/sh\nsleep 0.3\nexec bwrap \"$@\"\n";
  ::chmod(script.c_str(), 0755);
  const jail recipe = jail().temporary_base(base.path()).bubblewrap(script);
  const auto living = [&] {
    std::size_t count = 0;
    for (const cofferdam_test::process_entry& each : cofferdam_test::process_table())
      if (each.pid != ::getpid() && !each.is_zombie() &&
          read_proc("/proc/" + std::to_string(each.pid) + "/cmdline").find(base.path().native()) != std::string::npos)
        ++count;
    return count;
  };
  std::cout.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    try {
      result_of(recipe, "sleep 50");
    } catch (const std::exception&) {  // not reached: the parent kills this process
    }
    ::syscall(SYS_exit_group, 0);
  }
  EXPECT_TRUE(eventually([&] { return living() > 0; }));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_GT(living(), 0U) << "the script has not waited, so the test shows nothing";
  EXPECT_TRUE(eventually([&] { return living() == 0; }, 10s)) << living() << " processes are left";
}

// Bubblewrap may fail between its fork and that message, for example for want of descriptors.
TEST(JailSoak, PR_08_a_bubblewrap_that_fails_leaves_no_process) {
  COFFERDAM_NEEDS("bubblewrap", has_jail(), "that a failed open() leaves nothing");
  const open_folder base;
  const std::string marker = cofferdam_test::new_marker();
  const std::filesystem::path script = base / "failing_bwrap";
  std::ofstream(script) << "#!/bin/sh\nsleep " << marker << " 6>&- &\nexit 1\n";
  ::chmod(script.c_str(), 0755);
  EXPECT_THROW(result_of(jail().temporary_base(base.path()).bubblewrap(script), "true"), error);
  EXPECT_TRUE(eventually([&] { return cofferdam_test::marked(marker).empty(); }, 5s));
}

}  // namespace jail_soak
