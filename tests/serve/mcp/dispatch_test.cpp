// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of an MCP server over a stream, in both eras of the protocol: with a handshake (up to 2025-11-25) and without
// (from 2026-07-28). The tools need no backend.

#include <cofferdam/serve/mcp_server.hpp>

#include "serve/mcp/mcp_support.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mcp_dispatch_tests {

using namespace cofferdam;
using cofferdam_test::comes_true;
using cofferdam_test::error_code_in;
using cofferdam_test::mcp_client;
using cofferdam_test::member;
using cofferdam_test::modern_meta;
using cofferdam_test::nap;
using cofferdam_test::result_in;
using cofferdam_test::run_with_mcp;
using cofferdam_test::text_said;
using mcp::answer;
using mcp::call;
using value = boost::json::value;

/// Counters of the calls that the tools of a test have received.
class notes {
 public:
  int started = 0;
  int ended = 0;
};

class counting {
 public:
  explicit counting(notes& of) : of_(of) { ++of_.started; }
  counting(const counting&) = delete;
  counting& operator=(const counting&) = delete;
  ~counting() { ++of_.ended; }

 private:
  notes& of_;
};

awaitable<answer> echo(call& of) { co_return answer(boost::json::serialize(of.arguments())); }
awaitable<answer> wait_for_end(std::shared_ptr<notes> counters, call& of) {
  const counting mine(*counters);
  static_cast<void>(of);
  co_await nap(std::chrono::hours(1));
  co_return answer("never");
}
awaitable<answer> wait_a_while(call& of) {
  co_await nap(std::chrono::milliseconds(of.arguments().at("ms").to_number<int>()));
  co_return answer("waited");
}
awaitable<answer> count_up(call& of) {
  for (const double step : {1.0, 2.0, 2.0, 1.5, 3.5}) of.progress(step, 4, "step\xff");
  of.log(mcp::log_severity::warning, "careful");
  of.log(mcp::log_severity::debug, "detail");
  co_return answer("counted");
}
awaitable<answer> fall_over(call&) {
  throw std::runtime_error("the secret is 42");
  co_return answer();
}
awaitable<answer> lose_it(call&) {
  throw error(exec_errc::provider_lost, "the box is gone");
  co_return answer();
}
awaitable<answer> ask_roots(call& of) {
  const boost::json::object roots_reply = co_await of.ask("roots/list", {});
  co_return answer(boost::json::serialize(roots_reply));
}
awaitable<answer> ask_in_turn(call& of) {
  if (!of.request_state().empty()) co_return answer(of.request_state() + boost::json::serialize(of.input_responses()));
  boost::json::object request;
  request["method"] = "elicitation/create";
  boost::json::object requests;
  requests["a"] = std::move(request);
  co_return answer::input_required(std::move(requests), "kept:");
}

awaitable<answer> throw_number(call&) {
  throw 42;
  co_return answer();
}
awaitable<answer> throw_misleading_error(call&) {
  throw error(exec_errc::not_found, "no file 'a\x01\x1b[2J\u202eb'");
  co_return answer();
}
awaitable<mcp::content> throw_word(call&) {
  throw "a word";
  co_return mcp::content::text("");
}
boost::json::object schema_of(std::string_view text) {
  return boost::json::parse({text.data(), text.size()}).as_object();
}

class setup {
 public:
  std::shared_ptr<notes> seen = std::make_shared<notes>();
  mcp::server_options options;

  std::unique_ptr<mcp::server> operator()(const asio::any_io_executor& executor) const {
    auto server = std::make_unique<mcp::server>(executor, options);
    server->add(tools::definition("echo", "Says its arguments").title("Echo").input(schema_of(R"({"type":"object"})")),
                echo);
    server->add(tools::definition("wait", "Waits")
                    .input(schema_of(R"({"type":"object","properties":{"ms":{"type":"integer"}},"required":["ms"]})")),
                wait_a_while);
    server->add(tools::definition("for_ever", "Waits for ever"),
                [seen = seen](call& of) { return wait_for_end(seen, of); });
    server->add(tools::definition("count", "Counts"), count_up);
    server->add(tools::definition("fall", "Falls"), fall_over);
    server->add(tools::definition("lose", "Loses"), lose_it);
    server->add(tools::definition("roots", "Asks"), ask_roots);
    server->add(tools::definition("in_turn", "Asks in turn").input(schema_of(R"({"type":"object"})")), ask_in_turn);
    return server;
  }
};

