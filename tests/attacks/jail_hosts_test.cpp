// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Machines on which a jail may be impossible, each simulated in a copy of the test program: by a filter that refuses
// system calls, by mounts that hide parts of the file system, or by another bubblewrap. On each, either the jail opens
// with all walls (open() proves them), or open() throws an error that names the cause and a remedy. Nothing may be left
// running.
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/with.hpp>

#include "support/census.hpp"
#include "support/forked_host.hpp"
#include "support/jail_tests.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace jail_hosts_tests {

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using namespace std::string_literals;
using cofferdam_test::eventually;
using cofferdam_test::has_jail;
using cofferdam_test::in_forked_host;
using cofferdam_test::open_folder;
using cofferdam_test::result_of;

// ---- how a machine is simulated -------------------------------------------------------------------------------------

/// A system call that fails, always or only if certain bits of its first argument are set.
class refusal {
 public:
  long call;
  int error_number;
  std::uint32_t bits = 0;  ///< 0 means always
};

/// Lets system calls fail in this process and in all that it starts.
void refuse(const std::vector<refusal>& calls) {
  std::vector<sock_filter> rules;
  for (const refusal& each : calls) {
    rules.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    const std::uint8_t rest = each.bits == 0 ? 1 : 3;
    rules.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(each.call), 0, rest));
    if (each.bits != 0) {
      rules.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])));
      rules.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, each.bits, 0, 1));
    }
    rules.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(each.error_number)));
  }
  rules.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    throw std::runtime_error("the filter of the test is refused");
}

/// Lets all system calls from a number on fail, as on a kernel that is older than them.
void refuse_from(long first) {
  std::vector<refusal> calls;
  for (long call = first; call < 470; ++call) calls.push_back({call, ENOSYS});
  refuse(calls);
}

/// Gives this process a copy of the mounts, so that changes do not reach the machine.
void own_mounts() {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    throw std::runtime_error("the test cannot have mounts of its own");
}

/// Covers a folder with an empty one.
void cover(const char* folder) {
  own_mounts();
  if (::mount("none", folder, "tmpfs", 0, "mode=755") != 0)
    throw std::runtime_error(std::string("cannot cover ") + folder);
}

void limit(int resource, rlim_t value) {
  const rlimit both{value, value};
  if (::setrlimit(static_cast<__rlimit_resource>(resource), &both) != 0) throw std::runtime_error("cannot set a limit");
}

// ---- the machines ---------------------------------------------------------------------------------------------------

/// One simulated machine.
class machine {
 public:
  std::string name;
  std::function<void()> becomes;
  /// Words of the error of `open()`; empty means that the jail must open.
  std::vector<std::string> expected;
  bool needs_root = false;
  std::function<void(jail&)> changes = [](jail&) {};
};

class JailHosts : public ::testing::Test {
 protected:
  void SetUp() override {
    COFFERDAM_NEEDS("bubblewrap", has_jail(), "that each machine gets the walls or an error");
    COFFERDAM_NEEDS("root", ::geteuid() == 0, "that each machine gets the walls or an error");
  }

  void TearDown() override {
    EXPECT_TRUE(eventually([] { return !is_left("sleep\0"s + "61753"); }));
    // The copies of this program have ended, so what they left has another parent.
    EXPECT_TRUE(eventually([this] { return cofferdam_test::guests_of(base_.path()).empty(); }));
  }

  /// Returns true if the command line of a process begins with `words`.
  static bool is_left(const std::string& words) {
    for (const cofferdam_test::process_entry& each : cofferdam_test::process_table())
      if (cofferdam_test::read_proc("/proc/" + std::to_string(each.pid) + "/cmdline").starts_with(words)) return true;
    return false;
  }

  /// Writes a program that takes the place of bubblewrap.
  std::filesystem::path bubblewrap(const std::string& name, const std::string& lines) const {
    return base_.write(name + "/bwrap", "#!/bin/sh\n" + lines + "\n", 0755);
  }

  /// Opens a jail on a machine, and returns "inside", or "error: " and the text of the typed error.
  std::string outcome_of(const machine& simulated) const {
    return in_forked_host([&] {
      simulated.becomes();
      jail recipe = jail().temporary_base(base_.path()).kill_grace(100ms);
      simulated.changes(recipe);
      try {
        const command_result result = result_of(recipe, "echo inside");
        return result.ok() ? result.out_text() : "failed: " + result.reason() + result.err_text();
      } catch (const error& failure) {
        return "error: " + std::string(failure.what());
      }
    });
  }

  void expect(const machine& simulated) const {
    const std::string outcome = outcome_of(simulated);
    if (simulated.expected.empty()) {
      EXPECT_EQ(outcome, "inside\n") << simulated.name;
      return;
    }
    EXPECT_TRUE(outcome.starts_with("error: jail: ")) << simulated.name << ": " << outcome;
    for (const std::string& words : simulated.expected)
      EXPECT_NE(outcome.find(words), std::string::npos) << simulated.name << ": " << outcome;
  }

