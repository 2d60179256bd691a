// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/os/process_table.hpp>

#include "support/census.hpp"
#include "support/forbid.hpp"
#include "support/forked_host.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace process_table_tests {

namespace {

using namespace cofferdam::detail;
using namespace std::chrono_literals;
using namespace std::string_literals;
using cofferdam_test::forbid;
using cofferdam_test::in_forked_host;

/// Starts a process that sleeps, and returns its entry.
table_entry sleeping() {
  table_entry entry;
  entry.pid = ::fork();
  if (entry.pid == 0) {
    ::pause();
    ::_exit(0);
  }
  parse_stat(proc_text("/proc/" + std::to_string(entry.pid) + "/stat"), entry);
  return entry;
}

/// Ends a process, and returns true if it was killed before that, within `limit`.
bool was_killed(const table_entry& entry, std::chrono::milliseconds limit) {
  int status = 0;
  const bool ended =
      cofferdam_test::eventually([&] { return ::waitpid(entry.pid, &status, WNOHANG) == entry.pid; }, limit);
  if (ended) return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  ::kill(entry.pid, SIGKILL);
  ::waitpid(entry.pid, &status, 0);
  return false;
}

}  // namespace

TEST(ProcessTable, kill_entry_kills_the_process_and_not_a_later_one_with_its_number) {
  const std::string outcome = in_forked_host([] {
    const table_entry victim = sleeping();
    table_entry other = sleeping();
    other.start_time += 1;
    std::string result = kill_entry(victim) && kill_entry(other) ? "true " : "false ";
    result += was_killed(victim, 10s) ? "killed " : "alive ";
    return result + (was_killed(other, 50ms) ? "killed" : "alive");
  });
  EXPECT_EQ(outcome, "true killed alive");
}

TEST(ProcessTable, kill_entry_reports_a_kernel_without_descriptors_of_processes) {
  const std::string outcome = in_forked_host([] {
    const table_entry victim = sleeping();
    if (!forbid(SYS_pidfd_open, ENOSYS)) return "no seccomp"s;
    const std::string result = kill_entry(victim) ? "true " : "false ";
    return result + (was_killed(victim, 50ms) ? "killed" : "alive");
  });
  COFFERDAM_NEEDS("seccomp", outcome != "no seccomp", "that old kernels are noticed");
  EXPECT_EQ(outcome, "false alive");
}

}  // namespace process_table_tests
