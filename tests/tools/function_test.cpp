// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/tagged_value.hpp>
#include <cofferdam/tools/function.hpp>
#include <cofferdam/tools/schema.hpp>

#include "support/error_of.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace function_tests {

using namespace cofferdam;
using cofferdam_test::code_of;
using cofferdam_test::run;
using tools::argument;
using tools::list_of;

static_assert(tools::tool<tools::function>);
static_assert(std::copyable<tools::function>);
static_assert(tools::argument_type<tools::text_type>);
static_assert(tools::argument_type<tools::list_type<tools::list_type<tools::any_type>>>);
static_assert(!tools::argument_type<tools::deduced_type>);
static_assert(!tools::argument_type<std::string>);

awaitable<double> height_at(std::string place, int days) {
  co_return (place == "Brest" ? 6.5 : 1.5) + static_cast<double>(days);
}

tools::function tide() {
  return tools::function("tide", "Height of the tide at a place, in metres.",
                         argument("place", tools::text, "Name of a harbour.").between(1, 20),
                         argument("days", tools::integer).between(0, 9).otherwise(0), height_at);
}

tools::tool_result call(const tools::function& callable, const std::string& arguments) {
  return run([&]() -> awaitable<tools::tool_result> {
    boost::json::value given = boost::json::parse(arguments);
    tools::tool_result result = co_await callable.call(std::move(given));
    co_return result;
  });
}

/// Calls the function as a code runner does, with a JSON object of arguments.
boost::json::value call_from_code(const tools::function& callable, const std::string& arguments) {
  const code_request request = code_request("").function(callable);
  return run([&]() -> awaitable<boost::json::value> {
    boost::json::object given = boost::json::parse(arguments).as_object();
    boost::json::value result = co_await request.functions().at(0).call(std::move(given));
    co_return result;
  });
}

template <class... Parts>
std::string schema_of(Parts&&... parts) {
  const tools::function callable("f", "", std::forward<Parts>(parts)...);
  return boost::json::serialize(callable.parameters().at("properties"));
}

TEST(Function, the_schema_of_each_service_is_made_from_the_arguments) {
  const std::string schema =
      R"-({"type":"object","properties":{"place":{"type":"string","description":"Name of a harbour.","minLength":1,)-"
      R"-("maxLength":20},"days":{"type":"integer","minimum":0,"maximum":9,"default":0}},"required":["place"],)-"
      R"-("additionalProperties":false})-";
  const std::string named = R"("name":"tide","description":"Height of the tide at a place, in metres.",)";
  EXPECT_EQ(boost::json::serialize(tools::openai_schema(tide())),
            R"({"type":"function","function":{)" + named + R"("parameters":)" + schema + "}}");
  EXPECT_EQ(boost::json::serialize(tools::anthropic_schema(tide())), "{" + named + R"("input_schema":)" + schema + "}");
  EXPECT_EQ(boost::json::serialize(tools::mcp_schema(tide())),
            "{" + named + R"("inputSchema":)" + schema + R"(,"annotations":{"readOnlyHint":false}})");
}

TEST(Function, an_argument_without_a_type_has_that_of_its_parameter) {
  const auto handler = [](std::string, const std::vector<std::string>&, std::int64_t, unsigned char, double, float,
                          bool, bytes, boost::json::object, boost::json::value,
                          std::optional<std::vector<std::vector<int>>>) -> awaitable<void> { co_return; };
  const tools::function callable("f", "", argument("a"), argument("b", "Names."), argument("c"), argument("d"),
                                 argument("e"), argument("f"), argument("g"), argument("h"), argument("i"),
                                 argument("j"), argument("k"), handler);
  const boost::json::object schema = callable.parameters();
  EXPECT_EQ(boost::json::serialize(schema.at("properties")),
            R"({"a":{"type":"string"},"b":{"type":"array","items":{"type":"string"},"description":"Names."},)"
            R"("c":{"type":"integer"},"d":{"type":"integer"},"e":{"type":"number"},"f":{"type":"number"},)"
            R"("g":{"type":"boolean"},"h":{"type":"string","contentEncoding":"base64"},)"
            R"("i":{"type":"object","additionalProperties":true},"j":{},)"
            R"("k":{"type":"array","items":{"type":"array","items":{"type":"integer"}}}})");
  EXPECT_EQ(boost::json::serialize(schema.at("required")), R"(["a","b","c","d","e","f","g","h","i","j"])");
}

