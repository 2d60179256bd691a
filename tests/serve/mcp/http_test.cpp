// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of MCP over streamable HTTP: each check compares the HTTP status, the error code and the id of the reply. The
// tools need no backend.

#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/mcp/detail/http_checks.hpp>
#include <cofferdam/serve/mcp_server.hpp>

#include "net/http_server_support.hpp"
#include "serve/mcp/mcp_support.hpp"
#include "support/error_of.hpp"
#include "support/spawn.hpp"

#include <boost/json/parse.hpp>
#include <boost/system/error_code.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mcp_http_tests {

using namespace cofferdam;
using cofferdam::detail::http_client;
using cofferdam::detail::tcp_connector;
using cofferdam_test::comes_true;
using cofferdam_test::member;
using cofferdam_test::nap;
using cofferdam_test::raw_client;
using mcp::answer;
using mcp::call;

class notes {
 public:
  int started = 0;
  int ended = 0;
  int read = 0;
};
awaitable<answer> for_ever(std::shared_ptr<notes> counters, call& of) {
  const auto done = [](notes* which) { ++which->ended; };
  const std::unique_ptr<notes, decltype(done)> at_end(counters.get(), done);
  ++counters->started;
  of.progress(1, std::nullopt, "begun");
  co_await nap(std::chrono::hours(1));
  co_return answer("never");
}
awaitable<answer> in_steps(call& of) {
  for (int i = 1; i <= 3; ++i) {
    of.progress(i, 3, "step");
    co_await nap(std::chrono::milliseconds(20));
  }
  co_return answer("all steps");
}
awaitable<answer> broken_off(call& of) {
  of.progress(1, 2, "before");
  of.interrupt_connection();
  co_await nap(std::chrono::milliseconds(50));
  of.progress(2, 2, "behind");
  co_return answer("whole");
}
awaitable<answer> say_hello(call&) { co_return answer("hello"); }
awaitable<answer> ask_once(call& of) {
  if (!of.request_state().empty()) co_return answer(of.request_state());
  co_return answer::input_required(boost::json::object(), "kept");
}
awaitable<mcp::content> eight_mebibytes(std::shared_ptr<notes> counters, call& of) {
  ++counters->read;
  const std::string text(std::size_t{8} * 1024 * 1024, 'x');
  co_return mcp::content::resource(of.name(), "text/plain", text);
}

/// The port of a server, and functions that send requests to it.
class place {
 public:
  place(const asio::any_io_executor& executor, std::uint16_t port)
      : port(port), http(executor, tcp_connector("127.0.0.1", port)) {}
  std::uint16_t port;
  http_client http;
  std::shared_ptr<notes> seen;
  mcp::server* server = nullptr;
  using fields = std::vector<std::pair<std::string, std::string>>;

  static http_request request(std::string method, const std::string& body, const fields& more) {
    http_request built(std::move(method), "/mcp");
    bool has_accept = false;
    bool has_type = false;
    for (const auto& [name, value] : more) {
      has_accept = has_accept || name == "Accept";
      has_type = has_type || name == "Content-Type";
      if (!value.empty()) built.field(name, value);
    }
    if (!has_accept) built.field("Accept", "application/json, text/event-stream");
    if (!body.empty()) {
      built.body(http_body(std::string_view(body)));
      if (!has_type) built.field("Content-Type", "application/json");
    }
    return built;
  }
  awaitable<http_response> post(std::string body) { return post(std::move(body), fields()); }
  awaitable<http_response> post(std::string body, fields more) {
    http_response reply = co_await http.request(request("POST", body, more));
    co_return reply;
  }
  awaitable<http_response> send(std::string method) { return send(std::move(method), fields()); }
  awaitable<http_response> send(std::string method, fields more) {
    http_response reply = co_await http.request(request(std::move(method), "", more));
    co_return reply;
  }
  /// Starts a session. \return the session's id.
  awaitable<std::string> begin(std::string version = "2025-11-25") { return begin(std::move(version), fields()); }
  awaitable<std::string> begin(std::string version, fields more) {
    const http_response reply =
        co_await post(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" + version +
                          R"(","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})",
                      std::move(more));
    EXPECT_EQ(reply.status(), 200) << reply.text();
    co_return std::string(reply.head().fields.find("Mcp-Session-Id").value_or("(none)"));
  }
};

/// Makes a list of header fields: `with("Name", "value", ...)`.
template <class... Words>
place::fields with(const Words&... words) {
  const std::vector<std::string> values{std::string(words)...};
  place::fields list;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) list.emplace_back(values[i], values[i + 1]);
  return list;
}

/// Returns the status, the error code and the id of a reply, such as "400 -32600 null".
std::string told(const http_response& reply) {
  std::string text = std::to_string(reply.status());
  boost::system::error_code broken;
  const boost::json::value body = boost::json::parse({reply.text().data(), reply.text().size()}, broken);
  if (broken || !body.is_object()) return text;
  if (body.get_object().contains("error")) text += " " + member(body.get_object().at("error"), "code");
  return text + " " + member(body, "id");
}

using body_of_test = std::function<awaitable<void>(place&)>;

