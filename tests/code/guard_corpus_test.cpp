// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Runs ordinary scripts through all guards (layers around a code runner that may refuse code): 500 scripts of this
// project (tests/code/corpus/ordinary_scripts.py), the examples of the installed standard library
// (library_examples.py), and notebook cells that use variables they did not set (notebooks.py). No script may be
// refused, and each may import only modules that the guard has predicted.

#include <cofferdam/code/allow_imports.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/code/reject_patterns.hpp>
#include <cofferdam/core/with.hpp>

#include "code/guard_support.hpp"
#include "code/python_support.hpp"
#include "support/paths.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

// This namespace is named, because coroutine templates are instantiated with its types, and g++ warns about types of
// an unnamed namespace.
namespace guard_corpus_test {

using cofferdam::awaitable;
using cofferdam::code_analysis;
using cofferdam::code_request;
using cofferdam::code_result;
using cofferdam::guard_refusal;
using cofferdam::import_policy;
using cofferdam::pattern_policy;
using cofferdam::syntax_policy;
using cofferdam_test::read_all;

const std::string corpus = cofferdam_test::source_path("tests/code/corpus/");

std::string output_of(const std::string& line) {
  std::string printed;
  FILE* const pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return printed;
  char buffer[65536];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) printed.append(buffer, n);
  ::pclose(pipe);
  return printed;
}

boost::json::array ordinary_scripts() {
  const std::string text = output_of("python3 '" + corpus + "ordinary_scripts.py'");
  return boost::json::parse(text).as_array();
}

/// Returns the modules that an agent for data analysis would be allowed to import.
std::vector<std::string> analysts_modules() {
  return std::vector<std::string>(
      {"abc",         "argparse",     "ast",        "asyncio",    "base64",      "binascii",    "bisect",   "calendar",
       "collections", "configparser", "contextlib", "copy",       "csv",         "dataclasses", "datetime", "decimal",
       "enum",        "fractions",    "functools",  "gzip",       "hashlib",     "heapq",       "html",     "io",
       "itertools",   "json",         "logging",    "math",       "matplotlib",  "numpy",       "operator", "os",
       "pandas",      "pathlib",      "pprint",     "queue",      "random",      "re",          "scipy",    "secrets",
       "shutil",      "sklearn",      "sqlite3",    "statistics", "string",      "struct",      "sys",      "tempfile",
       "textwrap",    "time",         "timeit",     "typing",     "unicodedata", "unittest",    "uuid",     "xml",
       "zipfile"});
}

/// Pieces of code, and for each the modules that it may import.
class corpus_of {
 public:
  std::vector<std::string> codes;
  std::vector<import_policy> policies;

  void add(std::string code, const std::vector<std::string>& modules) {
    codes.push_back(std::move(code));
    policies.emplace_back(modules);
  }
};

/// Returns the scripts and the examples of the standard library.
corpus_of whole_corpus() {
  corpus_of collected;
  for (const auto& each : ordinary_scripts()) collected.add(each.at("code").as_string().c_str(), analysts_modules());
  const auto library = boost::json::parse(output_of("python3 '" + corpus + "library_examples.py'"));
  for (const auto& each : library.at("examples").as_array()) {
    std::vector<std::string> modules = analysts_modules();
    // The module turtle imports tkinter.
    modules.emplace_back("tkinter");
    for (const auto& name : each.at("imports").as_array()) modules.emplace_back(name.as_string().c_str());
    collected.add(each.at("code").as_string().c_str(), modules);
  }
  std::printf("  %zu examples of the library of Python %s, without %lld\n", library.at("examples").as_array().size(),
              library.at("version").as_string().c_str(), static_cast<long long>(library.at("left_out").as_int64()));
  EXPECT_GE(library.at("examples").as_array().size(), 150U);
  EXPECT_LE(library.at("left_out").as_int64(), 15);
  return collected;
}

}  // namespace guard_corpus_test

using namespace guard_corpus_test;

