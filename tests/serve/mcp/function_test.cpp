// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests that one `tools::function` works in three roles: as a tool of an agent, as a tool of an MCP server, and as a
// function in Python code.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/llm/agent.hpp>
#include <cofferdam/llm/agent_session.hpp>
#include <cofferdam/serve/mcp_server.hpp>
#include <cofferdam/tools/function.hpp>

#include "code/python_support.hpp"
#include "llm/scripted_model.hpp"
#include "serve/mcp/mcp_support.hpp"
#include "support/error_of.hpp"
#include "support/run.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mcp_function_tests {

using namespace cofferdam;
using cofferdam_test::error_code_in;
using cofferdam_test::mcp_client;
using cofferdam_test::result_in;
using cofferdam_test::run_with_mcp;
using cofferdam_test::text_said;
using tools::argument;
using value = boost::json::value;

/// Returns a function with captured state. Copies of the function share that state.
tools::function tide(std::shared_ptr<std::vector<std::string>> places) {
  const auto height_at = [places](std::string place, std::optional<double> days) -> awaitable<double> {
    places->push_back(place);
    if (place == "Atlantis") throw std::runtime_error("it has sunk");
    co_return (place == "Brest" ? 6.5 : 1.5) + days.value_or(0);
  };
  return tools::function("tide", "Height of the tide at a place, in metres.",
                         argument("place", tools::text, "Name of a harbour.").between(1, 20), argument("days"),
                         height_at);
}

TEST(OneFunction, serves_an_agent_an_mcp_client_and_code) {
  const auto places = std::make_shared<std::vector<std::string>>();
  const tools::function callable = tide(places);

  cofferdam_test::scripted_model model;
  model.call("tide", R"({"place":"Brest"})").call("finish", R"({"reason":"done","paths":[]})");
  cofferdam_test::memory_environment memory;
  cofferdam_test::run([&]() -> awaitable<void> {
    agent helper(model, callable);
    agent_session work(helper, memory);
    const agent_result result = co_await work.run("how high?");
    EXPECT_TRUE(result.finished());
  });
  EXPECT_EQ(model.told(1), "6.5");

  const auto serve = [&](const asio::any_io_executor& executor) {
    auto server = std::make_unique<mcp::server>(executor);
    server->add(callable);
    return server;
  };
  run_with_mcp(serve, [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value reply = co_await client.call("tide", R"({"place":"Vigo","days":1})");
    EXPECT_EQ(text_said(reply), "2.5");
  });

  cofferdam_test::with_python(python(), [&callable](cofferdam_test::python_here& runner) -> awaitable<void> {
    code_request request(
        "import inspect\n"
        "[tide('Brest'), tide('Cork', 2), tide(days=0.5, place='Cork'), tide.__doc__, str(inspect.signature(tide))]");
    request.function(callable);
    const code_result result = co_await runner.run_code(std::move(request));
    EXPECT_EQ(cofferdam_test::value_of(result),
              R"-([6.5E0,3.5E0,2E0,"Height of the tide at a place, in metres.","(place: str, days: float = None)"])-")
        << cofferdam_test::all_of(result);
  });
  EXPECT_EQ(*places, (std::vector<std::string>{"Brest", "Vigo", "Brest", "Cork", "Cork"}));
}

TEST(OneFunction, wrong_arguments_from_code_are_type_errors_that_name_them) {
  const tools::function callable = tide(std::make_shared<std::vector<std::string>>());
  cofferdam_test::with_python(python(), [&callable](cofferdam_test::python_here& runner) -> awaitable<void> {
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"tide()", "missing 1 required positional argument: 'place'"},
        {"tide(5)", "tide: the argument 'place' must be of type str, not int"},
        {"tide('Brest', 'x')", "tide: the argument 'days' must be of type float, not str"},
        {"tide('')", "tide: Wrong arguments: 'place' must not be empty."}};
    for (const auto& [code, words] : wrong) {
      code_request request(code);
      request.function(callable);
      const code_result result = co_await runner.run_code(std::move(request));
      EXPECT_EQ(result.failure() ? result.failure()->type() : "", "TypeError") << code;
      const std::string message = result.failure() ? result.failure()->message() : "";
      EXPECT_NE(message.find(words), std::string::npos) << message;
    }
    code_request sunk("tide('Atlantis')");
    sunk.function(callable);
    const code_result result = co_await runner.run_code(std::move(sunk));
    EXPECT_EQ(result.failure() ? result.failure()->type() : "", "HostFunctionError");
    EXPECT_EQ(result.failure() ? result.failure()->message() : "", "it has sunk");
  });
}

