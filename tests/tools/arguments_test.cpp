// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/schema.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace cofferdam;
using tools::argument;
using tools::argument_list;

argument_list all() {
  return argument_list(argument("path", tools::text, "A path.").between(1, 5),
                       argument("count", tools::integer, "How many.").between(1, 10).otherwise(2),
                       argument("share", tools::number, "How much.").between(0, 0.5).optional(),
                       argument("deep", tools::boolean, "Whether.").otherwise(false),
                       argument("mode", tools::text, "How.").one_of({"a", "b"}).optional(),
                       argument("names", tools::list_of(tools::text), "Which.").optional(),
                       argument("more", tools::object, "What.").optional());
}

std::string complaint(const std::string& text) {
  tools::checked_arguments checked;
  return all().check(boost::json::parse(text), checked);
}

TEST(Arguments, one_description_makes_the_schema) {
  EXPECT_EQ(
      boost::json::serialize(all().schema()),
      R"-({"type":"object","properties":{"path":{"type":"string","description":"A path.","minLength":1,"maxLength":5},)-"
      R"-("count":{"type":"integer","description":"How many.","minimum":1,"maximum":10,"default":2},)-"
      R"-("share":{"type":"number","description":"How much.","minimum":0,"maximum":5E-1},)-"
      R"-("deep":{"type":"boolean","description":"Whether.","default":false},)-"
      R"-("mode":{"type":"string","description":"How.","enum":["a","b"]},)-"
      R"-("names":{"type":"array","items":{"type":"string"},"description":"Which."},)-"
      R"-("more":{"type":"object","additionalProperties":true,"description":"What."}},)-"
      R"-("required":["path"],"additionalProperties":false})-");
}

TEST(Arguments, and_the_check) {
  tools::checked_arguments checked;
  EXPECT_EQ(
      all().check(boost::json::parse(R"({"path":"x","count":3.0,"names":["a"],"share":null,"more":{"k":1}})"), checked),
      "");
  EXPECT_EQ(checked.text("path"), "x");
  EXPECT_EQ(checked.integer("count"), 3);
  EXPECT_FALSE(checked.has("share"));
  EXPECT_FALSE(checked.boolean("deep"));
  EXPECT_EQ(checked.texts("names"), std::vector<std::string>{"a"});
  EXPECT_EQ(checked.object("more").size(), 1U);
}

TEST(Arguments, everything_that_is_wrong_is_named_at_once) {
  EXPECT_EQ(
      complaint(R"({"count":0,"share":0.75,"deep":"yes","mode":"c","names":[1],"more":[],"x\u001b":1})"),
      "Wrong arguments: 'path' is missing and must be a string; 'count' must be an integer of at least 1 and at most "
      "10, not 0; 'share' must be a number of at least 0 and at most 0.5, not 0.75; 'deep' must be true or false, not "
      "the string \"yes\"; 'mode' must be one of a, b, not \"c\"; 'names' must be an array of strings, not an array "
      "whose item 0 is 1; 'more' must be an object, not an array; unknown argument 'x\\x1b'.");
  EXPECT_EQ(complaint(R"({"path":""})"), "Wrong arguments: 'path' must not be empty.");
  EXPECT_EQ(complaint(R"({"path":"123456"})"), "Wrong arguments: 'path' must be at most 5 bytes long, not 6.");
  EXPECT_EQ(complaint(R"({"path":"x","count":2.5})"), "Wrong arguments: 'count' must be an integer, not 2.5.");
  EXPECT_EQ(complaint(R"({"path":"x","count":1e300})"), "Wrong arguments: 'count' must be an integer, not 1e+300.");
  EXPECT_TRUE(complaint("[]").starts_with("The arguments must be a JSON object with 'path', 'count'"));
}

/// A tool as a user of the library writes it.
class pong {
 public:
  std::string_view name() const { return "pong"; }
  std::string_view description() const { return "Answers."; }
  boost::json::object parameters() const { return argument_list().schema(); }
  awaitable<tools::tool_result> call(boost::json::value) { co_return tools::tool_result("pong", true); }
};

// Feature: J8
TEST(Schema, one_tool_in_every_dialect) {
  const std::string empty = R"({"type":"object","properties":{},"additionalProperties":false})";
  EXPECT_EQ(boost::json::serialize(tools::openai_schema(pong())),
            R"({"type":"function","function":{"name":"pong","description":"Answers.","parameters":)" + empty + "}}");
  EXPECT_EQ(
      boost::json::serialize(tools::responses_schema(pong())),
      R"({"name":"pong","description":"Answers.","type":"function","parameters":)" + empty + R"(,"strict":false})");
  EXPECT_EQ(boost::json::serialize(tools::anthropic_schema(pong())),
            R"({"name":"pong","description":"Answers.","input_schema":)" + empty + "}");
  EXPECT_EQ(boost::json::serialize(tools::mcp_schema(tools::any_tool(pong()))),
            R"({"name":"pong","description":"Answers.","inputSchema":)" + empty +
                R"(,"annotations":{"readOnlyHint":false}})");
}

}  // namespace
