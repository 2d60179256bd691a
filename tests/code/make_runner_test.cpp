// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/code/allow_imports.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/make_runner.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/files/download.hpp>
#include <cofferdam/files/file_set.hpp>

#include "code/pyodide_support.hpp"
#include "support/error_of.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The names "docker" and "e2b" are tested in llm/end_to_end_test.cpp.

namespace {

using namespace cofferdam;
using cofferdam_test::run;

runner_options quiet_host() { return runner_options().host(local().without_warning()); }

TEST(MakeRunner, an_unknown_name_is_an_error_that_lists_the_known_ones) {
  for (const char* const name : {"", "Host", "podman", "host "}) {
    EXPECT_EQ(cofferdam_test::code_of([&] { make_runner(name); }), exec_errc::invalid_argument);
    const std::string sentence = cofferdam_test::sentence_of([&] { make_runner(name); });
    for (const char* const known :
         {"sandbox", "jail", "host", "local", "docker", "kubernetes", "e2b", "ssh:HOST", "pyodide"})
      EXPECT_NE(sentence.find(known), std::string::npos) << sentence;
  }
}

TEST(MakeRunner, a_name_opens_nothing_and_options_of_others_do_not_matter) {
  const runner_options options =
      quiet_host().docker(docker::from_image("no-such-image")).python(python().timeout(std::chrono::seconds(20)));
  for (const std::string name :
       {"sandbox", "jail", "host", "local", "docker", "kubernetes", "e2b", "ssh:nowhere", "pyodide"})
    make_runner(name, options);
}

// The result must contain all that CodeRunResult of the Python library kodeagent contains: stdout, stderr,
// return_code and generated_files. The runner must also offer its method run(tools_code, code).
TEST(MakeRunner, the_host_runs_tools_and_code_and_hands_over_what_they_have_made) {
  const cofferdam_test::temporary_folder folder;
  for (const std::string name : {"host", "local"}) {
    code_result result;
    transfer_result moved;
    run([&]() -> awaitable<void> {
      co_await with(make_runner(name, quiet_host()), [&](auto& runner) -> awaitable<void> {
        code_request request(
            "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsave('a/b.txt', 'text')\nsys.exit(3)");
        request.prelude(
            "import os\ndef save(path, text):\n    os.makedirs(os.path.dirname(path), exist_ok=True)\n"
            "    with open(path, 'w') as file: file.write(text)\n");
        result = co_await runner.run_code(std::move(request));
        file_set generated;
        for (const generated_file& each : result.files()) generated.exactly(each.path());
        moved = co_await download(runner.environment(), std::move(generated), folder.path() / name);
      });
    });
    EXPECT_EQ(result.out().text(), "out\n");
    EXPECT_EQ(result.err().text(), "err\n");
    EXPECT_EQ(result.exit_code(), 3);
    ASSERT_EQ(result.files().size(), 1U);
    EXPECT_EQ(result.files()[0].path(), "a/b.txt");
    EXPECT_GT(result.duration().count(), 0);
    EXPECT_TRUE(result.isolation().of(isolation_kind::process_tree).starts_with("everything the command started"));
    EXPECT_EQ(result.isolation().of(isolation_kind::files), "none");
    EXPECT_TRUE(moved.ok());
    std::ifstream file(folder.path() / name / "a/b.txt");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "text");
  }
}

TEST(MakeRunner, a_jail_by_name_runs_code_inside_walls) {
  for (const std::string name : {"sandbox", "jail"}) {
    code_result result;
    run([&]() -> awaitable<void> {
      co_await with(make_runner(name, runner_options().jail(jail().hide("/usr/share/doc"))),
                    [&](auto& runner) -> awaitable<void> {
                      code_request request("import os\nlen(os.listdir('/usr/share/doc'))");
                      result = co_await runner.run_code(std::move(request));
                    });
    });
    EXPECT_EQ(result.value_text(), "0") << result.reason();
    EXPECT_NE(result.isolation().of(isolation_kind::network), "none") << name;
    EXPECT_NE(result.isolation().of(isolation_kind::files), "none") << name;
  }
}