TEST(GuardCorpus, none_of_500_ordinary_scripts_is_refused) {
  const corpus_of collected = whole_corpus();
  const std::vector<std::string>& codes = collected.codes;
  const std::set<std::string> different(codes.begin(), codes.end());
  ASSERT_GE(codes.size(), 650U);
  EXPECT_EQ(different.size(), codes.size());
  using clock = std::chrono::steady_clock;
  std::vector<clock::time_point> times;
  const auto facts = read_all(codes, cofferdam::python_reader(), [&](std::size_t) { times.push_back(clock::now()); });
  times.push_back(clock::now());
  std::vector<double> milliseconds;
  const pattern_policy patterns;
  std::size_t refused = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto before = clock::now();
    std::optional<guard_refusal> refusal = syntax_policy().judge(*facts[i]);
    if (!refusal) refusal = collected.policies[i].judge(*facts[i]);
    if (!refusal) refusal = patterns.judge(*facts[i]);
    const auto took = clock::now() - before + (i + 1 < times.size() ? times[i + 1] - times[i] : clock::duration());
    milliseconds.push_back(std::chrono::duration<double, std::milli>(took).count());
    if (facts[i]->problem() || refusal) ++refused;
    EXPECT_FALSE(facts[i]->problem()) << codes[i] << facts[i]->problem()->message();
    EXPECT_FALSE(refusal) << codes[i] << "line " << refusal->line() << ": " << refusal->what();
  }
  EXPECT_EQ(refused, 0U);
  std::sort(milliseconds.begin(), milliseconds.end());
  std::printf("  decision, warm, over %zu scripts: p50 %.2f ms, p95 %.2f ms\n", codes.size(),
              milliseconds[milliseconds.size() / 2], milliseconds[milliseconds.size() * 95 / 100]);
}

TEST(GuardCorpus, cells_that_go_on_with_names_they_did_not_bind_run) {
  const boost::json::array notebooks = boost::json::parse(output_of("python3 '" + corpus + "notebooks.py'")).as_array();
  ASSERT_GE(notebooks.size(), 14U);
  const cofferdam_test::python_folder folder;
  auto stack = folder.provider() | cofferdam::python() | cofferdam::check_syntax() |
               cofferdam::allow_imports(analysts_modules()) | cofferdam::reject_patterns();
  cofferdam_test::run(
      [&] {
        return cofferdam::with(stack, [&](auto& guarded) -> awaitable<void> {
          for (const auto& notebook : notebooks) {
            bool first = true;
            for (const auto& cell : notebook.at("cells").as_array()) {
              code_request request(cell.as_string().c_str());
              request.context(notebook.at("name").as_string().c_str());
              if (first)
                for (const auto& each : notebook.at("variables").as_object())
                  request.variable(std::string(each.key()), each.value());
              first = false;
              code_result result = co_await guarded.run_code(std::move(request));
              EXPECT_TRUE(result.ok()) << cell << "\n" << cofferdam_test::all_of(result);
            }
          }
        });
      },
      std::chrono::seconds(120));
}

TEST(GuardCorpus, what_accepted_code_imports_was_predicted) {
  const boost::json::array scripts = ordinary_scripts();
  std::vector<std::string> codes;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    if (!scripts[i].at("runs").as_bool() || (i >= 75 && i % 4 != 0)) continue;
    codes.emplace_back(scripts[i].at("code").as_string().c_str());
    names.emplace_back(scripts[i].at("name").as_string().c_str());
  }
  // These scripts import modules in other ways than by import statements.
  codes.emplace_back("__import__('col' + 'orsys').rgb_to_hls(0, 0, 0)\n");
  codes.emplace_back("import importlib\nimportlib.import_module('json.tool')\n");
  codes.emplace_back("def f():\n    from email.mime.text import MIMEText as M\n    return M('x')\nf()\n");
  codes.emplace_back("import timeit\ntimeit.timeit('import colorsys; colorsys.rgb_to_hls(0, 0, 0)', number=1)\n");
  codes.emplace_back("try:\n    breakpoint()\n    x = 1\nexcept BaseException: pass\n");
  while (names.size() < codes.size()) names.emplace_back("route " + std::to_string(names.size()));
  const auto facts = read_all(codes);
  boost::json::array questions;
  const import_policy anything({"*"});
  for (std::size_t i = 0; i < codes.size(); ++i) {
    ASSERT_FALSE(anything.judge(*facts[i])) << codes[i];
    boost::json::object question;
    question["name"] = names[i];
    question["code"] = codes[i];
    boost::json::array predicted;
    for (const std::string& each : import_policy::predicted(*facts[i])) predicted.emplace_back(each);
    question["predicted"] = std::move(predicted);
    questions.emplace_back(std::move(question));
  }
  const std::filesystem::path asked =
      std::filesystem::temp_directory_path() / ("cofferdam-imports-" + std::to_string(::getpid()) + ".json");
  std::ofstream(asked) << boost::json::serialize(questions);
  const std::string printed = output_of("python3 '" + corpus + "imports_made.py' < '" + asked.string() + "'");
  std::filesystem::remove(asked);
  const boost::json::array answers = boost::json::parse(printed).as_array();
  ASSERT_EQ(answers.size(), codes.size());
  std::int64_t imported = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].at("failed").as_string(), "") << codes[i];
    EXPECT_TRUE(answers[i].at("unpredicted").as_array().empty()) << codes[i] << boost::json::serialize(answers[i]);
    imported += answers[i].at("imported").as_int64();
  }
  EXPECT_GT(imported, 200);
}
