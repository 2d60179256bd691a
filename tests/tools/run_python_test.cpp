// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/function.hpp>
#include <cofferdam/tools/run_python.hpp>

#include "support/run.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace cofferdam_test {

using cofferdam::awaitable;
using cofferdam::code_request;
using cofferdam::code_result;

/// A runner that returns a prepared result, and records the last request.
class told_runner {
 public:
  awaitable<code_result> run_code(code_request request) {
    asked = std::move(request);
    co_return answer;
  }
  awaitable<void> close() { co_return; }

  code_request asked;
  code_result answer;
};

/// A `told_runner` that also models runners with contexts.
class told_context_runner : public told_runner {
 public:
  awaitable<std::vector<std::string>> contexts() { co_return std::vector<std::string>(); }
  awaitable<bool> end_context(std::string) { co_return false; }
};

template <class Runner>
std::string told_by(Runner& runner, const std::string& arguments) {
  std::string text;
  run([&]() -> awaitable<void> {
    cofferdam::tools::run_python<Runner> tool(runner);
    cofferdam::tools::tool_result result = co_await tool.call(boost::json::parse(arguments));
    text = result.text();
  });
  return text;
}

}  // namespace cofferdam_test

using cofferdam::awaitable;
using cofferdam_test::told_by;
using cofferdam_test::told_context_runner;
using cofferdam_test::told_runner;

TEST(RunPython, an_interpreter_that_was_started_anew_is_told) {
  told_context_runner contexts;
  contexts.answer.exit_code(0);
  EXPECT_EQ(told_by(contexts, R"({"code":"1"})").find("anew"), std::string::npos);
  contexts.answer.driver_restarted(true);
  const std::string text = told_by(contexts, R"({"code":"1"})");
  EXPECT_NE(text.find("<note>The interpreter died before this call and was restarted; "), std::string::npos) << text;
  EXPECT_NE(text.find("are lost.</note>"), std::string::npos) << text;
  told_runner forks;
  forks.answer.exit_code(0).driver_restarted(true);
  const std::string plain = told_by(forks, R"({"code":"1"})");
  EXPECT_NE(plain.find("<note>The interpreter died before this call and was restarted.</note>"), std::string::npos)
      << plain;
}

TEST(RunPython, functions_are_given_to_the_code_and_listed_after_any_description) {
  const auto adds = [](int a, int b) -> awaitable<int> { co_return a + b; };
  const cofferdam::tools::function sum("add", "Adds.\nMore.", cofferdam::tools::argument("a"),
                                       cofferdam::tools::argument("b", cofferdam::tools::integer).otherwise(1), adds);
  told_runner runner;
  cofferdam::tools::run_python<told_runner> tool(runner);
  const std::string before(tool.description());
  tool.functions(sum);
  EXPECT_EQ(tool.description(), before + "\nCode can call these global functions:\n- add(a: int, b: int = 1): Adds.");
  tool.description("Short.");
  EXPECT_EQ(tool.description(), "Short.\nCode can call these global functions:\n- add(a: int, b: int = 1): Adds.");
  cofferdam_test::run([&]() -> awaitable<void> {
    boost::json::value arguments = boost::json::parse(R"({"code":"1"})");
    co_await tool.call(std::move(arguments));
  });
  ASSERT_EQ(runner.asked.functions().size(), 1U);
  EXPECT_EQ(runner.asked.functions()[0].name(), "add");
}

TEST(RunPython, a_fence_around_the_code_is_removed) {
  told_runner runner;
  told_by(runner, R"({"code":"```python\nx\n```"})");
  EXPECT_EQ(runner.asked.source(), "\nx\n");
}

TEST(RunPython, variables_are_json_whatever_their_keys) {
  told_runner runner;
  told_by(runner, R"({"code":"x","variables":{"x":{"$python":"tuple","items":[1]},"y":[2]}})");
  EXPECT_EQ(boost::json::serialize(runner.asked.variables()),
            R"({"x":{"$python":"dict","items":[["$python","tuple"],["items",[1]]]},"y":[2]})");
}