std::string with_meta(std::string_view rest = "") {
  return "{" + std::string(modern_meta) + (rest.empty() ? "" : ",") + std::string(rest) + "}";
}

TEST(McpDispatch, negotiates_each_version_it_knows_and_its_latest_legacy_one_else) {
  const std::vector<std::pair<const char*, const char*>> versions{
      {"2024-11-05", "2024-11-05"}, {"2025-03-26", "2025-03-26"}, {"2025-06-18", "2025-06-18"},
      {"2025-11-25", "2025-11-25"}, {"2024-10-07", "2024-11-05"}, {"1999-01-01", "2025-11-25"},
      {"2099-01-01", "2025-11-25"}, {"2026-07-28", "2025-11-25"}};
  for (const auto& [requested, got] : versions) {
    run_with_mcp(setup(), [&](mcp_client& client) -> awaitable<void> {
      const value reply = co_await client.ask("initialize", R"({"protocolVersion":")" + std::string(requested) +
                                                                R"(","capabilities":{},"clientInfo":{"name":"x"}})");
      EXPECT_EQ(member(result_in(reply), "protocolVersion"), got);
      const value again =
          co_await client.ask("initialize", R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}})");
      EXPECT_EQ(error_code_in(again), "-32600");
    });
  }
}

TEST(McpDispatch, a_handshake_that_lacks_something_is_refused) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    for (const char* const params : {"{}", R"({"protocolVersion":"2025-11-25","capabilities":{}})",
                                     R"({"protocolVersion":"2025-11-25","clientInfo":{}})",
                                     R"({"protocolVersion":5,"capabilities":{},"clientInfo":{}})"}) {
      const value reply = co_await client.ask("initialize", params);
      EXPECT_EQ(error_code_in(reply), "-32602") << params;
    }
    co_await client.initialize();
  });
}

TEST(McpDispatch, before_the_handshake_lists_and_pings_are_served_and_calls_are_not) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    const value ping = co_await client.ask("ping");
    EXPECT_EQ(boost::json::serialize(result_in(ping)), "{}");
    const value list = co_await client.ask("tools/list");
    EXPECT_EQ(result_in(list).at("tools").as_array().size(), 8U);
    const value refused = co_await client.call("echo");
    EXPECT_EQ(error_code_in(refused), "-32600");
  });
}

TEST(McpDispatch, older_versions_are_told_less) {
  for (const char* const version : {"2024-11-05", "2025-03-26", "2025-06-18"}) {
    run_with_mcp(setup(), [&](mcp_client& client) -> awaitable<void> {
      co_await client.initialize(version);
      const value list = co_await client.ask("tools/list");
      const boost::json::object& echo = result_in(list).at("tools").at(0).as_object();
      EXPECT_EQ(echo.contains("title"), std::string_view(version) >= "2025-06-18");
      EXPECT_EQ(echo.contains("annotations"), std::string_view(version) >= "2025-03-26");
    });
  }
}

TEST(McpDispatch, answers_go_out_as_they_come_and_pings_pass_calls) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    co_await client.say(
        R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{"ms":400}}})");
    co_await client.say(
        R"({"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"wait","arguments":{"ms":1}}})");
    co_await client.say(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}})");
    co_await client.say(R"({"jsonrpc":"2.0","id":3,"method":"ping"})");
    std::string order;
    for (int i = 0; i < 4; ++i) {
      const value reply = co_await client.hear();
      order += member(reply, "id") + (reply.as_object().contains("error") ? "!" : "") + " ";
    }
    // The third message has the id of the first call, which is still running. The third is refused, and the first
    // continues.
    EXPECT_EQ(order, "1! 3 1 1 ");
  });
}