awaitable<void> run_body(mcp::server& server, body_of_test body, place& target) {
  std::exception_ptr failure;
  try {
    co_await body(target);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await server.stop();
  if (failure) std::rethrow_exception(failure);
}

std::shared_ptr<notes> run_with_http(mcp::server_options options, const body_of_test& body) {
  const cofferdam_test::watchdog guard(std::chrono::seconds(120));
  asio::io_context context(1);
  if (options.tokens().empty()) options.without_token();
  mcp::server server(context.get_executor(), std::move(options));
  const auto counters = std::make_shared<notes>();
  server.add(tools::definition("hello", "Says hello"), say_hello);
  server.add(tools::definition("for_ever", "Never ends"), [counters](call& of) { return for_ever(counters, of); });
  server.add(tools::definition("steps", "Tells its steps"), in_steps);
  server.add(tools::definition("break", "Breaks off"), broken_off);
  server.add(tools::definition("ask", "Asks for more"), ask_once);
  server.resource(mcp::resource_definition("test://big", "big"),
                  [counters](call& of) { return eight_mebibytes(counters, of); });
  boost::json::object schema = boost::json::parse(
                                   R"({"type":"object","properties":{"r":{"type":"string","x-mcp-header":"R"},
                                       "n":{"type":"integer","x-mcp-header":"N"}}})")
                                   .as_object();
  server.add(tools::definition("headed", "Has headers").input(std::move(schema)), say_hello);
  listener where = tcp_listener(context.get_executor(), "127.0.0.1", 0);
  place target(context.get_executor(), where.port());
  target.seen = counters;
  target.server = &server;
  std::exception_ptr failure;
  const auto ended = [&failure](std::exception_ptr why) {
    if (why && !failure) failure = why;
  };
  cofferdam_test::spawn(context, server.serve(std::move(where)), ended);
  cofferdam_test::spawn(context, run_body(server, body, target), ended);
  context.run();
  if (failure) std::rethrow_exception(failure);
  return counters;
}

/// Calls `serve` on a server without an environment. Returns the message of the error that `serve` throws; empty if it
/// throws none.
std::string refused_by_serve(mcp::server_options options) {
  asio::io_context context(1);
  mcp::server server(context.get_executor(), std::move(options));
  std::string why;
  try {
    static_cast<void>(server.serve(tcp_listener(context.get_executor(), "127.0.0.1", 0)));
  } catch (const error& refusal) {
    why = refusal.what();
  }
  return why;
}

constexpr std::string_view ping = R"({"jsonrpc":"2.0","id":5,"method":"ping"})";

TEST(McpHttp, hosts_origins_paths_and_methods_are_looked_at_first) {
  run_with_http({}, [](place& target) -> awaitable<void> {
    const std::vector<std::pair<place::fields, std::string>> cases{
        {{{"Host", "evil.example"}}, "403 -32000 null"},
        {{{"Host", "localhost.evil.example"}}, "403 -32000 null"},
        {{{"Origin", "http://evil.example"}}, "403 -32000 null"},
        {{{"Origin", "null"}}, "403 -32000 null"},
        {{{"Host", "LOCALHOST:1"}}, "400 -32000 null"},
        {{{"Origin", "http://localhost:9999"}}, "400 -32000 null"},
        {{{"Origin", "http://localhost:9999"}, {"Origin", "http://evil.example"}}, "403 -32000 null"},
        {{{"Origin", "http://localhost:9999"}, {"Origin", "http://localhost:9999"}}, "403 -32000 null"},
        {{{"Content-Type", "text/plain"}}, "415 -32000 null"},
        {{{"Content-Type", "application/jsonp"}}, "415 -32000 null"},
        {{{"Content-Type", "application/json-seq; charset=utf-8"}}, "415 -32000 null"},
        {{{"Content-Type", "Application/JSON ; charset=utf-8"}}, "400 -32000 null"},
        {{{"Accept", "application/json"}}, "406 -32000 null"},
        {{{"Accept", "*/*"}}, "400 -32000 null"},
        {{{"Mcp-Session-Id", "nobody"}}, "404 -32001 null"},
        {{}, "400 -32000 null"}};
    for (const auto& [fields, expected] : cases) {
      const http_response reply = co_await target.post(std::string(ping), fields);
      EXPECT_EQ(told(reply), expected) << (fields.empty() ? "" : fields.front().second);
    }
    http_request elsewhere("POST", "/other");
    elsewhere.content("application/json", ping);
    const http_response nothing = co_await target.http.request(std::move(elsewhere));
    EXPECT_EQ(nothing.status(), 404);
    for (const char* const method : {"GET", "DELETE", "PUT", "OPTIONS"}) {
      const http_response reply = co_await target.send(method);
      EXPECT_EQ(reply.status(), 405) << method;
      EXPECT_TRUE(reply.head().fields.find("Allow").has_value());
    }
  });
}