TEST(Function, a_parameter_of_any_value_takes_every_type) {
  const auto handler = [](boost::json::value a, boost::json::value b) -> awaitable<std::string> {
    co_return boost::json::serialize(a) + boost::json::serialize(b);
  };
  const tools::function callable("f", "", argument("a", list_of(tools::number)), argument("b", tools::text).optional(),
                                 handler);
  EXPECT_EQ(call(callable, R"({"a":[1,2]})").text(), "[1,2]null");
  EXPECT_FALSE(call(callable, R"({"a":["x"]})").ok());
}

TEST(Function, the_handler_gets_values_of_its_types) {
  const auto handler = [](std::string text, std::int64_t whole, double number, bool flag, std::vector<int> list,
                          bytes raw, boost::json::object map,
                          std::optional<std::string> absent) -> awaitable<std::string> {
    co_return text + "|" + std::to_string(whole) + "|" + std::to_string(number).substr(0, 3) + "|" +
        (flag ? "yes" : "no") + "|" + std::to_string(list.at(1)) + "|" + std::to_string(raw.size()) + "|" +
        std::to_string(map.size()) + "|" + absent.value_or("absent");
  };
  const tools::function callable("f", "", argument("text"), argument("whole"), argument("number"), argument("flag"),
                                 argument("list"), argument("raw"), argument("map"), argument("absent"), handler);
  const std::string arguments =
      R"({"text":"t","whole":9007199254740993,"number":2,"flag":true,"list":[1,2.0],"raw":"AAEC","map":{"k":1}})";
  EXPECT_EQ(call(callable, arguments).text(), "t|9007199254740993|2.0|yes|2|3|1|absent");
}

TEST(Function, wrong_arguments_are_an_answer_that_names_each) {
  const std::vector<std::pair<const char*, const char*>> wrong{
      {"{}", "'place' is missing and must be a string"},
      {R"({"place":5})", "'place' must be a string, not 5"},
      {R"({"place":null})", "'place' is missing and must be a string"},
      {R"({"place":["a"]})", "'place' must be a string, not an array"},
      {R"({"place":""})", "'place' must not be empty"},
      {R"({"place":"b","days":"2\u001b"})", R"('days' must be an integer, not the string "2\x1b")"},
      {R"({"place":"b","days":2.5,"x":1})", "'days' must be an integer, not 2.5; unknown argument 'x'"},
      {R"({"place":"b","days":10})", "'days' must be an integer of at least 0 and at most 9, not 10"}};
  for (const auto& [arguments, sentence] : wrong) {
    const tools::tool_result answer = call(tide(), arguments);
    EXPECT_FALSE(answer.ok()) << arguments;
    EXPECT_EQ(answer.text(), "Error: Wrong arguments: " + std::string(sentence) + ".");
  }
  EXPECT_EQ(call(tide(), "[1]").text(),
            "Error: The arguments must be a JSON object with 'place', 'days', not an array.");
  EXPECT_EQ(call(tide(), R"({"place":"Brest","days":2.0})").text(), "8.5");
}

TEST(Function, an_integer_must_fit_the_type_of_its_parameter) {
  const tools::function callable("f", "", argument("count"),
                                 [](std::int8_t count) -> awaitable<int> { co_return count; });
  EXPECT_EQ(call(callable, R"({"count":-128})").text(), "-128");
  EXPECT_EQ(call(callable, R"({"count":128})").text(),
            "Error: Wrong arguments: 'count' must be an integer from -128 to 127, not 128.");
  EXPECT_EQ(call(callable, R"({"count":18446744073709551615})").text(),
            "Error: Wrong arguments: 'count' must be an integer, not 18446744073709551615.");
}