TEST(McpDispatch, a_cancelled_call_ends_and_is_not_answered) {
  setup with;
  run_with_mcp(with, [&](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    co_await client.say(R"({"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"for_ever"}})");
    co_await client.say(R"({"jsonrpc":"2.0","id":"0","method":"tools/call","params":{"name":"for_ever"}})");
    for (const char* const nothing : {"7", "null", "{}", "\"x\""})
      co_await client.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
                          std::string(nothing) + "}}");
    co_await client.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled"})");
    const value ping = co_await client.ask("ping");
    EXPECT_EQ(with.seen->started, 2);
    EXPECT_EQ(with.seen->ended, 0);
    co_await client.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}})");
    const bool ended = co_await comes_true([&] { return with.seen->ended == 1; });
    EXPECT_TRUE(ended);
    const value pong = co_await client.ask("ping");
    EXPECT_TRUE(client.others.empty());
  });
  EXPECT_EQ(with.seen->ended, 2);
}

TEST(McpDispatch, who_leaves_ends_what_runs) {
  setup with;
  run_with_mcp(with, [&](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    co_await client.say(R"({"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"for_ever"}})");
    const bool began = co_await comes_true([&] { return with.seen->started == 1; });
    EXPECT_TRUE(began);
  });
  EXPECT_EQ(with.seen->ended, 1);
}

TEST(McpDispatch, what_is_asked_before_a_client_leaves_is_answered_where_that_needs_no_waiting) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    co_await client.say(R"({"jsonrpc":"2.0","id":0,"method":"ping"})");
    co_await client.leave();
    const value reply = co_await client.hear();
    EXPECT_EQ(member(reply, "id"), "0");
  });
}

// Feature: J4
TEST(McpDispatch, progress_grows_and_needs_a_token_and_logs_need_their_level) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value first = co_await client.call("count");
    EXPECT_EQ(client.others.size(), 1U);  // the log message of level warning
    EXPECT_EQ(member(client.others.at(0).at("params"), "level"), "warning");
    client.others.clear();
    const value second = co_await client.call("count", "{}", R"({"progressToken":0})");
    std::string steps;
    for (const value& item : client.others) {
      if (member(item, "method") != "notifications/progress") continue;
      EXPECT_EQ(member(item.at("params"), "progressToken"), "0");
      EXPECT_EQ(member(item.at("params"), "message"), "step\xEF\xBF\xBD");
      steps += std::to_string(item.at("params").at("progress").to_number<double>()).substr(0, 3) + " ";
    }
    EXPECT_EQ(steps, "1.0 2.0 3.5 ");
    client.others.clear();
    const value set = co_await client.ask("logging/setLevel", R"({"level":"debug"})");
    const value third = co_await client.call("count");
    EXPECT_EQ(client.others.size(), 2U);
    const value bad = co_await client.ask("logging/setLevel", R"({"level":"loud"})");
    EXPECT_EQ(error_code_in(bad), "-32602");
  });
}

TEST(McpDispatch, wrong_calls_are_told_by_code_and_failed_ones_by_text) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value unknown = co_await client.call("nope");
    EXPECT_EQ(error_code_in(unknown), "-32602");
    const value nameless = co_await client.ask("tools/call");
    EXPECT_EQ(error_code_in(nameless), "-32602");
    const value list = co_await client.ask("tools/call", R"({"name":"echo","arguments":[1]})");
    EXPECT_EQ(error_code_in(list), "-32602");
    const value without = co_await client.ask("tools/call", R"({"name":"echo"})");
    EXPECT_EQ(text_said(without), "{}");
    const value fallen = co_await client.call("fall");
    EXPECT_TRUE(result_in(fallen).at("isError").as_bool());
    EXPECT_EQ(text_said(fallen).find("42"), std::string::npos);
    const value lost = co_await client.call("lose");
    EXPECT_NE(text_said(lost).find("the box is gone"), std::string::npos);
    const value method = co_await client.ask("no/such");
    EXPECT_EQ(error_code_in(method), "-32601");
    const value discover = co_await client.ask("server/discover");
    EXPECT_EQ(error_code_in(discover), "-32601");
    const value prompts = co_await client.ask("prompts/list");
    EXPECT_EQ(error_code_in(prompts), "-32601");
  });
}