TEST(McpHttp, a_web_page_of_an_added_origin_may_ask_first_and_read_the_replies) {
  mcp::server_options options;
  options.origin("https://app.example").token("first-token-0123456");
  run_with_http(std::move(options), [](place& target) -> awaitable<void> {
    const place::fields asks{{"Origin", "https://app.example"},
                             {"Access-Control-Request-Method", "POST"},
                             {"Access-Control-Request-Headers", "authorization,content-type,mcp-session-id"}};
    const http_response allowed = co_await target.send("OPTIONS", asks);
    EXPECT_EQ(allowed.status(), 204);
    EXPECT_EQ(allowed.field("Access-Control-Allow-Origin"), "https://app.example");
    EXPECT_EQ(allowed.field("Access-Control-Allow-Methods"), "POST");
    EXPECT_EQ(allowed.field("Access-Control-Allow-Headers"), "authorization,content-type,mcp-session-id");
    EXPECT_EQ(allowed.head().fields.count("Access-Control-Allow-Origin"), 1U);
    // Replies to the page can be read, refusals too.
    const place::fields page{{"Origin", "https://app.example"}, {"Authorization", "Bearer first-token-0123456"}};
    http_response reply = co_await target.post(std::string(ping), page);
    EXPECT_EQ(told(reply), "400 -32000 null");
    EXPECT_EQ(reply.field("Access-Control-Allow-Origin"), "https://app.example");
    EXPECT_EQ(reply.field("Access-Control-Expose-Headers"), "*");
    const place::fields no_token{{"Origin", "https://app.example"}};
    reply = co_await target.post(std::string(ping), no_token);
    EXPECT_EQ(told(reply), "401 -32000 null");
    EXPECT_EQ(reply.field("Access-Control-Allow-Origin"), "https://app.example");
    // Control: a page of this machine may send, but not read; another page may not send.
    const std::vector<std::pair<std::string, int>> others{{"http://localhost:9999", 401}, {"http://evil.example", 403}};
    for (const auto& [origin, status] : others) {
      place::fields other = asks;
      other.front().second = origin;
      reply = co_await target.send("OPTIONS", other);
      EXPECT_EQ(reply.status(), status) << origin;
      EXPECT_FALSE(reply.field("Access-Control-Allow-Origin").has_value()) << origin;
    }
  });
  for (const char* const bad :
       {"app.example", "https://app.example/", "*", "null", "", "https://", "https://:1", "http://[]",
        "http://a:", "http://a:65536", "http://a%b", "http://user@a", "://a", "ht tp://a"}) {
    const std::optional<error> why = cofferdam_test::error_of([&] { mcp::server_options().origin(bad); });
    if (!why) continue;
    EXPECT_EQ(why->code(), exec_errc::invalid_argument) << bad;
    EXPECT_TRUE(std::string_view(why->what()).starts_with("mcp::server_options::origin: \"")) << why->what();
  }
  const mcp::server_options good = mcp::server_options()
                                       .origin("https://app.example:443")
                                       .origin("HTTP://localhost:80")
                                       .origin("http://[::1]:443")
                                       .origin("chrome-extension://abcdef");
  EXPECT_EQ(good.origins(), (std::vector<std::string>{"https://app.example", "HTTP://localhost", "http://[::1]:443",
                                                      "chrome-extension://abcdef"}));
}

TEST(McpHttp, a_token_is_demanded_where_there_is_one_and_each_has_sessions_of_its_own) {
  mcp::server_options options;
  options.token("first-token-0123456").token("second-token-012345");
  run_with_http(std::move(options), [](place& target) -> awaitable<void> {
    const place::fields first{{"Authorization", "Bearer first-token-0123456"}};
    for (const char* const wrong : {"", "Bearer x", "Basic first-token-0123456", "Bearer first-token-012345"}) {
      const http_response reply = co_await target.post(std::string(ping), with("Authorization", wrong));
      EXPECT_EQ(told(reply), "401 -32000 null");
      EXPECT_TRUE(reply.head().fields.find("WWW-Authenticate").has_value());
    }
    const std::string id = co_await target.begin("2025-11-25", first);
    place::fields mine = first;
    mine.emplace_back("Mcp-Session-Id", id);
    const http_response good = co_await target.post(std::string(ping), mine);
    EXPECT_EQ(told(good), "200 5");
    const http_response foreign = co_await target.post(
        std::string(ping), with("Authorization", "bearer second-token-012345", "Mcp-Session-Id", id));
    EXPECT_EQ(told(foreign), "404 -32001 null");
  });
}

TEST(McpHttp, beyond_loopback_there_is_no_serving_without_a_token) {
  asio::io_context context(1);
  mcp::server server(context.get_executor());
  EXPECT_THROW(static_cast<void>(server.serve(tcp_listener(context.get_executor(), "0.0.0.0", 0))), error);
  EXPECT_THROW(mcp::server_options().token("short"), error);
}

// Feature: J10
TEST(McpHttp, a_session_lives_from_initialize_to_delete) {
  run_with_http({}, [](place& target) -> awaitable<void> {
    const std::string id = co_await target.begin();
    EXPECT_EQ(id.size(), 32U);
    const place::fields mine{{"Mcp-Session-Id", id}, {"MCP-Protocol-Version", "2025-11-25"}};
    const std::vector<std::pair<std::string, std::string>> cases{
        {std::string(ping), "200 5"},
        {R"({"jsonrpc":"2.0","method":"notifications/initialized"})", "202"},
        {R"({"jsonrpc":"2.0","id":"s-1","result":{}})", "202"},
        {R"({"jsonrpc":"2.0","id":"x","method":"no/such"})", "200 -32601 x"},
        {R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hello"}})", "200 7"},
        {R"({"id":7,"method":"ping"})", "400 -32600 7"},
        {"{bad", "400 -32700 null"},
        {R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])", "400 -32600 null"},
        {R"({"jsonrpc":"2.0","id":7,"method":"initialize","params":{}})", "400 -32600 null"}};
    for (const auto& [body, expected] : cases) {
      const http_response reply = co_await target.post(body, mine);
      EXPECT_EQ(told(reply), expected) << body;
    }
    const http_response version =
        co_await target.post(std::string(ping), with("Mcp-Session-Id", id, "MCP-Protocol-Version", "2020-01-01"));
    EXPECT_EQ(told(version), "400 -32000 null");
    EXPECT_EQ(target.server->sessions(), 1U);
    const http_response ended = co_await target.send("DELETE", mine);
    EXPECT_EQ(ended.status(), 200);
    const http_response gone = co_await target.post(std::string(ping), mine);
    EXPECT_EQ(told(gone), "404 -32001 null");
    EXPECT_EQ(target.server->sessions(), 0U);
  });
}

