// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/allow_imports.hpp>
#include <cofferdam/code/analyze_code.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/with.hpp>

#include "code/guard_support.hpp"
#include "support/error_of.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace {

using namespace cofferdam;
using cofferdam_test::fake_runner;
using cofferdam_test::run;

using words = std::set<std::string>;

const std::string program =
    "import os.path as p, json\n"
    "from random import choice\n"
    "__import__('sta' + 'tistics')\n"
    "class Shape:\n"
    "  def area(self): return len(self.sides)\n"
    "  async def load(self): self.name.upper()\n"
    "def main():\n"
    "  def inner(): return lambda: 1\n"
    "  print(choice([1]), p.join('a', 'b'), json.dumps(1), json.loads)\n";

code_analysis facts_of(const std::string& source) {
  std::unique_ptr<code_analysis> facts;
  run([&]() -> awaitable<void> {
    code_analysis found = co_await analyze_code(source);
    facts = std::make_unique<code_analysis>(std::move(found));
  });
  return *facts;
}

TEST(AnalyzeCode, imports_functions_classes_names_and_calls_are_told_and_nothing_runs) {
  const cofferdam_test::temporary_folder folder;
  const code_analysis facts = facts_of(program + "open('" + (folder / "ran").string() + "', 'w')\nraise SystemExit\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "ran"));
  EXPECT_FALSE(facts.problem());
  EXPECT_EQ(facts.imports(), (words{"json", "os.path", "random", "statistics"}));
  EXPECT_EQ(facts.functions(), (words{"Shape.area", "Shape.load", "main", "main.inner"}));
  EXPECT_EQ(facts.classes(), words{"Shape"});
  for (const char* const name : {"json.dumps", "json.loads", "os.path.join", "random.choice", "print", "SystemExit"})
    EXPECT_TRUE(facts.names().contains(name)) << name;
  for (const char* const name : {"json.dumps", "os.path.join", "random.choice", "print", "len", ".upper", "open"})
    EXPECT_TRUE(facts.calls().contains(name)) << name;
  EXPECT_FALSE(facts.calls().contains("json.loads"));
  for (const code_feature& each : facts.all())
    if (each.kind() == feature_kind::definition && each.name() == "Shape.load") {
      EXPECT_EQ(each.line(), 6);
      EXPECT_EQ(each.detail(), "coroutine");
    }
}

TEST(AnalyzeCode, a_syntax_error_has_its_line_and_no_facts) {
  const code_analysis facts = facts_of("x = 1\nif x:\ny = 2\n");
  ASSERT_TRUE(facts.problem());
  EXPECT_EQ(facts.problem()->type(), "IndentationError");
  EXPECT_EQ(facts.problem()->line(), 3);
  EXPECT_TRUE(facts.imports().empty());
}

TEST(AnalyzeCode, an_analyzer_reads_piece_after_piece_and_is_closed) {
  run([]() -> awaitable<void> {
    code_analyzer analyzer;
    for (const char* const name : {"json", "csv"}) {
      code_analysis facts = co_await analyzer.analyze("import " + std::string(name));
      EXPECT_EQ(facts.imports(), words{name});
    }
    co_await analyzer.close();
    co_await analyzer.close();
    bool is_closed = false;
    try {
      co_await analyzer.analyze("import json");
    } catch (const error& failure) {
      is_closed = failure.code() == exec_errc::environment_closed;
    }
    EXPECT_TRUE(is_closed);
  });
}

TEST(AnalyzeCode, without_a_python_it_is_an_error) {
  const auto failure = cofferdam_test::error_of([] {
    run([]() -> awaitable<void> {
      python_reader reader;
      reader.interpreter("/no/such/python");
      co_await analyze_code("1", reader);
    });
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code(), exec_errc::provider_failed);
}

TEST(AnalyzeCode, a_runner_is_asked_with_the_reader_of_its_guards_and_runs_nothing) {
  run([]() -> awaitable<void> {
    const auto notes = std::make_shared<fake_runner::notes>();
    auto guarded = fake_runner(notes) | allow_imports() | check_syntax();
    code_analysis facts = co_await analyze_code(guarded, "import os");
    EXPECT_EQ(facts.imports(), words{"os"});
    fake_runner bare(notes);
    facts = co_await analyze_code(bare, "import csv");
    EXPECT_EQ(facts.imports(), words{"csv"});
    co_await guarded.close();
    bool is_closed = false;
    try {
      co_await analyze_code(guarded, "import re");
    } catch (const error& failure) {
      is_closed = failure.code() == exec_errc::environment_closed;
    }
    EXPECT_TRUE(is_closed) << "the guards share their reader";
    EXPECT_TRUE(notes->ran.empty());
  });
}

TEST(AnalyzeCode, a_runner_without_guards_is_asked_too) {
  run([]() -> awaitable<void> {
    co_await with(local().without_warning() | python(), [](auto& runner) -> awaitable<void> {
      code_analysis facts = co_await analyze_code(runner, "import csv\nx = (");
      EXPECT_TRUE(facts.problem() && facts.problem()->line() == 2);
    });
  });
}

/// A policy of a user's own, made of the same facts.
class one_function {
 public:
  static constexpr std::string_view name = "one_function";
  std::optional<guard_refusal> judge(const code_analysis& facts) const {
    if (facts.functions() == words{"solve"}) return std::nullopt;
    return guard_refusal("one_function", 0, "the code does not define exactly the function 'solve'", "Define it.");
  }
};
class must_define_solve : public guard<must_define_solve> {
 public:
  one_function policy() const { return {}; }
};

TEST(AnalyzeCode, a_guard_of_ones_own_decides_by_the_same_facts) {
  run([]() -> awaitable<void> {
    const auto notes = std::make_shared<fake_runner::notes>();
    auto guarded = fake_runner(notes) | must_define_solve();
    code_result refused = co_await guarded.run_code(code_request("def answer(): pass"));
    EXPECT_EQ(refused.kind(), error_kind::security_violation);
    code_result accepted = co_await guarded.run_code(code_request("def solve(): pass"));
    EXPECT_TRUE(accepted.ok());
    co_await guarded.close();
  });
}

}  // namespace