TEST(McpDispatch, the_error_of_a_handler_is_answered_without_misleading_characters) {
  setup with;
  const auto make = [&](const asio::any_io_executor& executor) {
    auto server = with(executor);
    server->add(tools::definition("fails", "Throws an error"), throw_misleading_error);
    return server;
  };
  run_with_mcp(make, [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value failed = co_await client.call("fails");
    EXPECT_TRUE(result_in(failed).at("isError").as_bool());
    EXPECT_EQ(text_said(failed), "could not run: no file 'a\\x01\\u202eb'");
  });
}

TEST(McpDispatch, what_a_handler_throws_that_is_no_exception_is_answered_and_told) {
  setup with;
  std::vector<std::string> failures;
  with.options.on_error(
      [&failures](const std::string& doing, const std::exception_ptr&) { failures.push_back(doing); });
  const auto make = [&](const asio::any_io_executor& executor) {
    auto server = with(executor);
    server->add(tools::definition("number", "Throws a number"), throw_number);
    server->resource(mcp::resource_definition("test://word", "word"), throw_word);
    return server;
  };
  run_with_mcp(make, [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value number = co_await client.call("number");
    EXPECT_TRUE(result_in(number).at("isError").as_bool());
    EXPECT_EQ(text_said(number), "Error: the tool failed inside the server.");
    const value word = co_await client.ask("resources/read", R"({"uri":"test://word"})");
    EXPECT_EQ(error_code_in(word), "-32603");
    const value ping = co_await client.ask("ping");
    EXPECT_TRUE(client.others.empty());
  });
  EXPECT_EQ(failures, (std::vector<std::string>{"tools/call number", "resources/read"}));
}

TEST(McpDispatch, arguments_are_checked_by_the_schema_before_the_handler_sees_them) {
  const setup with;
  const auto make = [&](const asio::any_io_executor& executor) {
    auto server = with(executor);
    server->add(tools::definition("strict", "Has a schema").input(schema_of(R"({"type":"object","properties":{
                 "text":{"type":"string"},"count":{"type":"integer"},"share":{"type":"number"},"flag":{"type":"boolean"},
                 "list":{"type":"array"},"map":{"type":"object"},"any":{},"both":{"type":["string","null"]}},
                 "required":["text","any"],"additionalProperties":false})")),
                echo);
    server->add(tools::definition("none", "Has no arguments"), echo);
    return server;
  };
  run_with_mcp(make, [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const std::vector<std::pair<const char*, const char*>> wrong{
        {"{}", "'text' is missing and must be a string; 'any' is missing"},
        {R"({"text":5,"any":1})", "'text' must be a string"},
        {R"({"text":null,"any":1})", "'text' is missing and must be a string"},
        {R"({"text":"","any":1,"count":1.5})", "'count' must be an integer"},
        {R"({"text":"","any":1,"count":"1"})", "'count' must be an integer"},
        {R"({"text":"","any":1,"share":"1"})", "'share' must be a number"},
        {R"({"text":"","any":1,"flag":0})", "'flag' must be true or false"},
        {R"({"text":"","any":1,"list":{}})", "'list' must be an array"},
        {R"({"text":"","any":1,"map":[]})", "'map' must be an object"},
        {R"({"text":"","any":1,"both":1})", "'both' must be a string or null"},
        {R"({"text":"","any":1,"other":1})", "unknown argument 'other'"}};
    for (const auto& [arguments, sentence] : wrong) {
      const value reply = co_await client.call("strict", arguments);
      EXPECT_TRUE(result_in(reply).at("isError").as_bool()) << arguments;
      EXPECT_EQ(text_said(reply), "strict: Wrong arguments: " + std::string(sentence) + ".");
    }
    const value good = co_await client.call(
        "strict", R"({"text":"t","count":2.0,"share":1,"flag":null,"list":[],"map":{},"any":null,"both":null})");
    EXPECT_EQ(text_said(good), R"({"text":"t","count":2E0,"share":1,"both":null,"list":[],"map":{},"any":null})");
    const value none = co_await client.call("none", R"({"a":1})");
    EXPECT_EQ(text_said(none), "none: Wrong arguments: unknown argument 'a'.");
  });
}