TEST(McpHttp, batches_are_answered_in_the_one_version_that_has_them) {
  run_with_http({}, [](place& target) -> awaitable<void> {
    const std::string id = co_await target.begin("2025-03-26");
    const http_response reply = co_await target.post(
        R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},7])", with("Mcp-Session-Id", id));
    EXPECT_EQ(reply.status(), 200);
    EXPECT_EQ(reply.text(),
              R"([{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: a message )"
              R"(must be a JSON object"}},{"jsonrpc":"2.0","id":1,"result":{}}])");
    const http_response none = co_await target.post(R"([{"jsonrpc":"2.0","method":"x"}])", with("Mcp-Session-Id", id));
    EXPECT_EQ(none.status(), 202);
  });
}

TEST(McpHttp, what_is_told_meanwhile_makes_the_answer_a_stream_and_each_event_can_be_had_again) {
  run_with_http({}, [](place& target) -> awaitable<void> {
    const std::string id = co_await target.begin();
    const http_response reply = co_await target.post(
        R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"steps","_meta":{"progressToken":"t"}}})",
        with("Mcp-Session-Id", id));
    EXPECT_EQ(reply.head().fields.find("Content-Type").value_or(""), "text/event-stream");
    const std::string text(reply.text());
    EXPECT_TRUE(text.starts_with("id: ")) << text;
    const std::string stream = text.substr(4, text.find('_') - 4);
    EXPECT_NE(text.find("id: " + stream + "_0\nretry: 1000\ndata: \n\n"), std::string::npos) << text;
    EXPECT_NE(text.find("id: " + stream + "_4\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\""), std::string::npos)
        << text;
    for (const int behind : {0, 2, 3}) {
      const http_response again = co_await target.send(
          "GET", with("Mcp-Session-Id", id, "Last-Event-ID", stream + "_" + std::to_string(behind)));
      EXPECT_EQ(again.status(), 200);
      const std::string rest(again.text());
      const std::string first = "\nid: " + stream + "_" + std::to_string(behind + 1) + "\n";
      EXPECT_NE(rest.find("event: message" + first), std::string::npos) << rest;
      EXPECT_NE(rest.find("all steps"), std::string::npos);
      EXPECT_EQ(rest.find("event: message\nid: " + stream + "_" + std::to_string(behind) + "\n"), std::string::npos);
    }
    for (const std::string& wrong :
         {stream + "_99", stream + "_", stream + "_x", std::string("other_1"), std::string("x")}) {
      const http_response no = co_await target.send("GET", with("Mcp-Session-Id", id, "Last-Event-ID", wrong));
      EXPECT_EQ(told(no), "400 -32000 null") << wrong;
    }
  });
}

TEST(McpHttp, a_call_whose_stream_was_broken_off_is_finished_for_who_comes_back) {
  run_with_http({}, [](place& target) -> awaitable<void> {
    const std::string id = co_await target.begin();
    const http_response reply = co_await target.post(
        R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"break","_meta":{"progressToken":0}}})",
        with("Mcp-Session-Id", id));
    const std::string text(reply.text());
    EXPECT_EQ(text.find("whole"), std::string::npos);
    const std::string event = text.substr(4, text.find('\n') - 4);
    const http_response rest = co_await target.send("GET", with("Mcp-Session-Id", id, "Last-Event-ID", event));
    EXPECT_NE(rest.text().find("behind"), std::string_view::npos);
    EXPECT_NE(rest.text().find("whole"), std::string_view::npos);
  });
}

/// Returns a whole POST request as text, with the given body and further fields.
std::string wire(const std::string& body, const std::string& fields) {
  return "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, "
         "text/event-stream\r\n" +
         fields + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
constexpr std::string_view modern_fields =
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: for_ever\r\n";
std::string modern_call(const std::string& rest) {
  return R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"progressToken":1,)"
         R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}})" +
         rest + "}}";
}