TEST(Function, the_item_of_a_list_that_does_not_fit_is_named) {
  const tools::function callable(
      "f", "", argument("rows", list_of(list_of(tools::integer))),
      [](std::vector<std::vector<int>> rows) -> awaitable<std::size_t> { co_return rows.size(); });
  EXPECT_EQ(call(callable, R"({"rows":[[1],[]]})").text(), "2");
  EXPECT_EQ(call(callable, R"({"rows":[[1],[2,"x"]]})").text(),
            "Error: Wrong arguments: 'rows' must be an array of arrays of integers, not an array whose item 1 is an "
            "array whose item 1 is the string \"x\".");
}

TEST(Function, what_the_handler_returns_is_text_for_a_model_and_a_value_for_code) {
  const auto both = [](auto handler) {
    const tools::function callable("f", "", handler);
    const tools::tool_result answer = call(callable, "{}");
    EXPECT_TRUE(answer.ok());
    return answer.text() + " " + boost::json::serialize(call_from_code(callable, "{}"));
  };
  EXPECT_EQ(both([]() -> awaitable<double> { co_return 12; }), "12.0 1.2E1");
  EXPECT_EQ(both([]() -> awaitable<int> { co_return 12; }), "12 12");
  EXPECT_EQ(both([]() -> awaitable<bool> { co_return true; }), "true true");
  EXPECT_EQ(both([]() -> awaitable<void> { co_return; }), "done null");
  EXPECT_EQ(both([]() -> awaitable<std::string> { co_return "a\nb"; }), "a\nb \"a\\nb\"");
  EXPECT_EQ(both([]() -> awaitable<std::vector<double>> {
              co_return std::vector<double>{0.5, 20};
            }),
            "[0.5,20.0] [5E-1,2E1]");
  EXPECT_EQ(both([]() -> awaitable<std::map<std::string, int>> {
              co_return std::map<std::string, int>{{"a", 1}};
            }),
            R"({"a":1} {"a":1})");
  EXPECT_EQ(both([]() -> awaitable<boost::json::value> { co_return nullptr; }), "done null");
}

TEST(Function, an_object_is_also_data_for_programs) {
  const tools::function callable("f", "", []() -> awaitable<boost::json::object> {
    boost::json::object result;
    result["metres"] = 6.5;
    co_return result;
  });
  EXPECT_EQ(boost::json::serialize(call(callable, "{}").data()), R"({"metres":6.5E0})");
}

TEST(Function, a_whole_answer_goes_to_a_model_and_its_content_to_code) {
  const auto answer = [](tools::checked_arguments arguments) -> awaitable<tools::tool_result> {
    const std::string what = arguments.text("what");
    tools::tool_result result("text", what != "failure");
    if (what == "data") {
      boost::json::object facts;
      facts["$python"] = 1;
      result.data(std::move(facts));
    }
    if (what == "image") result.image(tools::tool_image(to_bytes("abc"), "image/png"));
    if (what == "audio") result.media(tools::tool_media::audio(to_bytes("abc"), "audio/wav"));
    co_return result;
  };
  const tools::function callable("f", "", argument("what", tools::text), answer);
  EXPECT_EQ(call(callable, R"({"what":"image"})").images().size(), 1U);
  EXPECT_FALSE(call(callable, R"({"what":"failure"})").ok());
  const auto value = [&](const char* arguments) { return boost::json::serialize(call_from_code(callable, arguments)); };
  EXPECT_EQ(value(R"({"what":"text"})"), R"("text")");
  EXPECT_EQ(value(R"({"what":"data"})"), R"({"$python":"dict","items":[["$python",1]]})") << "data are JSON, not tags";
  EXPECT_EQ(value(R"({"what":"image"})"), R"({"text":"text","images":[{"$python":"bytes","base64":"YWJj"}]})");
  EXPECT_EQ(value(R"({"what":"audio"})"),
            R"({"text":"text","images":[],"media":[{"$python":"bytes","base64":"YWJj"}]})");
  EXPECT_THROW(call_from_code(callable, R"({"what":"failure"})"), std::runtime_error);
  const tools::function image(
      "g", "", []() -> awaitable<tools::tool_image> { co_return tools::tool_image(to_bytes("abc"), "image/png"); });
  EXPECT_EQ(call(image, "{}").images().at(0).mime_type(), "image/png");
}