TEST(McpDispatch, a_tool_needs_a_schema_of_an_object_and_a_handler) {
  for (const char* const schema :
       {"{}", R"({"type":"string"})", R"({"type":["object"]})", R"({"type":"object","properties":[]})",
        R"({"type":"object","required":"a"})", R"({"type":"object","required":[1]})"})
    EXPECT_THROW(tools::definition("x", "").input(schema_of(schema)), error) << schema;
  asio::io_context context(1);
  mcp::server server(context.get_executor());
  EXPECT_THROW(server.add(tools::definition("x", ""), mcp::tool_handler()), error);
  EXPECT_THROW(server.resource(mcp::resource_definition("test://x", "x"), mcp::resource_handler()), error);
  EXPECT_THROW(server.prompt(mcp::prompt_definition("x", ""), mcp::prompt_handler()), error);
}

TEST(McpDispatch, what_is_no_message_is_answered_and_the_next_one_is_served) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const std::vector<std::pair<const char*, const char*>> cases{
        {"{bad", "-32700"}, {"7", "-32600"}, {R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])", "-32600"}};
    for (const auto& [line, code] : cases) {
      co_await client.say(line);
      const value reply = co_await client.hear();
      EXPECT_EQ(error_code_in(reply), code);
      EXPECT_FALSE(reply.as_object().contains("id"));
    }
    co_await client.say(R"({"jsonrpc":"2.0","method":"notifications/unheard"})");
    const value ping = co_await client.ask("ping");
    EXPECT_TRUE(client.others.empty());
  });
}

TEST(McpDispatch, batches_are_answered_as_one_in_the_one_version_that_has_them) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize("2025-03-26");
    co_await client.say(R"([{"jsonrpc":"2.0","id":1,"method":"ping"},5,{"jsonrpc":"2.0","method":"x"},)"
                        R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}])");
    const value reply = co_await client.hear();
    EXPECT_EQ(reply.as_array().size(), 3U);
  });
}

TEST(McpDispatch, a_modern_client_needs_no_handshake_and_is_told_more) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    const value found = co_await client.ask("server/discover", with_meta());
    EXPECT_EQ(boost::json::serialize(result_in(found).at("supportedVersions")), R"(["2026-07-28"])");
    EXPECT_EQ(member(result_in(found), "resultType"), "complete");
    const value list = co_await client.ask("tools/list", with_meta());
    EXPECT_EQ(member(result_in(list), "cacheScope"), "private");
    const value reply = co_await client.ask("tools/call", with_meta(R"("name":"echo","arguments":{"a":1})"));
    EXPECT_EQ(text_said(reply), R"({"a":1})");
    EXPECT_EQ(member(result_in(reply), "resultType"), "complete");
    EXPECT_TRUE(result_in(reply).at("_meta").as_object().contains("io.modelcontextprotocol/serverInfo"));
    // Requests of the older era (with a handshake) still work on the same stream.
    co_await client.initialize();
    const value old = co_await client.call("echo");
    EXPECT_FALSE(result_in(old).as_object().contains("resultType"));
    for (const char* const gone : {"ping", "initialize", "logging/setLevel", "resources/subscribe"}) {
      const value no = co_await client.ask(gone, with_meta());
      EXPECT_EQ(error_code_in(no), "-32601") << gone;
    }
  });
}