  open_folder base_;
};

constexpr std::uint32_t new_user = CLONE_NEWUSER;

TEST_F(JailHosts, SY_19_kernels_without_newer_calls_give_the_walls) {
  const std::vector<machine> machines{
      {"this machine, unchanged", [] {}, {}},  // the control of those that refuse namespaces
      {"Linux 5.15: nothing from futex_waitv on", [] { refuse_from(449); }, {}},
      {"Linux 5.10: no Landlock, no mount_setattr", [] { refuse_from(442); }, {}},
      {"Linux 5.4: no close_range, openat2, faccessat2", [] { refuse_from(436); }, {}},
      {"a kernel with Landlock switched off",
       [] {
         refuse({{444, EOPNOTSUPP}, {445, EOPNOTSUPP}, {446, EOPNOTSUPP}});
       },
       {}},
      {"a program that may gain no privileges", [] { ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }, {}},
      {"no /dev/shm", [] { cover("/dev/shm"); }, {}},
      {"no /sys, so no control groups", [] { cover("/sys"); }, {}},
      {"no /home and no /root",
       [] {
         cover("/home");
         cover("/root");
       },
       {}},
  };
  for (const machine& each : machines) expect(each);
}

TEST_F(JailHosts, SY_19_what_refuses_namespaces_is_named_with_a_remedy) {
  const std::vector<machine> machines{
      {"Debian with kernel.unprivileged_userns_clone=0, or Docker's default profile",
       [] {
         refuse({{SYS_clone, EPERM, new_user}, {SYS_unshare, EPERM}, {SYS_clone3, ENOSYS}});
       },
       {"bubblewrap", "namespace", "sysctl"}},
      {"user.max_user_namespaces=0",
       [] {
         refuse({{SYS_clone, ENOSPC, new_user}, {SYS_unshare, ENOSPC}, {SYS_clone3, ENOSYS}});
       },
       {"bubblewrap", "namespace", "max_user_namespaces"}},
      {"a kernel without user namespaces",
       [] {
         refuse({{SYS_clone, EINVAL, new_user}, {SYS_unshare, EINVAL}, {SYS_clone3, ENOSYS}});
       },
       {"bubblewrap", "namespace"}},
      {"a container that forbids mounts",
       [] {
         refuse({{SYS_mount, EPERM}});
       },
       {"bubblewrap"}},
      {"a container that forbids pivot_root",
       [] {
         refuse({{SYS_pivot_root, EPERM}});
       },
       {"bubblewrap"}},
      {"a kernel without filters of system calls",
       [] {
         // The number of PR_SET_SECCOMP is the first argument; no other used command of prctl has all of its bits.
         refuse({{SYS_seccomp, ENOSYS}, {SYS_prctl, EINVAL, 16}});
       },
       {"bubblewrap"}},
  };
  for (const machine& each : machines) expect(each);
}

TEST_F(JailHosts, an_unusable_bubblewrap_is_named_with_a_remedy) {
  const std::filesystem::path ubuntu =
      bubblewrap("ubuntu", "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1");
  const std::filesystem::path old = bubblewrap("old", "echo 'bwrap: Unknown option --disable-userns' >&2; exit 1");
  const std::filesystem::path silent = bubblewrap("silent", "exit 1");
  const std::filesystem::path deaf = bubblewrap("deaf", "exec sleep 61753");
  const std::filesystem::path liar = bubblewrap("liar", "printf '{ \"child-pid\": 1 }' >&6; exec sleep 61753");
  const std::filesystem::path missing = base_ / "nowhere/bwrap";
  const auto by = [](std::filesystem::path program) {
    return [program = std::move(program)](jail& recipe) { recipe.bubblewrap(program); };
  };
  const std::vector<machine> machines{
      {"Ubuntu 24.04, whose AppArmor restricts namespaces", [] {}, {"uid map", "AppArmor"}, true, by(ubuntu)},
      {"a bubblewrap before 0.8", [] {}, {"too old", "0.8.0"}, true, by(old)},
      {"a bubblewrap that ends at once", [] {}, {"bubblewrap"}, true, by(silent)},
      {"a bubblewrap that does nothing", [] {}, {"bubblewrap", "10 s"}, true, by(deaf)},
      {"a bubblewrap that reports another process", [] {}, {"first process"}, true, by(liar)},
      {"no bubblewrap at the given path", [] {}, {"No such file", "apt-get install bubblewrap"}, true, by(missing)},
      {"no bubblewrap on the PATH", [] { ::setenv("PATH", "/nonexistent", 1); }, {"apt-get install bubblewrap"}},
      {"64 descriptors", [] { limit(RLIMIT_NOFILE, 64); }, {"only 64 files open", "256 or more"}},
  };
  for (const machine& each : machines) expect(each);
}