TEST(Function, an_exception_of_the_handler_is_an_answer) {
  const auto thrown = [](auto handler) {
    const tools::tool_result answer = call(tools::function("f", "", handler), "{}");
    EXPECT_FALSE(answer.ok());
    return answer.text();
  };
  EXPECT_EQ(thrown([]() -> awaitable<void> {
              throw std::runtime_error("the database\nis closed");
              co_return;
            }),
            "Error: the tool failed: the database\\nis closed");
  EXPECT_EQ(thrown([]() -> awaitable<void> {
              throw error(exec_errc::not_found, "there is no harbour");
              co_return;
            }),
            "Error: there is no harbour");
  EXPECT_EQ(thrown([]() -> awaitable<void> {
              throw 5;
              co_return;
            }),
            "Error: the tool failed in an unknown way.");
  EXPECT_EQ(thrown([]() -> awaitable<void> { throw std::runtime_error("before it began"); }),
            "Error: the tool failed: before it began");
}

TEST(Function, a_lost_environment_is_no_answer) {
  for (const exec_errc code : {exec_errc::provider_lost, exec_errc::environment_closed, exec_errc::cancelled}) {
    const tools::function callable("f", "", [code]() -> awaitable<void> {
      throw error(code, "gone");
      co_return;
    });
    EXPECT_EQ(code_of([&] { call(callable, "{}"); }), code);
  }
}

TEST(Function, a_cancelled_call_throws) {
  asio::io_context context(1);
  asio::cancellation_signal stop;
  const auto wait = []() -> awaitable<void> {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, std::chrono::hours(1));
    co_await timer.async_wait(asio::use_awaitable);
  };
  const tools::function callable("f", "", wait);
  bool has_thrown = false;
  auto ended = [&](std::exception_ptr failure, const tools::tool_result&) { has_thrown = failure != nullptr; };
  cofferdam_test::spawn(context, callable.call(boost::json::object()), std::move(ended), stop.slot());
  context.poll();
  stop.emit(asio::cancellation_type::terminal);
  context.run();
  EXPECT_TRUE(has_thrown);
}

TEST(Function, a_call_keeps_the_handler_alive) {
  const auto alive = std::make_shared<std::string>("kept");
  const std::weak_ptr<std::string> observed = alive;
  asio::io_context context(1);
  std::string text;
  {
    const auto handler = [alive](int count) -> awaitable<std::string> {
      asio::any_io_executor executor = co_await asio::this_coro::executor;
      asio::steady_timer timer(executor, std::chrono::milliseconds(1));
      co_await timer.async_wait(asio::use_awaitable);
      co_return *alive + std::to_string(count);
    };
    tools::function callable("f", "", argument("count"), handler);
    auto ended = [&text](std::exception_ptr, const tools::tool_result& result) { text = result.text(); };
    boost::json::object arguments;
    arguments["count"] = 3;
    cofferdam_test::spawn(context, callable.call(std::move(arguments)), std::move(ended));
  }
  context.run();
  EXPECT_EQ(text, "kept3");
  EXPECT_EQ(observed.use_count(), 1);
}

TEST(Function, copies_are_independent_but_share_the_handler) {
  const tools::function callable = tide();
  tools::function two = callable;
  two.name("tide2").description("Another.").title("Tide").hints(true, false, true, false);
  EXPECT_EQ(callable.name(), "tide");
  EXPECT_FALSE(tools::reads_only(callable));
  EXPECT_TRUE(tools::reads_only(two));
  EXPECT_EQ(call(two, R"({"place":"Brest"})").text(), "6.5");
  tools::any_tool erased(two);
  EXPECT_EQ(erased.name(), "tide2");
  EXPECT_TRUE(erased.reads_only());
}