TEST(McpDispatch, a_modern_envelope_that_is_wrong_is_refused) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    const auto meta = [](const std::string& inside) { return R"({"_meta":{)" + inside + "}}"; };
    const std::string version = R"("io.modelcontextprotocol/protocolVersion":)";
    const std::string can = R"("io.modelcontextprotocol/clientCapabilities":)";
    const value future = co_await client.ask("tools/list", meta(version + R"("2099-01-01",)" + can + "{}"));
    EXPECT_EQ(error_code_in(future), "-32022");
    EXPECT_EQ(boost::json::serialize(future.at("error").at("data")),
              R"({"supported":["2026-07-28"],"requested":"2099-01-01"})");
    for (const std::string& wrong :
         {version + "5," + can + "{}", version + R"("2026-07-28")", version + R"("2026-07-28",)" + can + "[]",
          version + R"("2026-07-28",)" + can + R"({},"io.modelcontextprotocol/logLevel":"loud")"}) {
      const value reply = co_await client.ask("tools/list", meta(wrong));
      EXPECT_EQ(error_code_in(reply), "-32602") << wrong;
    }
  });
}

TEST(McpDispatch, a_modern_client_is_told_logs_only_where_the_request_says_so) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    const value quiet = co_await client.ask("tools/call", with_meta(R"("name":"count")"));
    EXPECT_TRUE(client.others.empty());
    const value reply = co_await client.ask(
        "tools/call",
        R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/logLevel":"debug",)"
        R"("io.modelcontextprotocol/clientCapabilities":{}},"name":"count"})");
    EXPECT_EQ(client.others.size(), 2U);
    EXPECT_EQ(error_code_in(reply), "(none)");
  });
}

TEST(McpDispatch, lists_have_pages_and_wrong_cursors_are_refused) {
  setup with;
  with.options.page(3);
  run_with_mcp(with, [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    std::string names;
    std::string params = "{}";
    for (int pages = 0; pages < 3; ++pages) {
      const value list = co_await client.ask("tools/list", params);
      for (const value& item : result_in(list).at("tools").as_array()) names += member(item, "name") + " ";
      const std::string next = member(result_in(list), "nextCursor");
      EXPECT_EQ(next == "(none)", pages == 2);
      params = R"({"cursor":")" + next + "\"}";
    }
    EXPECT_EQ(names, "echo wait for_ever count fall lose roots in_turn ");
    for (const char* const wrong : {"\"\"", "\"x\"", "5", "\"OTk5OjA=\"", "\"MDow\""}) {
      const value reply = co_await client.ask("tools/list", R"({"cursor":)" + std::string(wrong) + "}");
      EXPECT_EQ(error_code_in(reply), "-32602") << wrong;
    }
  });
}

awaitable<std::vector<mcp::prompt_message>> no_messages(call&) { co_return std::vector<mcp::prompt_message>(); }

TEST(McpDispatch, a_cursor_of_another_list_is_refused) {
  setup with;
  with.options.page(1);
  const auto serve = [&](const asio::any_io_executor& executor) {
    std::unique_ptr<mcp::server> server = with(executor);
    for (const char* const name : {"first", "second", "third"})
      server->prompt(mcp::prompt_definition(name, ""), no_messages);
    return server;
  };
  run_with_mcp(serve, [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value tools = co_await client.ask("tools/list");
    const std::string params = R"({"cursor":")" + member(result_in(tools), "nextCursor") + "\"}";
    const value prompts = co_await client.ask("prompts/list", params);
    EXPECT_EQ(error_code_in(prompts), "-32602") << boost::json::serialize(prompts);
    const value more_tools = co_await client.ask("tools/list", params);
    EXPECT_EQ(member(result_in(more_tools).at("tools").at(0), "name"), "wait");
  });
}