TEST(McpHttp, a_legacy_client_whose_connection_breaks_has_not_cancelled) {
  const auto counters = run_with_http({}, [](place& target) -> awaitable<void> {
    const std::string id = co_await target.begin();
    const std::string call =
        R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"for_ever","_meta":{"progressToken":1}}})";
    raw_client client = co_await raw_client::connect(tcp_connector("127.0.0.1", target.port));
    co_await client.say(wire(call, "Mcp-Session-Id: " + id + "\r\n"));
    co_await client.hear("begun");
    client.close();
    for (int i = 0; i < 5; ++i) {
      const http_response pong = co_await target.post(std::string(ping), with("Mcp-Session-Id", id));
      EXPECT_EQ(pong.status(), 200);
    }
    EXPECT_EQ(target.seen->ended, 0);
    // A client may disconnect. Its stream then ends, and no reply is sent.
    raw_client other = co_await raw_client::connect(tcp_connector("127.0.0.1", target.port));
    std::string second = call;
    second.replace(second.find("\"id\":7"), 6, "\"id\":8");
    co_await other.say(wire(second, "Mcp-Session-Id: " + id + "\r\nConnection: close\r\n"));
    co_await other.hear("begun");
    const http_response cancel = co_await target.post(
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}})", with("Mcp-Session-Id", id));
    EXPECT_EQ(cancel.status(), 202);
    const std::string rest = co_await other.rest();
    EXPECT_EQ(rest.find("result"), std::string::npos) << rest;
    EXPECT_EQ(target.seen->ended, 1);
    const http_response ended = co_await target.send("DELETE", with("Mcp-Session-Id", id));
    const bool gone = co_await comes_true([&] { return target.seen->ended == 2; });
    EXPECT_TRUE(gone);
  });
  EXPECT_EQ(counters->started, 2);
}

TEST(McpHttp, a_modern_client_cancels_by_closing_its_connection) {
  run_with_http({}, [](place& target) -> awaitable<void> {
    raw_client client = co_await raw_client::connect(tcp_connector("127.0.0.1", target.port));
    co_await client.say(wire(modern_call(R"(,"name":"for_ever")"), std::string(modern_fields)));
    const std::string head = co_await client.hear("begun");
    EXPECT_EQ(head.find("\nid: "), std::string::npos);
    EXPECT_EQ(target.seen->ended, 0);
    client.close();
    const bool gone = co_await comes_true([&] { return target.seen->ended == 1; });
    EXPECT_TRUE(gone);
  });
}

TEST(McpHttp, each_field_of_a_modern_request_is_compared_with_its_body) {
  run_with_http({}, [](place& target) -> awaitable<void> {
    const std::string meta =
        R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}})";
    const auto request = [&meta](const std::string& method, const std::string& rest) {
      return R"({"jsonrpc":"2.0","id":"r","method":")" + method + R"(","params":{)" + meta + rest + "}}";
    };
    const auto fields = [](const char* version, const char* method, const char* name) {
      return place::fields{
          {"MCP-Protocol-Version", version}, {"Mcp-Method", method}, {"Mcp-Name", name}, {"Accept", ""}};
    };
    const std::string list = request("tools/list", "");
    const std::string hello = request("tools/call", R"(,"name":"hello")");
    const char* const now = "2026-07-28";
    const std::vector<std::tuple<std::string, place::fields, std::string>> cases{
        {list, fields(now, "tools/list", ""), "200 r"},
        {list, fields(now, "", ""), "400 -32020 r"},
        {list, fields(now, "tools/call", ""), "400 -32020 r"},
        {list, fields("", "tools/list", ""), "400 -32020 r"},
        {list, fields("2025-11-25", "tools/list", ""), "400 -32020 r"},
        {R"({"jsonrpc":"2.0","id":"r","method":"tools/list"})", fields(now, "tools/list", ""), "400 -32602 r"},
        {R"({"jsonrpc":"2.0","id":"r","method":"tools/list","params":{"_meta":{}}})", fields(now, "tools/list", ""),
         "400 -32602 r"},
        {R"({"jsonrpc":"2.0","id":"r","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})",
         fields(now, "tools/list", ""), "400 -32602 r"},
        {request("ping", ""), fields(now, "ping", ""), "404 -32601 r"},
        {request("initialize", ""), fields(now, "initialize", ""), "404 -32601 r"},
        {request("tasks/get", ""), fields(now, "tasks/get", ""), "404 -32601 r"},
        {hello, fields(now, "tools/call", "hello"), "200 r"},
        {hello, fields(now, "tools/call", "=?base64?aGVsbG8=?="), "200 r"},
        {hello, fields(now, "tools/call", "=?base64?aGVsbG8?="), "400 -32020 r"},
        {hello, fields(now, "tools/call", ""), "400 -32020 r"},
        {hello, fields(now, "tools/call", "other"), "400 -32020 r"},
        {request("tools/call", R"(,"name":"nope")"), fields(now, "tools/call", "nope"), "200 -32602 r"},
        {request("resources/read", R"(,"uri":"test://x")"), fields(now, "resources/read", "test://x"), "200 -32602 r"}};
    for (const auto& [body, with, expected] : cases) {
      const http_response reply = co_await target.post(body, with);
      EXPECT_EQ(told(reply), expected) << body;
    }
    const std::string headed = request("tools/call", R"(,"name":"headed","arguments":{"r":"west","n":7})");
    const std::vector<std::tuple<const char*, const char*, const char*>> params{
        {"west", "7", "200 r"},        {"west", "7.0", "200 r"},  {"east", "7", "400 -32020 r"},
        {"west", "8", "400 -32020 r"}, {"", "7", "400 -32020 r"}, {"=?base64?d2VzdA==?=", "7", "200 r"}};
    for (const auto& [region, number, expected] : params) {
      place::fields with = fields(now, "tools/call", "headed");
      with.emplace_back("Mcp-Param-R", region);
      with.emplace_back("Mcp-Param-N", number);
      const http_response reply = co_await target.post(headed, with);
      EXPECT_EQ(told(reply), expected) << region << " " << number;
    }
    const http_response notified = co_await target.post(
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l",)" + meta + "}}");
    EXPECT_EQ(notified.status(), 202);
  });
}

