// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of setters that return a reference to their object. `x = std::move(x).setter(…)` then assigns x to itself,
// which must lose nothing.

#include <cofferdam/backends/e2b/code_interpreter.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/code/reject_patterns.hpp>
#include <cofferdam/serve/mcp/detail/tool_json.hpp>
#include <cofferdam/tools/definition.hpp>
#include <cofferdam/tools/function.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

namespace setters_tests {

using namespace cofferdam;
using namespace std::chrono_literals;

// Too long for the small-string buffer, so that a wrong move empties the string.
const std::string text(100, 't');
const std::string other(100, 'o');

awaitable<boost::json::value> answer(boost::json::value) { co_return boost::json::value(); }

TEST(Setters, an_e2b_code_that_is_assigned_to_itself_is_whole) {
  e2b::code snippet(text);
  snippet = std::move(snippet).language(other);
  snippet = std::move(snippet).variable("NAME", text);
  snippet = std::move(snippet).timeout(5s);
  const e2b::code expected = e2b::code(text).language(other).variable("NAME", text).timeout(5s);
  EXPECT_EQ(boost::json::serialize(snippet.body()), boost::json::serialize(expected.body()));
  EXPECT_NE(boost::json::serialize(snippet.body()).find(text), std::string::npos);
  EXPECT_EQ(snippet.timeout(), 5s);
  e2b::code second(other);
  second = std::move(snippet);
  EXPECT_EQ(boost::json::serialize(second.body()), boost::json::serialize(expected.body()));
}

TEST(Setters, a_function_that_is_assigned_to_itself_is_whole) {
  tools::function callable("name", "", tools::argument("first"), &answer);
  callable = std::move(callable).title(other);
  callable = std::move(callable).description(text);
  EXPECT_EQ(callable.name(), "name");
  EXPECT_EQ(callable.description(), text);
  EXPECT_EQ(callable.title(), other);
  EXPECT_TRUE(callable.parameters().at("properties").as_object().contains("first"));
}

TEST(Setters, a_definition_that_is_assigned_to_itself_is_whole) {
  tools::definition described("name", text);
  described = std::move(described).title(other);
  described = std::move(described).hints(true, false, true, false);
  const tools::definition expected = tools::definition("name", text).title(other).hints(true, false, true, false);
  EXPECT_EQ(boost::json::serialize(mcp::detail::tool_json(described, "2025-06-18")),
            boost::json::serialize(mcp::detail::tool_json(expected, "2025-06-18")));
  EXPECT_NE(boost::json::serialize(mcp::detail::tool_json(described, "2025-06-18")).find(text), std::string::npos);
}

TEST(Setters, a_python_reader_that_is_assigned_to_itself_is_whole) {
  python_reader reader = python_reader().interpreter(text);
  reader = std::move(reader).timeout(3s);
  reader = std::move(reader).memory(1UL << 30U);
  EXPECT_EQ(reader.interpreter(), text);
  EXPECT_EQ(reader.timeout(), 3s);
}

TEST(Setters, what_a_loop_permits_is_permitted_all_of_it) {
  reject_patterns patterns = reject_patterns().reader(python_reader().interpreter(text));
  for (const std::string name : {"os.remove", "pickle.load", "__class__"}) patterns = std::move(patterns).permit(name);
  for (const char* name : {"os.remove", "pickle.load", "__class__"})
    EXPECT_TRUE(patterns.policy().permits(name)) << name;
  EXPECT_FALSE(patterns.policy().permits("os.system"));
}

}  // namespace setters_tests