TEST(McpDispatch, a_server_without_tools_of_this_library_has_no_instructions) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    const value reply = co_await client.ask("server/discover", with_meta());
    EXPECT_EQ(member(result_in(reply), "instructions"), "(none)");
  });
}

TEST(McpDispatch, a_legacy_client_can_be_asked_and_may_refuse) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize("2025-11-25", R"({"roots":{}})");
    for (const bool refuses : {false, true}) {
      co_await client.say(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"roots"}})");
      const value asked = co_await client.hear();
      EXPECT_EQ(member(asked, "method"), "roots/list");
      co_await client.say(R"({"jsonrpc":"2.0","id":"s-999","result":{"roots":[]}})");
      const std::string reply = refuses ? R"("error":{"code":-1,"message":"no"}})" : R"("result":{"roots":[]}})";
      co_await client.say(R"({"jsonrpc":"2.0","id":")" + member(asked, "id") + "\"," + reply);
      const value response = co_await client.hear_answer("1");
      EXPECT_EQ(result_in(response).at("isError").as_bool(), refuses);
    }
  });
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value reply = co_await client.call("roots");
    EXPECT_EQ(error_code_in(reply), "-32021");
  });
}

TEST(McpDispatch, what_a_modern_client_is_asked_comes_back_once_unchanged_and_for_the_same_call) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    const value cannot = co_await client.ask("tools/call", with_meta(R"("name":"in_turn")"));
    EXPECT_EQ(error_code_in(cannot), "-32021");
    const std::string meta =
        R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}})";
    const value asked = co_await client.ask("tools/call", "{" + meta + R"(,"name":"in_turn"})");
    EXPECT_EQ(member(result_in(asked), "resultType"), "input_required");
    const std::string state = member(result_in(asked), "requestState");
    const auto again = [&](const std::string& with, const std::string& arguments) {
      return "{" + meta + R"(,"name":"in_turn","arguments":)" + arguments +
             R"(,"inputResponses":{"a":{}},"requestState":")" + with + "\"}";
    };
    std::string changed = state;
    changed[5] = changed[5] == 'A' ? 'B' : 'A';
    const value tampered = co_await client.ask("tools/call", again(changed, "{}"));
    EXPECT_EQ(error_code_in(tampered), "-32602");
    const value other = co_await client.ask("tools/call", again(state, R"({"x":1})"));
    EXPECT_EQ(error_code_in(other), "-32602");
    const value first = co_await client.ask(
        "tools/call", "{" + meta + R"(,"name":"in_turn","inputResponses":{"a":{}},"requestState":")" + state + "\"}");
    EXPECT_EQ(text_said(first), R"(kept:{"a":{}})");
    const value second = co_await client.ask(
        "tools/call", "{" + meta + R"(,"name":"in_turn","inputResponses":{"a":{}},"requestState":")" + state + "\"}");
    EXPECT_EQ(error_code_in(second), "-32602");
  });
}

TEST(McpDispatch, what_one_connection_was_given_to_give_back_is_of_no_use_to_another) {
  constexpr std::string_view meta =
      R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},"name":"in_turn")";
  std::string state;
  bool tried = false;
  const auto params = [&] { return std::string(meta) + R"(,"inputResponses":{},"requestState":")" + state + R"("})"; };
  const cofferdam_test::mcp_body owner = [&](mcp_client& client) -> awaitable<void> {
    const value asked = co_await client.ask("tools/call", std::string(meta) + "}");
    state = member(result_in(asked), "requestState");
    const bool came = co_await comes_true([&] { return tried; });
    EXPECT_TRUE(came);
    const value mine = co_await client.ask("tools/call", params());
    EXPECT_EQ(text_said(mine), "kept:{}");
  };
  const cofferdam_test::mcp_body other = [&](mcp_client& client) -> awaitable<void> {
    const bool came = co_await comes_true([&] { return !state.empty(); });
    EXPECT_TRUE(came);
    const value stolen = co_await client.ask("tools/call", params());
    EXPECT_EQ(error_code_in(stolen), "-32602");
    tried = true;
  };
  run_with_mcp(setup(), std::vector<cofferdam_test::mcp_body>{owner, other});
}

