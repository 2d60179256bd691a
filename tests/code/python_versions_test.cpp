// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests the driver (the program that runs code in the sandbox) with every Python of this machine: the system's, the
// newest one packaged by Debian, and those of pyenv.

#include <cofferdam/code/python.hpp>
#include <cofferdam/code/tagged_value.hpp>

#include "code/python_support.hpp"
#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using cofferdam::awaitable;
using cofferdam::code_request;
using cofferdam::code_result;
using cofferdam::error_kind;
using cofferdam::python;
using cofferdam_test::all_of;
using cofferdam_test::found_python;
using cofferdam_test::python_here;
using cofferdam_test::pythons;
using cofferdam_test::run_python;
using cofferdam_test::sentence_of;
using cofferdam_test::value_of;
using cofferdam_test::with_python;
using namespace std::chrono_literals;

bool is_new_enough(const found_python& candidate) {
  return candidate.major > 3 || (candidate.major == 3 && candidate.minor >= 8);
}

}  // namespace

TEST(PythonVersions, each_runs_code_in_forks_and_contexts) {
  const std::vector<found_python> interpreters = pythons();
  ASSERT_FALSE(interpreters.empty());
  for (const found_python& candidate : interpreters) {
    if (!is_new_enough(candidate)) continue;
    SCOPED_TRACE(candidate.program);
    with_python(
        python().interpreter(candidate.program).preload("json"), [&candidate](python_here& runner) -> awaitable<void> {
          EXPECT_TRUE(
              runner.version().starts_with(std::to_string(candidate.major) + "." + std::to_string(candidate.minor)));
          code_result plain = co_await runner.run_code(
              code_request("import sys\nprint('hi')\n[sys.version_info[1], 2 ** 70, {1}, b'x', 0.1, float('inf')]"));
          EXPECT_EQ(value_of(plain),
                    "[" + std::to_string(candidate.minor) +
                        R"(,{"$python":"int","text":"1180591620717411303424"},{"$python":"set","items":[1]},)"
                        R"({"$python":"bytes","base64":"eA=="},1E-1,{"$python":"float","text":"inf"}])")
              << all_of(plain);
          code_result long_int =
              co_await runner.run_code(code_request("x == 1 << 40000 and x")
                                           .variable("x", cofferdam::python_int("0x1" + std::string(10000, '0'))));
          EXPECT_TRUE(long_int.value_is_exact() && value_of(long_int).size() > 10'000)
              << all_of(long_int).substr(0, 500);
          code_request decimal(
              "from datetime import *\nimport multiprocessing\nassert x == 10 ** 5000 // 9\n"
              "def f(x): return x + 1\nwith multiprocessing.Pool(1) as pool: made = pool.map(f, [1])\n"
              "[datetime(2026, 1, 1, tzinfo=timezone(timedelta(0), 'GMT')), made]");
          decimal.variable("x", cofferdam::python_int(std::string(5000, '1')));
          code_result digits = co_await runner.run_code(decimal);
          EXPECT_EQ(value_of(digits), R"([{"$python":"datetime","text":"2026-01-01T00:00:00+00:00","zone":"GMT"},[2]])")
              << all_of(digits).substr(0, 500);
          code_result failed =
              co_await runner.run_code(code_request("def f():\n  return 1/0\ntry:\n  f()\nexcept ValueError: pass"));
          EXPECT_EQ(failed.failure() ? failed.failure()->type() : "", "ZeroDivisionError");
          EXPECT_EQ(failed.failure() ? failed.failure()->line() : 0, 2);
          EXPECT_EQ(failed.err().text().find("cofferdam"), std::string::npos) << failed.err().text();
          code_result context =
              co_await runner.run_code(code_request("import asyncio\nx = await asyncio.sleep(0, 5)").context("c"));
          EXPECT_TRUE(context.ok()) << all_of(context);
          code_result slow =
              co_await runner.run_code(code_request("import time\ntime.sleep(100)").context("c").timeout(300ms));
          EXPECT_EQ(slow.kind(), error_kind::timeout);
          code_result kept = co_await runner.run_code(code_request("x").context("c"));
          EXPECT_EQ(value_of(kept), "5") << all_of(kept);
          code_result threads = co_await runner.run_code(code_request(
              "from concurrent.futures import ThreadPoolExecutor\nlist(ThreadPoolExecutor(2).map(abs, [-1]))"));
          EXPECT_EQ(value_of(threads), "[1]") << all_of(threads);
          code_result exits = co_await runner.run_code(code_request("import os\nos._exit(3)"));
          EXPECT_EQ(exits.exit_code(), 3);
          EXPECT_EQ(exits.err().text(), "");
          code_result last = co_await runner.run_code(code_request("match = 1\nmatch"));
          EXPECT_FALSE(last.driver_restarted());
        });
  }
}

// Feature: A19
TEST(PythonVersions, one_that_is_too_old_says_so) {
  // One is the system's Python, which pretends to be older. The others are real older versions.
  const cofferdam_test::temporary_folder folder;
  found_python old;
  old.program = (folder.path() / "old-python").string();
  old.major = 3;
  old.minor = 6;
  std::ofstream(old.program)
      << "#!/bin/sh\n"
         "exec python3 -I -c 'import sys; sys.version_info = (3, 6, 9); sys.version = \"3.6.9 x\"; "
         "code = sys.argv[5]; sys.argv[1:] = sys.argv[6:]; exec(code)' \"$@\"\n";
  std::filesystem::permissions(old.program, std::filesystem::perms::owner_all);
  std::vector<found_python> interpreters = pythons();
  interpreters.push_back(old);
  for (const found_python& candidate : interpreters) {
    if (is_new_enough(candidate) || candidate.major < 3) continue;
    const std::string message =
        sentence_of([&] { run_python(code_request("1"), python().interpreter(candidate.program)); });
    EXPECT_NE(message.find("Python 3.8 or newer is needed; this is " + std::to_string(candidate.major)),
              std::string::npos)
        << message;
  }
}
