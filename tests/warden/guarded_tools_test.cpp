// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/warden/detail/wire.hpp>

#include "support/census.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"
#include "support/wire_session.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <unistd.h>

// Tests that common tools work under the seccomp filter, and with each version of Landlock that restricts commands
// more. (The warden is the helper program that starts commands in each sandbox; it applies the filter and Landlock.)

namespace {

namespace wire = cofferdam::detail::wire;
using cofferdam_test::temporary_folder;
using cofferdam_test::wire_command;
using cofferdam_test::wire_outcome;
using cofferdam_test::wire_session;
using namespace std::chrono_literals;

struct level {
  const char* name;
  std::uint32_t flags;
};

/// Returns the levels of protection that this kernel supports: those that the warden applies without Landlock, with
/// version 2 of Landlock's interface, and with version 6.
std::vector<level> levels(const wire_session& warden) {
  std::vector<level> result = {{"no Landlock", wire::spawn_filter | wire::spawn_refuse_tracing}};
  if (warden.hello().can(wire::capability_domain))
    result.push_back({"domain", wire::spawn_filter | wire::spawn_domain});
  if (warden.hello().can(wire::capability_scope)) result.push_back({"scope", wire::spawn_filter | wire::spawn_scope});
  return result;
}

constexpr const char* path = "PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool has(const std::string& program) {
  return std::system((std::string(path) + " command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

wire_outcome run_at(wire_session& warden, const level& at, const temporary_folder& folder, const std::string& line) {
  wire_command command = wire_command::of({"/bin/sh", "-ec", line});
  command.flags = at.flags;
  command.directory = folder.path().string();
  command.timeout_ms = 240'000;
  command.variables = {path, "HOME=" + folder.path().string(), "TMPDIR=" + folder.path().string(), "LANG=C.UTF-8"};
  warden.spawn(1, command);
  warden.until_over(1, 300s);
  return warden[1];
}

/// Runs a shell line at each level, in a new folder. Expects `expected` as the last line of its output.
void expect_at_each_level(const std::string& line, const std::string& expected, bool traces = false) {
  wire_session warden;
  COFFERDAM_NEEDS("seccomp", warden.hello().can(wire::capability_filter), "what works under the filter");
  for (const level& at : levels(warden)) {
    SCOPED_TRACE(at.name);
    const temporary_folder folder;
    const wire_outcome outcome = run_at(warden, at, folder, line);
    if (traces && (at.flags & wire::spawn_refuse_tracing) != 0) {
      EXPECT_FALSE(outcome.out.ends_with(expected)) << "nobody may trace there";
      continue;
    }
    EXPECT_TRUE(outcome.out.ends_with(expected)) << outcome << "\n" << outcome.out << outcome.err;
  }
}

TEST(GuardedTools, files_move_and_links_are_made_across_directories) {
  expect_at_each_level(
      "mkdir a b; echo x > a/f; mv a/f b/g; ln b/g a/h; ln -s ../g a/s; mv a c; mv c b/; cat b/c/h b/c/s", "x\nx\n");
}

TEST(GuardedTools, git_commits_and_collects) {
  COFFERDAM_NEEDS("git", has("git"), "git under the filter");
  expect_at_each_level(
      "git init -q r; cd r; git config user.name n; git config user.email e@x; for i in 1 2 3; do echo $i > f; git add "
      "f; "
      "git commit -qm $i; done; git gc -q --aggressive; git clone -q . ../s; git -C ../s log --oneline | wc -l",
      "3\n");
}

TEST(GuardedTools, gcc_compiles_and_openmp_pins_its_threads) {
  COFFERDAM_NEEDS("gcc", has("gcc"), "gcc under the filter");
  expect_at_each_level(
      "printf '#include <omp.h>\\n#include <stdio.h>\\nint main(void) { int n = 0;\\n#pragma omp parallel "
      "reduction(+:n)\\n"
      "n += 1;\\nprintf(\"%%d\\\\n\", n == omp_get_max_threads()); }\\n' > a.c; gcc -fopenmp a.c -o a; "
      "OMP_PROC_BIND=close OMP_PLACES=threads ./a",
      "1\n");
}

TEST(GuardedTools, pip_installs_a_local_package) {
  COFFERDAM_NEEDS("pip", has("/usr/bin/python3 -m pip") || ::access("/usr/bin/pip3", X_OK) == 0,
                  "pip under the filter");
  expect_at_each_level(
      "mkdir p; printf 'from setuptools import setup\\nsetup(name=\"guarded\", version=\"1\", "
      "py_modules=[\"guarded\"])\\n' > "
      "p/setup.py; echo 'answer = 42' > p/guarded.py; "
      "/usr/bin/python3 -m pip install -q --no-index --no-build-isolation --no-deps --break-system-packages --target t "
      "./p "
      ">&2; PYTHONPATH=t /usr/bin/python3 -c 'import guarded; print(guarded.answer)'",
      "42\n");
}

TEST(GuardedTools, python_sets_its_own_limits_and_uses_processes) {
  COFFERDAM_NEEDS("python3", ::access("/usr/bin/python3", X_OK) == 0, "Python under the filter");
  expect_at_each_level(
      "/usr/bin/python3 -c 'import resource, multiprocessing, os\n"
      "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
      "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
      "os.sched_setaffinity(0, os.sched_getaffinity(0))\n"
      "os.nice(1)\n"
      "print(sum(multiprocessing.Pool(2).map(abs, [-1, -2])), resource.prlimit(os.getpid(), "
      "resource.RLIMIT_NOFILE)[0])'",
      "3 64\n");
}

TEST(GuardedTools, pytest_runs_tests_in_processes) {
  COFFERDAM_NEEDS("pytest-xdist", std::system("/usr/bin/python3 -c 'import pytest, xdist' >/dev/null 2>&1") == 0,
                  "pytest-xdist under the filter");
  expect_at_each_level(
      "printf 'def test_a(): pass\\ndef test_b(): pass\\n' > test_x.py; /usr/bin/python3 -m pytest -q -n 2 test_x.py "
      ">&2; "
      "echo fine",
      "fine\n");
}

TEST(GuardedTools, java_runs) {
  COFFERDAM_NEEDS("java", has("javac"), "Java under the filter");
  expect_at_each_level(
      "printf 'class A { public static void main(String[] a) throws Exception { Thread t = new Thread(() -> "
      "System.out.println(42)); t.setPriority(1); t.start(); t.join(); } }' > A.java; javac A.java; java -Xmx64m A",
      "42\n");
}

TEST(GuardedTools, node_runs) {
  COFFERDAM_NEEDS("node", has("node"), "node under the filter");
  expect_at_each_level(
      "node -e 'const os = require(\"os\"); os.setPriority(5); new (require(\"worker_threads\").Worker)("
      "\"require(\\\"worker_threads\\\").parentPort.postMessage(42)\", {eval: true})"
      ".on(\"message\", m => console.log(m))'",
      "42\n");
}

TEST(GuardedTools, go_builds_and_runs) {
  COFFERDAM_NEEDS("go", has("go"), "Go under the filter");
  // The levels share a cache. So Go's own packages are only compiled at the first level, the program at each one.
  const temporary_folder cache;
  expect_at_each_level("export GOCACHE='" + cache.path().string() +
                           "' GOPATH=$HOME/go GO111MODULE=off GOFLAGS=-p=2; printf 'package main\\nfunc main() { c := "
                           "make(chan int); go "
                           "func() { c <- 42 }(); println(<-c) }\\n' > a.go; go build -o a a.go; ./a 2>&1",
                       "42\n");
}

TEST(GuardedTools, debuggers_trace_what_the_command_has_started_where_landlock_keeps_them_there) {
  COFFERDAM_NEEDS("strace", has("strace"), "strace under the filter");
  expect_at_each_level("strace -f -o log sh -c 'true & wait'; grep -c exited log >&2; echo traced", "traced\n", true);
  COFFERDAM_NEEDS("gdb", has("gdb"), "gdb under the filter");
  expect_at_each_level("gdb -nx -batch -ex run -ex 'print 40+2' /bin/true 2>&1 | grep -c 'exited normally'", "1\n",
                       true);
}

}  // namespace