TEST_F(JailHosts, too_few_descriptors_are_named_at_each_step) {
  std::size_t refused = 0;
  const auto expect_advice = [&](rlim_t most, int used) {
    machine simulated;
    simulated.name = std::to_string(most) + " descriptors, " + std::to_string(used) + " of them in use";
    simulated.becomes = [most, used] {
      limit(RLIMIT_NOFILE, most);
      for (int i = 0; i < used; ++i) static_cast<void>(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    };
    const std::string outcome = outcome_of(simulated);
    if (outcome == "inside\n") return;
    ++refused;
    EXPECT_TRUE(outcome.starts_with("error: ")) << simulated.name << ": " << outcome;
    EXPECT_NE(outcome.find("only " + std::to_string(most) + " files open"), std::string::npos)
        << simulated.name << ": " << outcome;
    EXPECT_EQ(outcome.find("256 or more"), outcome.rfind("256 or more")) << simulated.name << ": " << outcome;
  };
  for (rlim_t most = 40; most <= 100; most += 4) expect_advice(most, 0);
  for (int used = 20; used < 90; used += 2) expect_advice(96, used);
  EXPECT_GT(refused, 10U);
}

// A command in a jail can put a program into a virtual environment of the workspace, which is on the PATH while it is
// active. The control names the same program, which then runs.
TEST_F(JailHosts, a_bubblewrap_that_a_command_could_have_made_is_not_run) {
  const std::filesystem::path ran = base_.make_shared_folder("out") / "ran";
  const std::filesystem::path planted = bubblewrap("venv/bin", "echo ran >'" + ran.string() + "'; exec bwrap \"$@\"");
  ::chmod(planted.parent_path().c_str(), 0777);
  const auto with_path = [&](const std::string& after) {
    return [&, after] { ::setenv("PATH", (planted.parent_path().string() + after).c_str(), 1); };
  };
  machine simulated;
  simulated.name = "a planted program and the system's";
  simulated.becomes = with_path(":/usr/bin:/bin");
  expect(simulated);
  EXPECT_FALSE(std::filesystem::exists(ran));

  simulated.name = "a planted program alone";
  simulated.becomes = with_path("");
  simulated.expected = {planted.string(), "users other than root", "jail().bubblewrap("};
  expect(simulated);
  EXPECT_FALSE(std::filesystem::exists(ran));

  simulated.name = "the control";
  simulated.becomes = [] {};
  simulated.changes = [&](jail& recipe) { recipe.bubblewrap(planted); };
  simulated.expected = {};
  expect(simulated);
  EXPECT_TRUE(std::filesystem::exists(ran));
}

TEST_F(JailHosts, a_bubblewrap_that_is_setuid_gives_the_walls_or_an_error) {
  const std::filesystem::path own = base_ / "setuid-bwrap";
  ASSERT_EQ(std::system(("cp \"$(command -v bwrap)\" " + own.string() + " && chmod 4755 " + own.string()).c_str()), 0);
  machine simulated;
  simulated.name = "a setuid bubblewrap";
  simulated.becomes = [] {};
  simulated.changes = [&](jail& recipe) { recipe.bubblewrap(own); };
  const std::string outcome = outcome_of(simulated);
  EXPECT_TRUE(outcome == "inside\n" || outcome.starts_with("error: jail: ")) << outcome;
}

TEST_F(JailHosts, a_program_with_too_few_resources_gets_an_error) {
  const std::vector<machine> machines{
      {"12 descriptors", [] { limit(RLIMIT_NOFILE, 12); }, {}},
      {"a kernel that makes no files in memory",
       [] {
         refuse({{SYS_memfd_create, ENOSYS}});
       },
       {}},
      {"a kernel that opens no process descriptors",
       [] {
         refuse({{SYS_pidfd_open, ENOSYS}});
       },
       {}},
      {"a temporary folder that cannot be written",
       [] {},
       {},
       true,
       [](jail& recipe) { recipe.temporary_base("/proc/none"); }},
  };
  for (const machine& each : machines) {
    const std::string outcome = outcome_of(each);
    EXPECT_TRUE(outcome.starts_with("error: ")) << each.name << ": " << outcome;
    EXPECT_EQ(outcome.find("threw"), std::string::npos);
  }
}

TEST_F(JailHosts, RS_06_without_control_groups_a_total_limit_is_refused_and_no_total_is_claimed) {
  machine simulated;
  simulated.name = "no control groups";
  simulated.becomes = [] { cover("/sys"); };
  simulated.changes = [](jail& recipe) { recipe.memory(std::size_t{256} << 20).require_total_memory(); };
  simulated.expected = {"require_total_memory()", "systemd-run"};
  expect(simulated);
  const std::string report = in_forked_host([&] {
    cover("/sys");
    const jail recipe = jail().temporary_base(base_.path()).memory(std::size_t{256} << 20);
    return std::string(result_of(recipe, "true").isolation().of(isolation_kind::memory));
  });
  EXPECT_TRUE(report.starts_with("268435456 bytes per process (RLIMIT_AS), no total")) << report;
}

}  // namespace

}  // namespace jail_hosts_tests