TEST(McpHttp, what_one_token_was_given_to_give_back_is_of_no_use_to_another) {
  mcp::server_options options;
  options.token("first-token-0123456").token("second-token-012345");
  run_with_http(std::move(options), [](place& target) -> awaitable<void> {
    const auto as = [](const std::string& token) {
      return place::fields{{"Authorization", "Bearer " + token},
                           {"MCP-Protocol-Version", "2026-07-28"},
                           {"Mcp-Method", "tools/call"},
                           {"Mcp-Name", "ask"}};
    };
    const http_response asked = co_await target.post(modern_call(R"(,"name":"ask")"), as("first-token-0123456"));
    const boost::json::value result = boost::json::parse({asked.text().data(), asked.text().size()}).at("result");
    const std::string again =
        modern_call(R"(,"name":"ask","inputResponses":{},"requestState":")" + member(result, "requestState") + '"');
    for (int i = 0; i < 2; ++i) {
      const http_response stolen = co_await target.post(again, as("second-token-012345"));
      EXPECT_EQ(told(stolen), "200 -32602 7");
    }
    // The attempts with the wrong token have not consumed the `requestState`, which is valid once.
    const http_response mine = co_await target.post(again, as("first-token-0123456"));
    EXPECT_EQ(told(mine), "200 7");
    EXPECT_NE(mine.text().find("kept"), std::string_view::npos);
    const http_response twice = co_await target.post(again, as("first-token-0123456"));
    EXPECT_EQ(told(twice), "200 -32602 7");
  });
}

/// Connections that send requests and never read the replies.
class deaf_clients {
 public:
  awaitable<void> ask(place& target, std::string request, int count) {
    for (int i = 0; i < count; ++i) {
      raw_client raw = co_await raw_client::connect(tcp_connector("127.0.0.1", target.port));
      std::string mine = request;
      const std::size_t mark = mine.find("\"id\":7");
      mine.replace(mark, 6, "\"id\":" + std::to_string(100 + i));
      const std::string fields = mine.substr(0, mine.find('{'));
      co_await raw.say(wire(mine.substr(fields.size()), fields));
      all_.push_back(std::move(raw));
    }
  }
  void leave() {
    for (raw_client& raw : all_) raw.close();
    all_.clear();
  }

 private:
  std::list<raw_client> all_;
};
constexpr std::string_view read_fields =
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: resources/read\r\nMcp-Name: test://big\r\n";
std::string modern_read() {
  std::string text = modern_call(R"(,"uri":"test://big")");
  text.replace(text.find("tools/call"), 10, "resources/read");
  return text;
}
/// Sends a request repeatedly, for about 10 s. Returns true as soon as a reply contains `expected`.
awaitable<bool> comes_to(place& target, std::string request, place::fields fields, std::string expected) {
  for (int i = 0; i < 400; ++i) {
    const http_response reply = co_await target.post(request, fields);
    if (reply.text().find(expected) != std::string_view::npos) co_return true;
    co_await nap(std::chrono::milliseconds(25));
  }
  co_return false;
}

TEST(McpHttp, answers_that_nobody_reads_are_bounded_and_go_with_their_connections) {
  const auto counters = run_with_http({}, [](place& target) -> awaitable<void> {
    const std::string hello = modern_call(R"(,"name":"hello")");
    const place::fields fields =
        with("MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "hello");
    deaf_clients deaf;
    co_await deaf.ask(target, std::string(read_fields) + modern_read(), 40);
    const bool refused = co_await comes_to(target, hello, fields, "too many unread answers");
    EXPECT_TRUE(refused);
    const std::string list =
        R"({"jsonrpc":"2.0","id":5,"method":"tools/list","params":{)" + std::string(cofferdam_test::modern_meta) + "}}";
    const http_response at_once =
        co_await target.post(list, with("MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"));
    EXPECT_EQ(told(at_once), "200 5");
    EXPECT_LT(target.seen->read, 20);
    deaf.leave();
    const bool served = co_await comes_to(target, hello, fields, R"("text":"hello")");
    EXPECT_TRUE(served);
  });
  EXPECT_GE(counters->read, 8);
}

TEST(McpHttp, of_the_answers_of_legacy_clients_who_have_left_little_is_kept) {
  run_with_http({}, [](place& target) -> awaitable<void> {
    const std::string id = co_await target.begin();
    const std::string read = R"({"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"test://big"}})";
    deaf_clients deaf;
    co_await deaf.ask(target, "Mcp-Session-Id: " + id + "\r\n" + read, 40);
    const std::string hello = R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hello"}})";
    const bool refused = co_await comes_to(target, hello, with("Mcp-Session-Id", id), "too many unread answers");
    EXPECT_TRUE(refused);
    EXPECT_LT(target.seen->read, 20);
    deaf.leave();
    const bool served = co_await comes_to(target, hello, with("Mcp-Session-Id", id), R"("text":"hello")");
    EXPECT_TRUE(served);
    const http_response whole = co_await target.post(read, with("Mcp-Session-Id", id));
    EXPECT_EQ(told(whole), "200 7");
    EXPECT_GT(whole.text().size(), std::size_t{8} * 1024 * 1024);
  });
}