TEST(Function, what_cannot_be_described_is_refused) {
  const auto none = []() -> awaitable<void> { co_return; };
  const auto whole = [](int) -> awaitable<void> { co_return; };
  const auto takes_all = [](tools::checked_arguments) -> awaitable<void> { co_return; };
  for (const char* const name : {"", "a b", "\xc3\xa4"})
    EXPECT_EQ(code_of([&] { tools::function(name, "", none); }), exec_errc::invalid_argument) << name;
  EXPECT_EQ(code_of([&] { tools::function("f", "", none).name("a b"); }), exec_errc::invalid_argument);
  EXPECT_EQ(
      code_of([&] { tools::function("f", "", argument("a", tools::text), argument("a", tools::text), takes_all); }),
      exec_errc::invalid_argument);
  EXPECT_EQ(code_of([&] { tools::function("f", "", argument("a", tools::integer).otherwise("x"), whole); }),
            exec_errc::invalid_argument);
  EXPECT_EQ(code_of([&] { tools::function("f", "", argument("a", tools::integer).optional(), whole); }),
            exec_errc::invalid_argument)
      << "an int cannot be empty";
  std::function<awaitable<void>()> empty;
  EXPECT_EQ(code_of([&] { tools::function("f", "", empty); }), exec_errc::invalid_argument);
}

TEST(Function, the_signature_for_python_is_made_from_the_arguments) {
  const tools::function callable("f", "Does.", argument("a", tools::text), argument("b", tools::integer).otherwise(2),
                                 argument("c", tools::number).optional(),
                                 argument("d", tools::binary).otherwise("AAEC"), argument("e", list_of(tools::text)),
                                 argument("f", tools::object), argument("g", tools::any), argument("h", tools::boolean),
                                 [](tools::checked_arguments) -> awaitable<void> { co_return; });
  const code_request request = code_request("").function(callable);
  ASSERT_EQ(request.functions().size(), 1U);
  EXPECT_EQ(request.functions()[0].name(), "f");
  EXPECT_EQ(request.functions()[0].doc(), "Does.");
  std::string signature;
  for (const auto& each : request.functions()[0].parameters()) {
    signature += each.name() + ":" + each.type();
    if (each.default_value()) signature += "=" + boost::json::serialize(*each.default_value());
    signature += " ";
  }
  EXPECT_EQ(signature,
            R"(a:str b:int=2 c:float=null d:bytes={"$python":"bytes","base64":"AAEC"} e:list f:dict g: h:bool )");
}

TEST(Function, values_of_python_that_json_lacks_reach_the_handler) {
  const auto handler = [](double number, bytes raw, std::vector<double> list) -> awaitable<std::string> {
    co_return cofferdam::detail::number_text(number) + " " + std::to_string(raw.size()) + " " +
        cofferdam::detail::number_text(list.at(0));
  };
  const tools::function callable("f", "", argument("number"), argument("raw"), argument("list"), handler);
  const auto value = call_from_code(callable, R"({"number":{"$python":"float","text":"nan"},
      "raw":{"$python":"bytes","base64":"AAEC"},"list":[{"$python":"float","text":"-inf"}]})");
  EXPECT_EQ(value, "nan 3 -inf");
  const auto large = call_from_code(callable, R"({"number":{"$python":"int","text":"1000000000000000000000"},
      "raw":{"$python":"bytearray","base64":""},"list":[{"$python":"float","text":"inf"}]})");
  EXPECT_EQ(large, "1e+21 0 inf");
  EXPECT_THROW(call_from_code(callable, R"({"number":{"$python":"int","text":"1)" + std::string(400, '0') + R"("},
      "raw":{"$python":"bytes","base64":""},"list":[1]})"),
               std::runtime_error)
      << "an integer that no double holds is not infinity";
}

TEST(Function, an_integer_of_python_beyond_64_bits_is_named) {
  const tools::function callable("f", "", argument("count"), [](std::int64_t) -> awaitable<void> { co_return; });
  std::string complaint;
  try {
    call_from_code(callable, R"({"count":{"$python":"int","text":"1000000000000000000000"}})");
  } catch (const std::exception& wrong) {
    complaint = wrong.what();
  }
  EXPECT_EQ(complaint, "f: Wrong arguments: 'count' must be an integer, not an integer beyond 64 bits.");
}

}  // namespace function_tests