TEST(MakeRunner, guards_stand_on_it_and_a_limit_of_memory_is_a_wall) {
  run([]() -> awaitable<void> {
    auto recipe = make_runner("host", quiet_host().python(python().memory_limit(1U << 30U))) | check_syntax() |
                  allow_imports("math");
    auto runner = co_await recipe.open();
    code_result good = co_await runner.run_code(code_request("import math\nmath.floor(2.5)"));
    EXPECT_EQ(good.value_text(), "2") << good.reason();
    EXPECT_NE(good.isolation().of(isolation_kind::memory).find("1073741824 bytes"), std::string_view::npos);
    code_result bad = co_await runner.run_code(code_request("import socket"));
    EXPECT_EQ(bad.kind(), error_kind::security_violation);
    EXPECT_TRUE(runner.has_environment());
    std::vector<directory_entry> entries = co_await list_directory(runner.environment(), ".");
    EXPECT_TRUE(entries.empty());
    co_await runner.close();
  });
}

TEST(MakeRunner, what_a_reader_in_the_environment_finds_stands_behind_an_erased_runner_too) {
  run([]() -> awaitable<void> {
    python_reader inside;
    auto recipe =
        make_runner("host", quiet_host()) | check_syntax().reader(std::move(inside).place(analysis_place::guest));
    auto runner = co_await recipe.open();
    code_result good = co_await runner.run_code(code_request("6 * 7"));
    EXPECT_EQ(good.value_text(), "42") << good.reason();
    code_result bad = co_await runner.run_code(code_request("6 *"));
    EXPECT_EQ(bad.kind(), error_kind::security_violation);
    co_await runner.close();
  });
}

TEST(MakeRunner, guards_judge_the_code_and_not_the_programs_own_prelude) {
  run([]() -> awaitable<void> {
    auto recipe = make_runner("host", quiet_host()) | allow_imports("math");
    auto runner = co_await recipe.open();
    code_request with_tools("basename('/a/b')");
    with_tools.prelude("import os\nbasename = os.path.basename\n");
    code_result good = co_await runner.run_code(std::move(with_tools));
    EXPECT_EQ(good.value_text(), "'b'") << good.reason();
    code_result bad = co_await runner.run_code(code_request("import os\nos.path.basename('/a/b')"));
    EXPECT_EQ(bad.kind(), error_kind::security_violation);
    co_await runner.close();
  });
}

TEST(MakeRunner, pyodide_by_name_says_what_its_wall_is_and_has_no_environment) {
  COFFERDAM_NEEDS_DENO();
  const auto work = []() -> awaitable<void> {
    auto recipe = make_runner("pyodide", runner_options().pyodide(cofferdam_test::fast_pyodide())) | check_syntax();
    auto runner = co_await recipe.open();
    code_request request("double(21)");
    request.prelude("def double(x): return 2 * x").timeout(std::chrono::seconds(100));
    code_result good = co_await runner.run_code(std::move(request));
    EXPECT_EQ(good.value_text(), "42") << good.reason();
    EXPECT_EQ(good.isolation().of(isolation_kind::files), "Deno's permissions: no files of the host");
    EXPECT_EQ(good.isolation().of(isolation_kind::network), "Deno's permissions: nothing");
    EXPECT_NE(good.isolation().of(isolation_kind::system_calls).find("the kernel does not restrict Deno's process"),
              std::string_view::npos);
    EXPECT_NE(good.isolation().of(isolation_kind::memory).find("bytes for each interpreter"), std::string_view::npos);
    EXPECT_FALSE(runner.has_environment());
    EXPECT_EQ(cofferdam_test::code_of([&] { runner.environment(); }), exec_errc::unsupported);
    co_await runner.close();
  };
  run(work, std::chrono::seconds(300));
}

}  // namespace