TEST(McpHttp, who_reads_slowly_gets_all_that_was_asked_for_at_once) {
  run_with_http({}, [](place& target) -> awaitable<void> {
    const std::string id = co_await target.begin();
    const std::string read = R"({"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"test://big"}})";
    std::list<raw_client> clients;
    for (int i = 0; i < 20; ++i) {
      std::string mine = read;
      mine.replace(mine.find("\"id\":7"), 6, "\"id\":" + std::to_string(100 + i));
      raw_client raw = co_await raw_client::connect(tcp_connector("127.0.0.1", target.port));
      co_await raw.say(wire(mine, "Mcp-Session-Id: " + id + "\r\nConnection: close\r\n"));
      clients.push_back(std::move(raw));
    }
    for (raw_client& raw : clients) {
      const std::string whole = co_await raw.rest();
      EXPECT_GT(whole.size(), std::size_t{8} * 1024 * 1024) << whole.substr(0, 1000);
    }
  });
}

TEST(McpHttp, a_token_does_not_take_the_sessions_of_another) {
  mcp::server_options options;
  options.token("first-token-0123456").token("second-token-012345").sessions(4);
  run_with_http(std::move(options), [](place& target) -> awaitable<void> {
    const std::string hello =
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}})";
    for (const char* const token : {"Bearer first-token-0123456", "Bearer second-token-012345"})
      for (const char* const expected : {"200 0", "200 0", "503 -32000 null"}) {
        const http_response reply = co_await target.post(hello, with("Authorization", token));
        EXPECT_EQ(told(reply), expected) << token;
      }
    EXPECT_EQ(target.server->sessions(), 4U);
  });
}

TEST(McpHttp, nothing_is_served_without_a_token_unless_that_was_said) {
  EXPECT_NE(refused_by_serve(mcp::server_options()).find("every user of this machine"), std::string::npos);
  EXPECT_EQ(refused_by_serve(mcp::server_options().without_token()), "");
  EXPECT_EQ(refused_by_serve(mcp::server_options().token("first-token-0123456")), "");
}

/// Calls a tool without arguments, by a protocol version without a handshake (from 2026-07-28). \param more further
/// header fields.
awaitable<http_response> call_modern(place& target, std::string tool, place::fields more) {
  more.emplace_back("MCP-Protocol-Version", "2026-07-28");
  more.emplace_back("Mcp-Method", "tools/call");
  more.emplace_back("Mcp-Name", tool);
  http_response reply = co_await target.post(
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" + tool +
          R"(","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
          R"("io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}})",
      std::move(more));
  co_return reply;
}

TEST(McpHttp, clients_of_the_modern_era_have_places_by_name_and_only_so_many) {
  mcp::server_options options;
  options.token("first-token-0123456").token("second-token-012345").sessions(4);
  run_with_http(std::move(options), [](place& target) -> awaitable<void> {
    const auto in = [](const char* token, const char* name) {
      return with("Authorization", "Bearer " + std::string(token), "Cofferdam-Place", name);
    };
    const char* const first = "first-token-0123456";
    const char* const second = "second-token-012345";
    struct row {
      const char* token;
      std::string name;  // empty means that no name is sent
      std::string answer;
    };
    const std::vector<row> rows{{first, "", "200 1"},
                                {first, "a", "200 1"},
                                {first, "b", "200 1"},
                                {first, "a", "200 1"},
                                {first, "c", "503 -32000 null"},
                                {first, "", "200 1"},
                                {second, "a", "200 1"},
                                {second, std::string(64, 'x'), "200 1"},
                                {second, "c", "503 -32000 null"},
                                {second, std::string(65, 'x'), "400 -32000 null"},
                                {second, "../a", "400 -32000 null"},
                                {second, "a b", "400 -32000 null"},
                                {second, "\xC3\xA4", "400 -32000 null"}};
    for (const row& entry : rows) {
      const http_response reply = co_await call_modern(target, "hello", in(entry.token, entry.name.c_str()));
      EXPECT_EQ(told(reply), entry.answer) << entry.token << " " << entry.name;
    }
    place::fields twice = in(first, "a");
    twice.emplace_back("Cofferdam-Place", "b");
    const http_response reply = co_await call_modern(target, "hello", twice);
    EXPECT_EQ(told(reply), "400 -32000 null");
    // Sessions, which only protocol versions with a handshake have, count towards the same limit of the token.
    const http_response session = co_await target.post(
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}})",
        with("Authorization", "Bearer " + std::string(first)));
    EXPECT_EQ(told(session), "503 -32000 null");
  });
}

// ---- limits on the memory of messages ----

std::string big_message(std::size_t size) {
  return R"({"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":")" + std::string(size, 'x') + "\"}}";
}