TEST(McpDispatch, a_subscription_is_acknowledged_and_told_what_it_asked_for_until_it_is_cancelled) {
  mcp::server* server = nullptr;
  const setup with;
  const auto make = [&](const asio::any_io_executor& executor) {
    auto created = with(executor);
    server = created.get();
    return created;
  };
  run_with_mcp(make, [&](mcp_client& client) -> awaitable<void> {
    co_await client.say(R"({"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":)" +
                        with_meta(R"("notifications":{"toolsListChanged":true,"promptsListChanged":true})") + "}");
    const value first = co_await client.hear();
    EXPECT_EQ(member(first, "method"), "notifications/subscriptions/acknowledged");
    EXPECT_EQ(boost::json::serialize(first.at("params").at("notifications")), R"({"toolsListChanged":true})");
    server->prompts_changed();
    server->tools_changed();
    const value notification = co_await client.hear();
    EXPECT_EQ(member(notification, "method"), "notifications/tools/list_changed");
    EXPECT_EQ(member(notification.at("params").at("_meta"), "io.modelcontextprotocol/subscriptionId"), "l");
    co_await client.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}})");
    const value list = co_await client.ask("tools/list", with_meta());
    server->tools_changed();
    const value again = co_await client.ask("tools/list", with_meta());
    EXPECT_TRUE(client.others.empty());
  });
}

TEST(McpDispatch, too_many_requests_at_once_are_refused) {
  setup with;
  with.options.requests(3);
  run_with_mcp(with, [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    for (int i = 0; i < 4; ++i)
      co_await client.say(R"({"jsonrpc":"2.0","id":)" + std::to_string(i) +
                          R"(,"method":"tools/call","params":{"name":"for_ever"}})");
    const value reply = co_await client.hear();
    EXPECT_EQ(member(reply, "id"), "3");
    EXPECT_EQ(error_code_in(reply), "-32603");
  });
}

TEST(McpDispatch, a_client_that_asks_and_does_not_read_is_not_read_either) {
  setup with;
  run_with_mcp(with, [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    client.room(1000);
    int asked = 0;
    for (bool stuck = false; asked < 40'000 && !stuck; ++asked) {
      co_await client.say(R"({"jsonrpc":"2.0","id":)" + std::to_string(asked) + R"(,"method":"ping"})");
      const auto is_full = [&] { return client.unsaid() > 600'000; };
      for (int i = 0; i < 50 && is_full(); ++i) co_await nap(std::chrono::milliseconds(20));
      stuck = is_full();
    }
    // The server stops reading when some thousand replies are unread. Further requests then wait too.
    EXPECT_LT(asked, 40'000);
    client.room(std::size_t{1} << 24U);
    for (int heard = 0; heard < asked;) {
      const value reply = co_await client.hear();
      if (reply.as_object().contains("result")) {
        ++heard;
      } else {
        ADD_FAILURE() << boost::json::serialize(reply);
      }
    }
  });
}

TEST(McpDispatch, tools_that_come_and_go_are_told) {
  mcp::server* server = nullptr;
  const setup with;
  const auto make = [&](const asio::any_io_executor& executor) {
    auto created = with(executor);
    server = created.get();
    return created;
  };
  run_with_mcp(make, [&](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    server->add(tools::definition("new", "New"), echo);
    const value notification = co_await client.hear();
    EXPECT_EQ(member(notification, "method"), "notifications/tools/list_changed");
    const value reply = co_await client.call("new");
    EXPECT_EQ(text_said(reply), "{}");
    EXPECT_TRUE(server->remove_tool("new"));
    EXPECT_FALSE(server->remove_tool("new"));
    EXPECT_THROW(server->add(tools::definition("echo", "Twice"), echo), error);
    EXPECT_THROW(tools::definition("a b", ""), error);
  });
}

}  // namespace mcp_dispatch_tests
