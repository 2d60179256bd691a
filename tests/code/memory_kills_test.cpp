// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests that a run which the kernel killed for lack of memory is recognised. The library compares the kernel's count
// of such kills before and after; its file and format depend on the version of control groups. In these tests the
// count is an ordinary file in a private mount namespace, and the guest changes the file before it kills itself.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/with.hpp>

#include "support/forked_host.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

namespace memory_kills_tests {

using namespace cofferdam;

/// Returns the control group (version 2) of this process.
std::string own_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::/")) return line.substr(4);
  throw std::runtime_error("this kernel has no control groups of version 2");
}

/// Mounts a /sys/fs/cgroup that contains only the count of version 2, visible to this process and its children.
/// \return path of the file with the count.
std::string pretend() {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    throw std::runtime_error("no file system of its own: " + std::string(std::strerror(errno)));
  // The kernel lists the group in /proc only after version 2 was mounted once.
  static_cast<void>(::mount("none", "/sys/fs/cgroup", "cgroup2", 0, nullptr));
  const std::string group = own_group();
  if (::mount("none", "/sys/fs/cgroup", "tmpfs", 0, nullptr) != 0)
    throw std::runtime_error("no tmpfs: " + std::string(std::strerror(errno)));
  const std::filesystem::path folder = std::filesystem::path("/sys/fs/cgroup") / group;
  std::filesystem::create_directories(folder);
  const std::string count = folder / "memory.events";
  std::ofstream(count) << "low 0\nhigh 0\nmax 0\noom 0\noom_kill 4\n";
  return count;
}

const char* name_of(error_kind kind) { return kind == error_kind::out_of_memory ? "out of memory" : "killed"; }

TEST(MemoryKills, of_a_command_are_told_by_the_second_version_of_control_groups) {
  COFFERDAM_NEEDS("root", ::getuid() == 0, "that a memory limit is told where groups are unified");
  const std::string report = cofferdam_test::in_forked_host([] {
    const std::string count = pretend();
    std::string outcomes;
    cofferdam_test::run([&]() -> awaitable<void> {
      const auto body = [&](local_environment& env) -> awaitable<void> {
        command_result first = co_await env.run_command(shell("kill -9 $$"));
        outcomes += std::string(name_of(first.kind())) + ", ";
        command_result second = co_await env.run_command(
            shell("printf 'low 0\\nmax 7\\noom 1\\noom_kill 5\\n' > " + count + "; kill -9 $$"));
        outcomes += std::string(name_of(second.kind())) + ", ";
        command_result third = co_await env.run_command(shell("kill -9 $$"));
        outcomes += name_of(third.kind());
      };
      co_await with(local().without_warning().warden(warden_policy::require), body);
    });
    return outcomes;
  });
  EXPECT_EQ(report, "killed, out of memory, killed");
}

TEST(MemoryKills, of_a_run_are_told_by_the_second_version_of_control_groups) {
  COFFERDAM_NEEDS("root", ::getuid() == 0, "that a memory limit is told where groups are unified");
  const std::string report = cofferdam_test::in_forked_host([] {
    // Python reads the count of the root group, because inside a container this is the container's own group.
    const std::string count = "/sys/fs/cgroup/memory.events";
    if (pretend() != count) std::ofstream(count) << "oom_kill 4\n";
    std::string outcomes;
    cofferdam_test::run([&]() -> awaitable<void> {
      const std::string end = "import os\nos.kill(os.getpid(), 9)";
      const auto body = [&](auto& runner) -> awaitable<void> {
        const code_result first = co_await runner.run_code(code_request(end));
        outcomes += std::string(name_of(first.kind())) + ", ";
        const code_result second = co_await runner.run_code(
            code_request("open('" + count + "', 'w').write('low 0\\noom 1\\noom_kill 5\\n')\n" + end));
        outcomes += std::string(name_of(second.kind())) + ", ";
        const code_result third = co_await runner.run_code(code_request(end));
        outcomes += name_of(third.kind());
      };
      co_await with(local().without_warning() | python(), body);
    });
    return outcomes;
  });
  EXPECT_EQ(report, "killed, out of memory, killed");
}

}  // namespace memory_kills_tests
