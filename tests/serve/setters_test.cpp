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
  e2b::code one(text);
  one = std::move(one).language(other);
  one = std::move(one).variable("NAME", text);
  one = std::move(one).timeout(5s);
  const e2b::code wanted = e2b::code(text).language(other).variable("NAME", text).timeout(5s);
  EXPECT_EQ(boost::json::serialize(one.body()), boost::json::serialize(wanted.body()));
  EXPECT_NE(boost::json::serialize(one.body()).find(text), std::string::npos);
  EXPECT_EQ(one.timeout(), 5s);
  e2b::code second(other);
  second = std::move(one);
  EXPECT_EQ(boost::json::serialize(second.body()), boost::json::serialize(wanted.body()));
}

TEST(Setters, a_function_that_is_assigned_to_itself_is_whole) {
  tools::function one("name", "", tools::argument("first"), &answer);
  one = std::move(one).title(other);
  one = std::move(one).description(text);
  EXPECT_EQ(one.name(), "name");
  EXPECT_EQ(one.description(), text);
  EXPECT_EQ(one.title(), other);
  EXPECT_TRUE(one.parameters().at("properties").as_object().contains("first"));
}

TEST(Setters, a_definition_that_is_assigned_to_itself_is_whole) {
  tools::definition one("name", text);
  one = std::move(one).title(other);
  one = std::move(one).hints(true, false, true, false);
  const tools::definition wanted = tools::definition("name", text).title(other).hints(true, false, true, false);
  EXPECT_EQ(boost::json::serialize(mcp::detail::tool_json(one, "2025-06-18")),
            boost::json::serialize(mcp::detail::tool_json(wanted, "2025-06-18")));
  EXPECT_NE(boost::json::serialize(mcp::detail::tool_json(one, "2025-06-18")).find(text), std::string::npos);
}

TEST(Setters, a_python_reader_that_is_assigned_to_itself_is_whole) {
  python_reader one = python_reader().interpreter(text);
  one = std::move(one).timeout(3s);
  one = std::move(one).memory(1UL << 30U);
  EXPECT_EQ(one.interpreter(), text);
  EXPECT_EQ(one.timeout(), 3s);
}

TEST(Setters, what_a_loop_permits_is_permitted_all_of_it) {
  reject_patterns one = reject_patterns().reader(python_reader().interpreter(text));
  for (const std::string name : {"os.remove", "pickle.load", "__class__"}) one = std::move(one).permit(name);
  for (const char* name : {"os.remove", "pickle.load", "__class__"}) EXPECT_TRUE(one.policy().permits(name)) << name;
  EXPECT_FALSE(one.policy().permits("os.system"));
}

}  // namespace setters_tests