/// Sends a message of `size` bytes except for its last byte, so that the server has to keep it in memory.
awaitable<raw_client> hold_message(place& target, std::string more, std::size_t size) {
  raw_client client = co_await raw_client::connect(tcp_connector("127.0.0.1", target.port));
  const std::string body = big_message(size);
  co_await client.say("POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n" +
                      more + "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                      "\r\n\r\n" + body.substr(0, body.size() - 1));
  co_return client;
}

TEST(McpHttp, messages_of_four_mebibytes_are_taken_and_larger_ones_refused) {
  run_with_http({}, [](place& target) -> awaitable<void> {
    const std::string id = co_await target.begin();
    const http_response fits =
        co_await target.post(big_message((std::size_t{4} << 20U) - 1000), with("Mcp-Session-Id", id));
    EXPECT_EQ(told(fits), "200 9");
    raw_client client = co_await raw_client::connect(tcp_connector("127.0.0.1", target.port));
    co_await client.say(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n"
        "Content-Type: application/json\r\nContent-Length: 4194305\r\n\r\n{");
    const std::string refused = co_await client.hear("\r\n");
    EXPECT_EQ(refused.substr(0, 12), "HTTP/1.1 413");
  });
}

TEST(McpHttp, a_message_that_does_not_come_in_time_is_408_and_one_that_waits_for_memory_503) {
  mcp::server_options options;
  options.token("first-token-0123456").token("second-token-012345");
  options.message(40'000).memory(80'000).message_timeout(std::chrono::milliseconds(400));
  run_with_http(std::move(options), [](place& target) -> awaitable<void> {
    const std::string first = "Authorization: Bearer first-token-0123456\r\n";
    const place::fields second{{"Authorization", "Bearer second-token-012345"}};
    // The first message occupies the whole memory share of the first token.
    raw_client holds = co_await hold_message(target, first, 39'000);
    co_await nap(std::chrono::milliseconds(50));
    raw_client waits = co_await hold_message(target, first, 39'000);
    // The second token has its own share.
    const std::string id = co_await target.begin("2025-11-25", second);
    place::fields mine = second;
    mine.emplace_back("Mcp-Session-Id", id);
    const http_response reply = co_await target.post(big_message(39'000), mine);
    EXPECT_EQ(told(reply), "200 9");
    const std::string late = co_await holds.hear("\r\n");
    EXPECT_EQ(late.substr(0, 12), "HTTP/1.1 408");
    // The first message has timed out and its memory is free, but the time for the waiting message is over too.
    const std::string waited = co_await waits.hear("\r\n");
    EXPECT_TRUE(waited.starts_with("HTTP/1.1 503") || waited.starts_with("HTTP/1.1 408")) << waited;
  });
}

TEST(McpHttp, one_stream_at_a_time_carries_what_belongs_to_no_request) {
  run_with_http({}, [](place& target) -> awaitable<void> {
    const std::string id = co_await target.begin();
    raw_client client = co_await raw_client::connect(tcp_connector("127.0.0.1", target.port));
    co_await client.say("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: " + id +
                        "\r\n\r\n");
    co_await client.hear("retry: 1000\ndata: \n\n");
    const http_response second = co_await target.send("GET", with("Mcp-Session-Id", id, "Accept", "text/event-stream"));
    EXPECT_EQ(told(second), "409 -32000 null");
    const http_response json = co_await target.send("GET", with("Mcp-Session-Id", id, "Accept", "application/json"));
    EXPECT_EQ(told(json), "406 -32000 null");
    target.server->tools_changed();
    co_await client.hear("notifications/tools/list_changed");
    const http_response ended = co_await target.send("DELETE", with("Mcp-Session-Id", id));
    co_await client.hear("0\r\n\r\n");  // the stream ends with its session
  });
}

TEST(McpHttp, there_are_only_so_many_sessions_and_unused_ones_end) {
  mcp::server_options options;
  options.sessions(2, std::chrono::seconds(1));
  run_with_http(std::move(options), [](place& target) -> awaitable<void> {
    const std::string first = co_await target.begin();
    const std::string second = co_await target.begin();
    const http_response third = co_await target.post(
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}})");
    EXPECT_EQ(told(third), "503 -32000 null");
    const bool ended = co_await comes_true([&] { return target.server->sessions() == 0; });
    EXPECT_TRUE(ended);
    const http_response gone = co_await target.post(std::string(ping), with("Mcp-Session-Id", first));
    EXPECT_EQ(told(gone), "404 -32001 null");
  });
}

TEST(McpHttpChecks, names_are_read_as_browsers_write_them) {
  using namespace cofferdam::mcp::detail;
  for (const char* const good : {"localhost", "LocalHost:80", "127.0.0.1:1", "[::1]", "[::1]:65535"})
    EXPECT_TRUE(is_own_host(good, {})) << good;
  for (const char* const bad : {"", "localhost.", "127.0.0.1.evil.example", "localhost:80:80", "localhost:x", "[::1",
                                "evil.example", "localhost@evil.example", "localhost:123456"})
    EXPECT_FALSE(is_own_host(bad, {})) << bad;
  EXPECT_TRUE(is_own_host("box.example:80", {"box.example"}));
  EXPECT_FALSE(is_own_host("box.example:81", {"box.example:80"}));
  EXPECT_TRUE(is_own_origin("http://localhost:9999", {}, {}));
  EXPECT_FALSE(is_own_origin("file://localhost", {}, {}));
  EXPECT_TRUE(is_own_origin("https://App.example", {}, {"https://app.example"}));
  EXPECT_TRUE(is_json_type(" application/json;charset=utf-8"));
  for (const char* const other : {"", "application/jsonp", "application/json, text/plain", "text/json"})
    EXPECT_FALSE(is_json_type(other)) << other;
  EXPECT_TRUE(accepts("text/event-stream;q=0.5 , x", "text/event-stream"));
  EXPECT_TRUE(accepts("text/*", "text/event-stream"));
  EXPECT_FALSE(accepts("text/event-streams", "text/event-stream"));
}

}  // namespace mcp_http_tests