TEST(OneFunction, is_listed_and_answered_by_an_mcp_server_without_an_environment) {
  const auto serve = [](const asio::any_io_executor& executor) {
    auto server = std::make_unique<mcp::server>(executor);
    boost::json::object schema;
    schema["type"] = "object";
    server->add(tide(std::make_shared<std::vector<std::string>>())
                    .title("Tide")
                    .output(std::move(schema))
                    .hints(true, false, true, false));
    const auto picture = []() -> awaitable<tools::tool_image> {
      co_return tools::tool_image(to_bytes("abc"), "image/png");
    };
    server->add(tools::function("picture", "Shows.", picture));
    const auto facts = []() -> awaitable<boost::json::object> {
      boost::json::object found;
      found["metres"] = 2;
      co_return found;
    };
    server->add(tools::function("facts", "Tells.", facts));
    return server;
  };
  run_with_mcp(serve, [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value listed = co_await client.ask("tools/list");
    EXPECT_EQ(
        boost::json::serialize(result_in(listed).at("tools").at(0)),
        R"({"name":"tide","title":"Tide","description":"Height of the tide at a place, in metres.","inputSchema":)"
        R"({"type":"object","properties":{"place":{"type":"string","description":"Name of a harbour.","minLength":1,)"
        R"("maxLength":20},"days":{"type":"number"}},"required":["place"],"additionalProperties":false},)"
        R"("outputSchema":{"type":"object"},"annotations":{"title":"Tide","readOnlyHint":true,)"
        R"("destructiveHint":false,"idempotentHint":true,"openWorldHint":false}})");
    const value wrong = co_await client.call("tide", R"({"place":5})");
    EXPECT_TRUE(result_in(wrong).at("isError").as_bool());
    EXPECT_EQ(text_said(wrong), "Error: Wrong arguments: 'place' must be a string, not 5.");
    const value sunk = co_await client.call("tide", R"({"place":"Atlantis"})");
    EXPECT_TRUE(result_in(sunk).at("isError").as_bool());
    EXPECT_EQ(text_said(sunk), "Error: the tool failed: it has sunk");
    const value picture = co_await client.call("picture", "{}");
    EXPECT_EQ(boost::json::serialize(result_in(picture).at("content")),
              R"([{"type":"image","data":"YWJj","mimeType":"image/png"}])");
    const value facts = co_await client.call("facts", "{}");
    EXPECT_EQ(boost::json::serialize(result_in(facts).at("structuredContent")), R"({"metres":2})");
    EXPECT_EQ(text_said(facts), R"({"metres":2})");
  });
}

TEST(OneFunction, is_called_by_the_code_of_run_python_but_is_no_tool_of_the_clients) {
  const auto serve = [](const asio::any_io_executor& executor) {
    auto server = std::make_unique<mcp::server>(executor, local().without_warning());
    const tools::function callable = tide(std::make_shared<std::vector<std::string>>());
    const auto now = []() -> awaitable<int> { co_return 7; };
    server->functions(tools::function("now", "The hour.", now)).python(python()).functions(callable);
    EXPECT_EQ(cofferdam_test::code_of([&] { server->functions(callable); }), exec_errc::already_exists);
    return server;
  };
  run_with_mcp(serve, [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value reply = co_await client.call("run_python", R"-({"code":"tide('Brest') + now()"})-");
    EXPECT_EQ(result_in(reply).at("structuredContent").at("result").as_string(), "13.5");
    const value listed = co_await client.ask("tools/list");
    std::string about;
    for (const value& each : result_in(listed).at("tools").as_array()) {
      EXPECT_NE(each.at("name").as_string(), "tide");
      if (each.at("name").as_string() == "run_python") about = each.at("description").as_string();
    }
    EXPECT_NE(about.find("\n- now(): The hour.\n- tide(place: str, days: float = None): Height of the tide"),
              std::string::npos)
        << about;
  });
}

/// A tool that is not a `tools::function`, and that cannot be copied.
class echo_tool {
 public:
  echo_tool() = default;
  echo_tool(echo_tool&&) = default;
  echo_tool& operator=(echo_tool&&) = default;
  std::string_view name() const { return "echo"; }
  std::string_view description() const { return "Says it back."; }
  boost::json::object parameters() const { return tools::argument_list(argument("text", tools::text)).schema(); }
  awaitable<tools::tool_result> call(boost::json::value arguments) {
    ++*calls_;
    co_return tools::tool_result(boost::json::serialize(arguments) + std::to_string(*calls_), true);
  }

 private:
  std::unique_ptr<int> calls_ = std::make_unique<int>(0);
};

TEST(OneFunction, other_tools_and_definitions_are_added_in_the_same_way) {
  const auto serve = [](const asio::any_io_executor& executor) {
    auto server = std::make_unique<mcp::server>(executor);
    server->add(echo_tool());
    EXPECT_EQ(cofferdam_test::code_of([&] { server->add(echo_tool()); }), exec_errc::invalid_argument);
    const auto progress = [](mcp::call& of) -> awaitable<mcp::answer> {
      co_return mcp::answer(boost::json::serialize(of.arguments()));
    };
    server->add(
        tools::definition("steps", "Takes steps.", argument("count", tools::integer).between(1, 3).otherwise(2)),
        progress);
    return server;
  };
  run_with_mcp(serve, [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value reply = co_await client.call("echo", R"({"text":"a"})");
    EXPECT_EQ(text_said(reply), R"({"text":"a"}1)");
    const value again = co_await client.call("echo", R"({"text":"a"})");
    EXPECT_EQ(text_said(again), R"({"text":"a"}2)") << "all calls share the tool";
    const value usual = co_await client.call("steps", "{}");
    EXPECT_EQ(text_said(usual), R"({"count":2})") << "a handler of MCP's own gets defaults too";
    const value wrong = co_await client.call("steps", R"({"count":4})");
    EXPECT_EQ(text_said(wrong),
              "steps: Wrong arguments: 'count' must be an integer of at least 1 and at most 3, not 4.");
  });
}

}  // namespace mcp_function_tests
