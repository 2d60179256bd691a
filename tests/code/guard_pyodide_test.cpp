// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of guards (layers that may refuse code) around a Pyodide runner. They parse code with Pyodide's own Python, if
// the host has no Python or an older one.

#include <cofferdam/code/allow_imports.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/make_runner.hpp>
#include <cofferdam/code/pyodide.hpp>
#include <cofferdam/code/reject_patterns.hpp>
#include <cofferdam/core/with.hpp>

#include "code/pyodide_support.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

// This namespace is named, because coroutine templates are instantiated with its types, and g++ warns about types of
// an unnamed namespace.
namespace guard_pyodide {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::all_of;
using cofferdam_test::denos;
using cofferdam_test::eventually;
using cofferdam_test::fast_pyodide;
using cofferdam_test::value_of;

using run_one = std::function<awaitable<code_result>(std::string)>;

/// Opens a Pyodide runner with all guards that parse code, and calls `body`. Expects that no Deno process is left
/// afterwards.
void with_guards(python_reader settings, std::function<awaitable<void>(run_one)> body) {
  const auto guarded =
      fast_pyodide() | check_syntax().reader(std::move(settings)) | allow_imports("json", "string") | reject_patterns();
  cofferdam_test::run(
      [&] {
        return with(guarded, [&body](auto& runner) -> awaitable<void> {
          const run_one runs = [&runner](std::string code) { return runner.run_code(code_request(std::move(code))); };
          co_await body(runs);
        });
      },
      300s);
  EXPECT_TRUE(eventually([] { return denos().empty(); }));
}

python_reader no_python_on_the_host() { return python_reader().interpreter("no-such-python"); }

/// Returns the pid of the Deno process that parses code for the guards; 0 means none.
pid_t reading_deno() {
  for (const auto& each : denos())
    if (cofferdam_test::read_proc("/proc/" + std::to_string(each.pid) + "/cmdline").find("cofferdam python reader") !=
        std::string::npos)
      return each.pid;
  return 0;
}

TEST(GuardPyodide, guards_work_where_the_host_has_no_python) {
  COFFERDAM_NEEDS_DENO();
  with_guards(no_python_on_the_host(), [](run_one runs) -> awaitable<void> {
    code_result good = co_await runs("import json\njson.dumps({'a': [1]})");
    EXPECT_EQ(value_of(good), R"("{\"a\": [1]}")") << all_of(good);
    code_result wrong = co_await runs("x = 1\ny = (");
    EXPECT_EQ(wrong.kind(), error_kind::security_violation) << all_of(wrong);
    EXPECT_NE(wrong.reason().find("finds a SyntaxError in line 2"), std::string::npos) << wrong.reason();
    for (const char* const attack :
         {"import os", "eval('1')", "import json\njson.codecs.sys.modules['os'].system('id')",
          "().__class__.__base__.__subclasses__()", "while True: pass"}) {
      code_result refused = co_await runs(attack);
      EXPECT_EQ(refused.kind(), error_kind::security_violation) << attack << ": " << all_of(refused);
      EXPECT_EQ(refused.reason().rfind("Not run: ", 0), 0U) << refused.reason();
    }
    // The guard also detects modules that are reached through a module of the standard library.
    code_result through = co_await runs("import string\nstring._re.enum.sys.exit()");
    EXPECT_NE(through.reason().find("sys"), std::string::npos) << all_of(through);
    EXPECT_EQ(denos().size(), 3U) << "one starts the interpreters, one is an interpreter, and one reads code";
  });
}

TEST(GuardPyodide, a_warm_decision_takes_milliseconds) {
  COFFERDAM_NEEDS_DENO();
  with_guards(no_python_on_the_host(), [](run_one runs) -> awaitable<void> {
    std::string code = "import json\n";
    for (int i = 0; i < 12; ++i)
      code += "def f" + std::to_string(i) +
              "(a, b):\n    x = [i * 2 for i in range(a)]\n    return json.dumps({'k': x, 'b': b})\n";
    std::vector<double> times;
    for (int i = 0; i < 101; ++i) {
      // The import makes the guard refuse the code, so only the decision is measured.
      std::string refused_code = code + "import os  # " + std::to_string(i);
      const auto begin = std::chrono::steady_clock::now();
      code_result refused = co_await runs(std::move(refused_code));
      EXPECT_EQ(refused.kind(), error_kind::security_violation);
      times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(times.begin(), times.end());
    std::printf("  decision over 38 lines, warm: p50 %.2f ms\n", times[times.size() / 2]);
    EXPECT_LT(times[times.size() / 2], 500);
  });
}

TEST(GuardPyodide, syntax_that_is_newer_than_the_hosts_python_is_read_by_pyodides) {
  COFFERDAM_NEEDS_DENO();
  with_guards(python_reader(), [](run_one runs) -> awaitable<void> {
    code_result plain = co_await runs("1 + 1");
    EXPECT_EQ(value_of(plain), "2") << all_of(plain);
    EXPECT_EQ(reading_deno(), 0) << "the host reads what it can";
    code_result templates = co_await runs("n = 1\nt'{n}'.values[0]");
    EXPECT_EQ(value_of(templates), "1") << all_of(templates);
    code_result nested = co_await runs("d = {'a': 1}\nf\"{d[\"a\"]}\"");
    EXPECT_EQ(value_of(nested), "\"1\"") << all_of(nested);
    code_result attack = co_await runs("import os\nt'{os.name}'");
    EXPECT_EQ(attack.kind(), error_kind::security_violation) << all_of(attack);
    EXPECT_NE(attack.reason().find("allow_imports refuses line 1"), std::string::npos) << attack.reason();
  });
}

TEST(GuardPyodide, the_place_that_is_named_is_the_only_one_that_is_asked) {
  COFFERDAM_NEEDS_DENO();
  with_guards(python_reader().place(analysis_place::guest), [](run_one runs) -> awaitable<void> {
    code_result plain = co_await runs("1 + 1");
    EXPECT_EQ(value_of(plain), "2") << all_of(plain);
    EXPECT_GT(reading_deno(), 0);
  });
  with_guards(python_reader().place(analysis_place::host), [](run_one runs) -> awaitable<void> {
    code_result templates = co_await runs("t'{1}' +");
    EXPECT_EQ(templates.kind(), error_kind::security_violation) << all_of(templates);
    EXPECT_NE(templates.reason().find("on the host reports this; the code would run on Python 3.14"), std::string::npos)
        << templates.reason();
    EXPECT_EQ(reading_deno(), 0);
  });
}

TEST(GuardPyodide, a_reader_that_dies_is_replaced_and_one_that_takes_too_long_is_ended) {
  COFFERDAM_NEEDS_DENO();
  with_guards(no_python_on_the_host().timeout(500ms), [](run_one runs) -> awaitable<void> {
    code_result first = co_await runs("1");
    EXPECT_EQ(value_of(first), "1") << all_of(first);
    const pid_t before = reading_deno();
    EXPECT_GT(before, 0);
    if (before > 0) {
      EXPECT_EQ(::kill(before, SIGKILL), 0);
    }
    code_result killed = co_await runs("import os");
    EXPECT_EQ(killed.kind(), error_kind::security_violation) << all_of(killed);
    EXPECT_NE(reading_deno(), before);

    // The expression is nested deeper than the stack of WebAssembly permits.
    std::string sum = "x = 1";
    for (int i = 0; i < 50'000; ++i) sum += " + 1";
    code_result deep = co_await runs(sum);
    EXPECT_EQ(deep.kind(), error_kind::security_violation) << all_of(deep);
    EXPECT_NE(deep.reason().find("nested too deeply"), std::string::npos) << deep.reason();
    code_result after_deep = co_await runs("2");
    EXPECT_EQ(value_of(after_deep), "2") << all_of(after_deep);

    std::string statements;
    for (int i = 0; i < 90'000; ++i) statements += "x=[1]\n";
    code_result slow = co_await runs(statements);
    EXPECT_EQ(slow.kind(), error_kind::security_violation) << all_of(slow).substr(0, 500);
    EXPECT_NE(slow.reason().find("cannot be read within"), std::string::npos) << slow.reason();
    code_result after_slow = co_await runs("3");
    EXPECT_EQ(value_of(after_slow), "3") << all_of(after_slow);
    EXPECT_EQ(denos().size(), 3U);
  });
}

TEST(GuardPyodide, the_reader_starts_from_the_snapshot_of_the_runner) {
  COFFERDAM_NEEDS_DENO();
  const cofferdam_test::temporary_folder images;
  const char* const made = std::getenv("COFFERDAM_PYODIDE_SNAPSHOTS");
  if (made != nullptr) std::filesystem::copy(made, images.path());
  const auto with_image = pyodide().snapshots(images.path().string());
  const code_result result = cofferdam_test::run_pyodide(code_request("1 + 1"), with_image);
  EXPECT_EQ(value_of(result), "2") << all_of(result);
  std::string problem;
  const auto guarded = with_image | check_syntax().reader(no_python_on_the_host()) | reject_patterns();
  cofferdam_test::run(
      [&] {
        return with(guarded, [&](auto& runner) -> awaitable<void> {
          // An interpreter cannot start from an empty image.
          for (const auto& image : std::filesystem::directory_iterator(images.path()))
            std::filesystem::resize_file(image.path(), 0);
          code_request request("1 + 1");
          try {
            code_result refused = co_await runner.run_code(std::move(request));
            ADD_FAILURE() << all_of(refused);
          } catch (const error& failure) {
            problem = failure.what();
          }
        });
      },
      300s);
  EXPECT_NE(problem.find("Snapshot"), std::string::npos) << problem;
}

TEST(GuardPyodide, a_runner_by_its_name_is_guarded_alike) {
  COFFERDAM_NEEDS_DENO();
  const auto guarded = make_runner("pyodide", runner_options().pyodide(fast_pyodide())) |
                       check_syntax().reader(no_python_on_the_host()) | allow_imports("json");
  cofferdam_test::run(
      [&] {
        return with(guarded, [](auto& runner) -> awaitable<void> {
          code_request attack("import os");
          code_result refused = co_await runner.run_code(std::move(attack));
          EXPECT_EQ(refused.kind(), error_kind::security_violation) << all_of(refused);
          code_request good("1 + 1");
          code_result sum = co_await runner.run_code(std::move(good));
          EXPECT_EQ(value_of(sum), "2") << all_of(sum);
          EXPECT_TRUE(runner.version().starts_with("314."));
        });
      },
      300s);
  EXPECT_TRUE(eventually([] { return denos().empty(); }));
}

}  // namespace guard_pyodide
