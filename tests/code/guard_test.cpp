// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/code/allow_imports.hpp>
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/guard.hpp>
#include <cofferdam/code/limit_code.hpp>
#include <cofferdam/code/reject_patterns.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/timeout.hpp>

#include "code/guard_support.hpp"
#include "support/census.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

// This namespace is named, because coroutine templates are instantiated with its types, and g++ warns about types of
// an unnamed namespace.
namespace guard_test {

using cofferdam::allow_imports;
using cofferdam::awaitable;
using cofferdam::check_syntax;
using cofferdam::code_request;
using cofferdam::code_result;
using cofferdam::error_kind;
using cofferdam::exec_errc;
using cofferdam::limit_code;
using cofferdam::python_reader;
using cofferdam::reject_patterns;
using cofferdam_test::fake_runner;
using cofferdam_test::fake_runner_provider;
using cofferdam_test::read_all;
using cofferdam_test::read_one;
using cofferdam_test::run;
using namespace std::chrono_literals;

using stack =
    decltype(fake_runner_provider(nullptr) | limit_code() | check_syntax() | allow_imports() | reject_patterns());
static_assert(cofferdam::code_runner_provider<stack>);
static_assert(cofferdam::context_runner<cofferdam::runner_of<stack>>);
// A guard is no layer for other types than runners, and a layer for commands is no layer for runners.
static_assert(!cofferdam::layer_for<cofferdam::timeout, fake_runner>);
static_assert(cofferdam::layer_for<check_syntax, fake_runner>);
static_assert(!cofferdam::layer_for<check_syntax, int>);

std::shared_ptr<fake_runner::notes> book() { return std::make_shared<fake_runner::notes>(); }

/// Runs each piece of code in a runner behind the guards, and returns the results.
template <class Provider>
std::vector<code_result> answers(Provider provider, const std::vector<std::string>& codes) {
  std::vector<code_result> results;
  run([&] {
    return cofferdam::with(provider, [&](auto& runner) -> awaitable<void> {
      for (const std::string& each : codes) {
        code_request request(each);
        code_result result = co_await runner.run_code(std::move(request));
        results.push_back(std::move(result));
      }
    });
  });
  return results;
}

template <class Provider>
code_result answer(Provider provider, const std::string& code) {
  const std::vector<std::string> codes(1, code);
  return answers(std::move(provider), codes).front();
}

/// A shell script with this text, which tests use in place of a Python interpreter.
class script {
 public:
  explicit script(const std::string& text) {
    std::string name = (std::filesystem::temp_directory_path() / "cofferdam-guard-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) folder_ = name;
    std::ofstream(path()) << "#!/bin/sh\n" << text;
    ::chmod(path().c_str(), 0700);
  }
  script(const script&) = delete;
  script& operator=(const script&) = delete;
  ~script() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string path() const { return (folder_ / "python3").string(); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

}  // namespace guard_test

using namespace guard_test;

// Feature: D4, D7, D14, D19
TEST(Guard, each_alone_refuses_its_own_and_lets_the_rest_run) {
  const auto notes = book();
  const fake_runner_provider runner(notes);
  EXPECT_EQ(answer(runner | check_syntax(), "x = (").kind(), error_kind::security_violation);
  EXPECT_EQ(answer(runner | allow_imports(), "import os").kind(), error_kind::security_violation);
  EXPECT_EQ(answer(runner | reject_patterns(), "eval('1')").kind(), error_kind::security_violation);
  EXPECT_EQ(answer(runner | limit_code(10), "x = 1234567").kind(), error_kind::security_violation);
  EXPECT_EQ(answer(runner | limit_code(100, 2), "1\n2\n3").kind(), error_kind::security_violation);
  EXPECT_EQ(answer(runner | limit_code(100, 2), "1\r2\r3").kind(), error_kind::security_violation);
  EXPECT_EQ(answer(runner | limit_code(100, 2), "1\r\n\r\r\n").kind(), error_kind::security_violation);
  EXPECT_TRUE(notes->ran.empty());
  EXPECT_TRUE(answer(runner | check_syntax(), "import os").ok());
  EXPECT_TRUE(answer(runner | allow_imports("json"), "import json").ok());
  EXPECT_TRUE(answer(runner | reject_patterns(), "import json").ok());
  EXPECT_TRUE(answer(runner | limit_code(100, 2), "1\n2\n").ok());
  // A form feed does not end a line, nor does a vertical tab.
  EXPECT_TRUE(answer(runner | limit_code(100, 2), "1\r\n2\f3\v4\r").ok());
  EXPECT_EQ(notes->ran.size(), 5U);
  EXPECT_EQ(notes->closed, 12);
}

TEST(Guard, all_together_in_any_order_refuse_the_same) {
  const std::vector<std::string> codes = {"x = (", "import os", "eval('1')", "x = 1\n", std::string(300, '#')};
  const auto expect = [](const std::vector<code_result>& results) {
    ASSERT_EQ(results.size(), 5U);
    for (const std::size_t i : {0U, 1U, 2U, 4U}) EXPECT_EQ(results[i].kind(), error_kind::security_violation) << i;
    EXPECT_TRUE(results[3].ok());
  };
  const auto notes = book();
  const fake_runner_provider runner(notes);
  expect(answers(runner | check_syntax() | allow_imports("json") | reject_patterns() | limit_code(200), codes));
  expect(answers(runner | limit_code(200) | reject_patterns() | allow_imports("json") | check_syntax(), codes));
  expect(answers(runner | (check_syntax() | limit_code(200)) | (allow_imports() | reject_patterns()), codes));
  EXPECT_EQ(notes->ran, (std::vector<std::string>{"x = 1\n", "x = 1\n", "x = 1\n"}));
}

// Feature: D6
TEST(Guard, a_refusal_names_rule_line_text_and_what_to_do) {
  const code_result imports = answer(fake_runner_provider(book()) | allow_imports("json"), "x = 1\n  \nimport os\n");
  EXPECT_EQ(imports.reason(),
            "Not run: allow_imports refuses line 3, \"import os\": the module 'os' is not allowed. Import only these "
            "modules, each by its own name: ast, json, operator, random, re, time.");
  const code_result syntax = answer(fake_runner_provider(book()) | check_syntax(), "x = 1\ny = = 2\n");
  EXPECT_EQ(
      syntax.reason(),
      "Not run: check_syntax finds a SyntaxError in line 2, column 5, \"y = = 2\": invalid syntax. Correct it and "
      "send all of the code again; only Python runs here.");
  ASSERT_TRUE(syntax.failure());
  EXPECT_EQ(syntax.failure()->type(), "SyntaxError");
  EXPECT_EQ(syntax.failure()->line(), 2);
  const code_result patterns = answer(fake_runner_provider(book()) | reject_patterns(), "import re\n    \nexec('x')\n");
  EXPECT_EQ(
      patterns.reason().find("Not run: reject_patterns refuses line 3, \"exec('x')\": Dangerous builtin: exec. Do"), 0U)
      << patterns.reason();
  EXPECT_EQ(imports.exit_code(), -1);
  EXPECT_FALSE(imports.ok());
}

TEST(Guard, contexts_close_and_open_runners_are_passed_through) {
  const auto notes = book();
  run([&]() -> awaitable<void> {
    auto guarded = fake_runner(notes) | check_syntax() | limit_code();
    code_request request("x = 1");
    request.context("one");
    code_result result = co_await guarded.run_code(std::move(request));
    EXPECT_TRUE(result.ok());
    std::vector<std::string> names = co_await guarded.contexts();
    EXPECT_EQ(names, std::vector<std::string>(1, "one"));
    const bool ended = co_await guarded.end_context("one");
    EXPECT_TRUE(ended);
    cofferdam::any_runner any(std::move(guarded));
    code_request wrong("x = (");
    code_result refused = co_await any.run_code(std::move(wrong));
    EXPECT_EQ(refused.kind(), error_kind::security_violation);
    co_await any.close();
    co_await any.close();
  });
  EXPECT_EQ(notes->closed, 2);
}

TEST(Guard, a_closed_guard_runs_nothing) {
  const auto notes = book();
  run([&]() -> awaitable<void> {
    auto guarded = fake_runner(notes) | check_syntax();
    co_await guarded.close();
    exec_errc code{};
    try {
      code_request request("1");
      co_await guarded.run_code(std::move(request));
    } catch (const cofferdam::error& reason) {
      code = static_cast<exec_errc>(reason.code().value());
    }
    EXPECT_EQ(code, exec_errc::environment_closed);
  });
  EXPECT_TRUE(notes->ran.empty());
}

TEST(Guard, no_python_is_an_error_that_says_what_to_do) {
  const auto provider =
      fake_runner_provider(book()) | check_syntax().reader(python_reader().interpreter("no-such-python"));
  try {
    answer(provider, "1");
    FAIL();
  } catch (const cofferdam::error& reason) {
    EXPECT_EQ(reason.code(), exec_errc::provider_failed);
    EXPECT_NE(std::string(reason.what()).find("no-such-python"), std::string::npos) << reason.what();
    EXPECT_NE(std::string(reason.what()).find("install Python"), std::string::npos) << reason.what();
  }
}

TEST(Guard, an_interpreter_that_is_none_is_an_error_with_its_words) {
  const script other("echo 'not today' >&2; exit 1\n");
  const auto provider = fake_runner_provider(book()) | check_syntax().reader(python_reader().interpreter(other.path()));
  try {
    answer(provider, "1");
    FAIL();
  } catch (const cofferdam::error& reason) {
    EXPECT_EQ(reason.code(), exec_errc::provider_failed);
    EXPECT_NE(std::string(reason.what()).find("not today"), std::string::npos) << reason.what();
  }
}

TEST(Guard, a_reader_that_was_killed_is_started_again) {
  const script python("echo $$ > \"$(dirname \"$0\")/pid\"\nexec python3 \"$@\"\n");
  int killed = 0;
  const auto analyses = read_all({"import json\n", "import csv\n", "x = 1\n"},
                                 python_reader().interpreter(python.path()), [&](std::size_t at) {
                                   if (at == 0) return;
                                   int pid = 0;
                                   std::ifstream(python.file("pid")) >> pid;
                                   if (pid > 0 && ::kill(pid, SIGKILL) == 0) ++killed;
                                 });
  EXPECT_EQ(killed, 2);
  for (const auto& each : analyses) EXPECT_FALSE(each->problem()) << each->problem()->message();
  EXPECT_FALSE(analyses[1]->all().empty());
}

TEST(Guard, a_reader_that_says_nonsense_or_nothing_is_no_permission) {
  const std::string greets = "printf '\\ncofferdam python reader 2 3.11\\n'\n";
  const script nonsense(greets + "head -c 9 > /dev/null\nprintf '\\000\\000\\000\\002{}'\ncat > /dev/null\n");
  EXPECT_THROW(read_all({"x = 1"}, python_reader().interpreter(nonsense.path())), cofferdam::error);
  const script silent(greets + "cat > /dev/null\n");
  const auto facts = read_all({"x = 1"}, python_reader().interpreter(silent.path()).timeout(100ms)).front();
  ASSERT_TRUE(facts->problem());
  EXPECT_EQ(facts->problem()->type(), "TooCostly");
}

TEST(Guard, hostile_sources_are_refused_soon_and_the_next_is_read) {
  std::string sum = "x = 1";
  for (int i = 0; i < 50'000; ++i) sum += " + 1";
  std::string chain = "x";
  for (int i = 0; i < 100'000; ++i) chain += ".a";
  std::string statements;
  for (int i = 0; i < 90'000; ++i) statements += "x=[1]\n";
  const std::vector<std::string> hostile = {
      std::string(100'000, '('),
      std::string(100'000, '-') + "1",
      std::string(100'000, '[') + std::string(100'000, ']'),
      std::string(10 * 1024 * 1024, 'x'),
      sum,
      chain,
      "x = " + std::string(900'000, '9'),
      "x = 'a\\ud800'\nprint(x)",
      std::string("x = 1\0y", 7),
      "x = '\xed\xa0\x80'",
      "\xff\xfe",
      "f'{" + std::string(5000, '{') + "}'",
      "if 1:\n" +
          [] {
            std::string deep;
            for (int i = 1; i < 200; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "if 1:\n";
            return deep;
          }(),
      statements,
      "x = 'import json'\n",
  };
  std::vector<std::chrono::steady_clock::time_point> times;
  const auto analyses =
      read_all(hostile, python_reader(), [&](std::size_t) { times.push_back(std::chrono::steady_clock::now()); });
  times.push_back(std::chrono::steady_clock::now());
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(times[i + 1] - times[i]);
    std::printf("  %zu: %lld ms %s\n", i, static_cast<long long>(took.count()),
                analyses[i]->problem() ? analyses[i]->problem()->message().substr(0, 70).c_str() : "read");
    EXPECT_LT(took, 20s);
  }
  for (const std::size_t i : {0U, 1U, 2U, 3U, 5U, 6U, 8U, 9U, 10U, 11U, 12U}) EXPECT_TRUE(analyses[i]->problem()) << i;
  EXPECT_FALSE(analyses[7]->problem());
  EXPECT_FALSE(analyses.back()->problem());
}

TEST(Guard, names_that_are_bound_to_themselves_are_decided_soon) {
  const auto many = [](int count, const std::function<std::string(int)>& line) {
    std::string text;
    for (int i = 1; i <= count; ++i) text += line(i);
    return text;
  };
  const auto n = [](int i) { return std::to_string(i); };
  const std::vector<std::string> ordinary = {
      "x = (x - min(x)) / (max(x) - min(x))\nprint(x)",
      "df = (df - df.mean()) / df.std()\nprint(df)",
      "total = total + total * 0.1\nprint(f'{total}')",
      "s = s + ', ' + s\nprint(s[0])",
      "data = data[1:] + data[:1]\nfor d in data: print(d)",
      "x = x*x + x*2 + 1\ny = [0]*x\n'{}'.format(x)",
      "from turtle import *\ndef f():\n    global c\n    c = c[1:]+c[:1]\n    color(c[0])",
      "def f():\n    global count\n    count = count + count % 7\n    print(str(count))\nf()",
      "a = b + b\nb = a + a\nprint(f'{a}{b}')",
      "df = df.dropna()\ndf = df.rename()\ndf = df.sort_values('a')\ndf = df.head()\ndf = df.copy()\nprint(df.x)",
      "a = b.next()\nb = a.next()\na = b.other()\nb = a.other()\na = b.last()\nb = a.last()\nprint(a.x, b.x)",
  };
  for (const cofferdam_test::decision& each : cofferdam_test::decisions(ordinary)) {
    EXPECT_FALSE(each.facts->problem()) << each.code << "\n" << each.facts->problem()->message();
    EXPECT_LT(each.took, 1s) << each.code;
  }
  const auto patient = [] { return python_reader().timeout(20s); };
  const std::vector<std::string> long_ones = {
      many(1000, [&](int i) { return "a" + n(i) + "=a" + n(i - 1) + "+a" + n(i - 1) + "\n"; }),
      many(1000, [&](int i) { return "a" + n(1001 - i) + "=a" + n(1000 - i) + "+a" + n(1000 - i) + "\n"; }),
      many(1000, [&](int i) { return "df=df.a" + n(i) + "().b(df)\n"; }),
      "x = " + many(1500, [&](int) { return std::string("'a' + "); }) + "'b'",
      many(2000,
           [&](int i) { return "def f" + n(i) + "(a):\n    for k in range(a):\n        a += k\n    return a\n"; }),
  };
  for (const cofferdam_test::decision& each : cofferdam_test::decisions(long_ones, patient())) {
    EXPECT_FALSE(each.facts->problem()) << each.code.substr(0, 60) << "\n" << each.facts->problem()->message();
    EXPECT_LT(each.took, 5s) << each.code.substr(0, 60);
  }
  // Hostile code is refused by its content, not because the reader exceeds its time limit.
  const std::vector<std::string> hostile = {
      many(900, [&](int i) { return "x" + n(i / 30) + "=x" + n(i % 30) + ".f()\n"; }) +
          many(3600, [&](int i) { return "y" + n(i / 60) + "=y" + n(i % 60) + ".f()\n"; }),
      "s='a'*4096\n" + many(20'000, [](int) { return std::string("s.replace('',s);"); }),
      "s='" + many(20'000, [](int) { return std::string("a=1;"); }) + "'\n" +
          many(5000, [](int) { return std::string("exec(s)\n"); }),
  };
  for (const cofferdam_test::decision& each : cofferdam_test::decisions(hostile, patient())) {
    ASSERT_TRUE(each.facts->problem()) << each.code.substr(0, 60);
    EXPECT_EQ(each.facts->problem()->type(), "TooDeep") << each.code.substr(0, 60);
  }
}

TEST(Guard, the_reader_executes_nothing_of_what_it_reads) {
  const script here("");
  const std::string mark = here.file("mark");
  const std::string writes = "open('" + mark + "', 'w').write('x')\n";
  const auto facts = read_one(writes + "import antigravity, this\nexec(\"" + writes.substr(0, writes.size() - 1) +
                              "\")\nclass A:\n    " + writes +
                              "@(lambda f: f)\ndef f(x=" + writes.substr(0, writes.size() - 1) + "): pass\n");
  EXPECT_FALSE(facts->problem());
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST(Guard, cancelled_while_it_reads_it_has_run_nothing) {
  const std::string greets = "printf '\\ncofferdam python reader 2 3.11\\n'\n";
  const script silent(greets + "cat > /dev/null\n");
  for (std::size_t step = 0; step < 400; step += 7) {
    const auto notes = book();
    std::exception_ptr failure;
    const bool ended = cofferdam_test::cancel_after(
        step,
        // The runner is local to the coroutine, so it is destroyed with it, before its executor.
        [&]() -> awaitable<int> {
          auto guarded =
              fake_runner(notes) | check_syntax().reader(python_reader().interpreter(silent.path()).timeout(300ms));
          code_request request("1");
          std::exception_ptr thrown;
          try {
            code_result result = co_await guarded.run_code(std::move(request));
            EXPECT_EQ(result.kind(), error_kind::security_violation);
          } catch (const cofferdam::error&) {
            thrown = std::current_exception();
          }
          if (thrown) std::rethrow_exception(thrown);
          co_return 1;
        },
        failure);
    EXPECT_TRUE(notes->ran.empty());
    if (ended) break;
  }
}
