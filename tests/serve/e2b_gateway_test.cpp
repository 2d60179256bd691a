// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/pool.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>

#include "serve/gateway_support.hpp"
#include "support/error_of.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::comes_about;
using cofferdam_test::gateway_client;
using cofferdam_test::gateway_sandbox_name;
using cofferdam_test::gateway_stream;
using cofferdam_test::gateway_work;
using cofferdam_test::json_of;
using cofferdam_test::local_provider;
using cofferdam_test::raw_client;
using cofferdam_test::run_with_gateway;
using cofferdam_test::said;
using cofferdam_test::text_at;

std::string failure_text(int code, const std::string& message) {
  return std::to_string(code) + " {\"code\":" + std::to_string(code) + ",\"message\":\"" + message + "\"}";
}
std::string missing(const std::string& id) {
  return failure_text(404, "Sandbox \\\"" + id + "\\\" doesn't exist or you don't have access to it");
}
std::string not_found(const std::string& id) {
  return "502 {\"sandboxId\":\"" + id + "\",\"message\":\"The sandbox was not found\",\"code\":502}";
}

// ---- the control API: creating, listing and ending sandboxes ----

TEST(E2bGateway, both_dialects_create_a_sandbox) {
  run_with_gateway([](e2b_gateway::server& gateway, gateway_client& client) -> awaitable<void> {
    http_response answer =
        co_await client.api("POST", "/v2/sandboxes", R"({"templateID":"Base:v1","metadata":{"user":"abc"}})");
    EXPECT_EQ(answer.status(), 201);
    EXPECT_EQ(answer.field("Content-Type"), "application/json; charset=utf-8");
    boost::json::value value = json_of(answer.text());
    EXPECT_EQ(text_at(value, "templateID"), "base");
    EXPECT_EQ(text_at(value, "clientID"), "6532622b");
    EXPECT_EQ(text_at(value, "envdVersion"), "0.6.13");
    EXPECT_EQ(text_at(value, "envdAccessToken").size(), 64U);
    EXPECT_TRUE(value.at("trafficAccessToken").is_null());
    answer = co_await client.api("POST", "/sandboxes", R"({"templateID":"base","timeout":60,"secure":true})");
    EXPECT_EQ(text_at(json_of(answer.text()), "envdAccessToken").size(), 64U);
    answer = co_await client.api("POST", "/sandboxes", R"({"templateID":"base"})");
    value = json_of(answer.text());
    EXPECT_FALSE(value.as_object().contains("envdAccessToken")) << "the older dialect secures only what asks for it";
    EXPECT_EQ(gateway.sandboxes(), 3U);
    // The default lifetime of a sandbox in this API is 15 s.
    answer = co_await client.api("GET", "/sandboxes/" + text_at(value, "sandboxID") + "-6532622b");
    EXPECT_EQ(answer.status(), 200);
    const boost::json::value detail = json_of(answer.text());
    EXPECT_EQ(text_at(detail, "state"), "running");
    EXPECT_LT(text_at(detail, "startedAt"), text_at(detail, "endAt"));
    EXPECT_EQ(text_at(detail, "endAt").size(), 30U);
    EXPECT_EQ(text_at(detail.at("lifecycle"), "onTimeout"), "kill");
  });
}

TEST(E2bGateway, what_is_wrong_with_a_request_is_said_as_by_the_real_one) {
  run_with_gateway([](e2b_gateway::server& gateway, gateway_client& client) -> awaitable<void> {
    const std::string none = failure_text(404, "validation error: no matching operation was found");
    const std::string method = failure_text(400, "validation error: method not allowed");
    struct row {
      const char* method;
      std::string target;
      std::string body;
      std::string answer;
    };
    const std::vector<row> rows{
        {"GET", "/", "", none},
        {"GET", "/other", "", none},
        {"POST", "/v3/other", "{}", none},
        {"GET", "/v2/sandboxes/iabc", "", missing("iabc")},
        {"PUT", "/sandboxes", "{}", method},
        {"GET", "/sandboxes/iabc", "", missing("iabc")},
        {"DELETE", "/sandboxes/iabc", "", missing("iabc")},
        {"POST", "/sandboxes/iabc/timeout", "{}", missing("iabc")},
        {"POST", "/sandboxes/iabc/connect", R"({"timeout":60})", missing("iabc")},
        {"POST", "/v2/sandboxes", "{",
         failure_text(400, "validation error: request body has an error: failed to decode request body")},
        {"POST", "/v2/sandboxes", "[]",
         failure_text(400, "validation error: request body has an error: it is not an object")},
        {"POST", "/v2/sandboxes", "{}",
         failure_text(
             400,
             "validation error: request body has an error: doesn't match schema: property \\\"templateID\\\" is "
             "missing")},
        {"POST", "/v2/sandboxes", R"({"templateID":"x"})", failure_text(404, "template 'x' not found")},
        {"POST", "/v2/sandboxes", R"({"templateID":"base","timeout":0})",
         failure_text(400, "Timeout must be greater than 0")},
        {"POST", "/v2/sandboxes", R"({"templateID":"base","timeout":-5})",
         failure_text(400, "Timeout must be greater than 0")},
        {"POST", "/v2/sandboxes", R"({"templateID":"base","timeout":86401})",
         failure_text(400, "Timeout cannot be greater than 24 hours")},
        {"POST", "/v2/sandboxes", R"({"templateID":"base","timeout":99999999999999999999})",
         failure_text(400,
                      "validation error: request body has an error: doesn't match schema: \\\"timeout\\\" must be an "
                      "integer")},
        {"POST", "/v2/sandboxes", R"({"templateID":"base","metadata":{"a":1}})",
         failure_text(400,
                      "validation error: request body has an error: doesn't match schema: \\\"metadata\\\" must be an "
                      "object of strings")},
        {"GET", "/v2/sandboxes?limit=0", "",
         failure_text(400, "validation error: parameter \\\"limit\\\" in query has an error: 1 to 100")},
        {"GET", "/v2/sandboxes?nextToken=x", "", failure_text(400, "Invalid next token")},
    };
    for (const row& entry : rows) {
      const http_response answer = co_await client.api(entry.method, entry.target, entry.body);
      if (entry.target == "/v2/sandboxes/iabc") {
        EXPECT_EQ(answer.status(), 404);
      } else {
        EXPECT_EQ(said(answer), entry.answer) << entry.method << " " << entry.target << " " << entry.body;
      }
    }
    http_response answer =
        co_await client.api("POST", "/v2/sandboxes", R"({"templateID":"base","envVars":{"a=b":"1"}})");
    EXPECT_EQ(answer.status(), 400);
    EXPECT_EQ(gateway.sandboxes(), 0U);
  });
}

TEST(E2bGateway, no_internet_is_promised_only_where_there_is_none) {
  const std::string body = R"({"templateID":"base","allow_internet_access":false})";
  run_with_gateway([&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const http_response answer = co_await client.api("POST", "/v2/sandboxes", body);
    EXPECT_EQ(answer.status(), 501);
  });
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const http_response answer = co_await client.api("POST", "/v2/sandboxes", body);
        EXPECT_EQ(answer.status(), 201);
      },
      e2b_gateway::options().without_internet());
}

TEST(E2bGateway, the_list_has_pages_and_filters) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    std::vector<std::string> ids;
    for (const char* const user : {"a", "b", "a"}) {
      const gateway_sandbox_name box = co_await client.create(R"({"templateID":"base","metadata":{"user":")" +
                                                              std::string(user) + "\",\"k\":\"v\"}}");
      ids.push_back(box.id);
    }
    const auto ids_in = [](const http_response& answer) {
      std::vector<std::string> found;
      const boost::json::value listed = json_of(answer.text());
      for (const boost::json::value& item : listed.as_array()) found.push_back(text_at(item, "sandboxID"));
      return found;
    };
    using list = std::vector<std::string>;
    http_response answer = co_await client.api("GET", "/v2/sandboxes");
    EXPECT_EQ(ids_in(answer), (list{ids[2], ids[1], ids[0]}));
    EXPECT_EQ(answer.field("X-Total-Running"), "3");
    EXPECT_FALSE(answer.field("X-Next-Token"));
    answer = co_await client.api("GET", "/v2/sandboxes?order=asc&limit=2");
    EXPECT_EQ(ids_in(answer), (list{ids[0], ids[1]}));
    const std::string token(answer.field("X-Next-Token").value_or(""));
    answer = co_await client.api("GET", "/v2/sandboxes?order=asc&limit=2&nextToken=" + token);
    EXPECT_EQ(ids_in(answer), (list{ids[2]}));
    EXPECT_FALSE(answer.field("X-Next-Token"));
    answer = co_await client.api("GET", "/v2/sandboxes?metadata=user%3Da%26k%3Dv");
    EXPECT_EQ(ids_in(answer), (list{ids[2], ids[0]}));
    answer = co_await client.api("GET", "/v2/sandboxes?metadata=user%3Dc");
    EXPECT_EQ(said(answer), "200 []");
    answer = co_await client.api("GET", "/v2/sandboxes?state=paused");
    EXPECT_EQ(said(answer), "200 []");
    answer = co_await client.api("GET", "/v2/sandboxes?template=other");
    EXPECT_EQ(said(answer), "200 []");
    answer = co_await client.api("GET", "/sandboxes?metadata=user%3Db");
    EXPECT_EQ(ids_in(answer), (list{ids[1]}));
    answer = co_await client.api("GET", "/sandboxes/" + ids[0] + "/metrics");
    EXPECT_EQ(said(answer), "200 []");
    answer = co_await client.api("GET", "/sandboxes/metrics?sandbox_ids=" + ids[0]);
    EXPECT_EQ(said(answer), "200 {\"sandboxes\":{}}");
    answer = co_await client.api("GET", "/v2/sandboxes/" + ids[0] + "/logs");
    EXPECT_EQ(said(answer), "200 {\"logs\":[],\"logEntries\":[]}");
  });
}

TEST(E2bGateway, a_killed_sandbox_is_gone_with_all_it_had) {
  run_with_gateway([](e2b_gateway::server& gateway, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    gateway_stream stream = co_await client.start(box, "pwd; sleep 1000");
    co_await stream.hear("\n");
    const std::string folder = stream.out.substr(0, stream.out.find('\n'));
    EXPECT_TRUE(std::filesystem::exists(folder));
    http_response answer = co_await client.api("DELETE", "/sandboxes/" + box.id);
    EXPECT_EQ(answer.status(), 204);
    EXPECT_FALSE(std::filesystem::exists(folder)) << "it is closed before that is said";
    EXPECT_EQ(gateway.sandboxes(), 0U);
    bool is_cut = false;
    try {
      co_await stream.finish();
    } catch (const error& failure) {
      is_cut = failure.code() == exec_errc::io_error;
    }
    EXPECT_TRUE(is_cut) << "a stream of a sandbox that dies breaks off";
    answer = co_await client.api("DELETE", "/sandboxes/" + box.id);
    EXPECT_EQ(said(answer), missing(box.id));
    answer = co_await client.get(box, "/health");
    EXPECT_EQ(said(answer), not_found(box.id));
    answer = co_await client.call(box, "process.Process/List", "{}");
    EXPECT_EQ(said(answer), not_found(box.id));
  });
}

TEST(E2bGateway, a_sandbox_ends_when_its_time_is_over) {
  run_with_gateway([](e2b_gateway::server& gateway, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create(R"({"templateID":"base","timeout":1})");
    const gateway_sandbox_name other = co_await client.create(R"({"templateID":"base","timeout":1})");
    gateway_stream stream = co_await client.start(box, "sleep 1000");
    http_response answer = co_await client.api("POST", "/sandboxes/" + other.id + "/timeout", R"({"timeout":600})");
    EXPECT_EQ(answer.status(), 204);
    const std::function<bool()> ends = [&] { return gateway.sandboxes() == 1; };
    const bool ended = co_await comes_about(ends);
    EXPECT_TRUE(ended);
    answer = co_await client.get(box, "/health");
    EXPECT_EQ(said(answer), not_found(box.id));
    answer = co_await client.get(other, "/health");
    EXPECT_EQ(answer.status(), 204);
    EXPECT_EQ(answer.field("Content-Type"), "");
    // `timeout` may shorten the lifetime, even to nothing. `connect` and `refreshes` can only extend it.
    answer = co_await client.api("POST", "/sandboxes/" + other.id + "/connect", R"({"timeout":1})");
    EXPECT_EQ(answer.status(), 200);
    answer = co_await client.api("POST", "/sandboxes/" + other.id + "/refreshes", R"({"duration":1})");
    EXPECT_EQ(answer.status(), 204);
    answer = co_await client.api("POST", "/v2/sandboxes/" + other.id + "/connect", "{}");
    EXPECT_EQ(text_at(json_of(answer.text()), "envdAccessToken"), other.token);
    answer = co_await client.api("POST", "/sandboxes/" + other.id + "/resume", "{}");
    EXPECT_EQ(said(answer), failure_text(409, "Sandbox " + other.id + " is already running"));
    answer = co_await client.api("POST", "/sandboxes/" + other.id + "/timeout", R"({"timeout":0})");
    EXPECT_EQ(answer.status(), 204);
    const std::function<bool()> none = [&] { return gateway.sandboxes() == 0; };
    const bool gone = co_await comes_about(none);
    EXPECT_TRUE(gone);
  });
}

TEST(E2bGateway, there_are_no_more_sandboxes_than_allowed) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        co_await client.create();
        http_response answer = co_await client.api("POST", "/v2/sandboxes", R"({"templateID":"base"})");
        EXPECT_EQ(answer.status(), 429);
        EXPECT_NE(answer.text().find("maximum number of concurrent E2B sandboxes (2)"), std::string::npos);
        EXPECT_FALSE(answer.field("Retry-After"));
        answer = co_await client.api("DELETE", "/sandboxes/" + box.id);
        EXPECT_EQ(answer.status(), 204);
        co_await client.create();
      },
      e2b_gateway::options().sandboxes(2));
}

/// A provider whose `open` fails. Clients must not receive the reason.
class broken_provider {
 public:
  awaitable<local_environment> open() const {
    throw error(exec_errc::provider_failed, "the daemon at /secret/socket is not there");
    co_return local_environment(nullptr);
  }
};

const std::string not_opened =
    "The sandbox could not be opened: the backend of this gateway failed; the reason is in the messages of the "
    "gateway, "
    "for its operator";

TEST(E2bGateway, a_provider_that_fails_is_an_answer_that_tells_no_secret_and_a_message_for_the_operator) {
  std::string told;
  http_server_settings settings = e2b_gateway::options().server();
  settings.on_error([&told](const http_request_head& head, std::exception_ptr failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const error& reason) {
      told += head.method + " " + reason.what() + "\n";
    }
  });
  run_with_gateway(
      [](e2b_gateway::server& gateway, gateway_client& client) -> awaitable<void> {
        for (int i = 0; i < 3; ++i) {
          const http_response answer = co_await client.api("POST", "/v2/sandboxes", R"({"templateID":"base"})");
          EXPECT_EQ(said(answer), failure_text(500, not_opened));
        }
        EXPECT_EQ(gateway.sandboxes(), 0U);
      },
      e2b_gateway::options().sandboxes(1).server(settings), any_provider(broken_provider()));
  const std::string line = "POST the daemon at /secret/socket is not there\n";
  EXPECT_EQ(told, line + line + line);
}

TEST(E2bGateway, a_web_page_of_an_added_origin_may_ask_first_and_read_the_replies) {
  const std::string page = "http://localhost:5173";
  http_server_settings settings = e2b_gateway::options().server();
  settings.origin(page);
  run_with_gateway(
      [&page](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        // A browser's question has neither the key nor the fields that name the sandbox.
        for (const char* const host : {"localhost", "49983-SANDBOX.localhost"}) {
          http_request asks("OPTIONS", "/process.Process/Start");
          std::string name(host);
          if (const auto at = name.find("SANDBOX"); at != std::string::npos) name.replace(at, 7, box.id);
          asks.field("Host", name).field("Origin", page).field("Access-Control-Request-Method", "POST");
          asks.field("Access-Control-Request-Headers", "connect-protocol-version,x-access-token");
          const http_response allowed = co_await client.http.request(std::move(asks));
          EXPECT_EQ(allowed.status(), 204) << host;
          EXPECT_EQ(allowed.field("Access-Control-Allow-Origin"), page) << host;
          EXPECT_EQ(allowed.field("Access-Control-Allow-Methods"), "POST") << host;
          EXPECT_EQ(allowed.field("Access-Control-Allow-Headers"), "connect-protocol-version,x-access-token") << host;
        }
        http_request list = gateway_client::to_sandbox("POST", "/process.Process/List", box);
        list.field("Origin", page).content("application/json", "{}");
        const http_response processes = co_await client.http.request(std::move(list));
        EXPECT_EQ(said(processes), "200 {}");
        EXPECT_EQ(processes.field("Access-Control-Allow-Origin"), page);
        const gateway_client::fields from_page{{"Origin", page}};
        const gateway_stream stream =
            co_await client.stream(box, "process.Process/Start", R"({"process":{"cmd":"/bin/true"}})", from_page);
        EXPECT_EQ(stream.head().fields.find("Access-Control-Allow-Origin"), page);
        // A refusal can be read too.
        http_request wrong("GET", "/sandboxes");
        wrong.field("Origin", page);
        const http_response refused = co_await client.http.request(std::move(wrong));
        EXPECT_EQ(refused.status(), 401);
        EXPECT_EQ(refused.field("Access-Control-Allow-Origin"), page);
        // Controls: the servers of the guest answer themselves, another page may not send, and a request without an
        // origin gets no such fields.
        const std::vector<std::tuple<std::string, std::string, int>> others{
            {"8080-" + box.id + ".localhost", page, 501}, {"localhost", "http://localhost.evil.test:5173", 403}};
        for (const auto& [host, origin, status] : others) {
          http_request asks("OPTIONS", "/");
          asks.field("Host", host).field("Origin", origin).field("Access-Control-Request-Method", "POST");
          const http_response answer = co_await client.http.request(std::move(asks));
          EXPECT_EQ(answer.status(), status) << host;
          EXPECT_FALSE(answer.field("Access-Control-Allow-Origin").has_value()) << host;
        }
        const http_response own = co_await client.api("GET", "/sandboxes");
        EXPECT_EQ(own.status(), 200);
        EXPECT_FALSE(own.field("Access-Control-Allow-Origin").has_value());
      },
      e2b_gateway::options().server(settings));
}

TEST(E2bGateway, takes_its_sandboxes_from_a_pool_that_outlives_it) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(pool(local_provider(), 2), [](auto& pool) -> awaitable<void> {
      const gateway_work body = [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        for (int i = 0; i < 3; ++i) {
          const gateway_sandbox_name box = co_await client.create();
          const gateway_stream stream = co_await client.run(box, "ls -A; echo used > used; echo fine");
          EXPECT_EQ(stream.out, "fine\n");
        }
      };
      co_await cofferdam_test::with_gateway(e2b_gateway::options(), body, any_provider(pool.provider()));
      EXPECT_EQ(pool.counts().handed_out(), 3U);
    });
  });
}

TEST(E2bGateway, a_pool_that_cannot_open_is_an_answer_within_seconds) {
  cofferdam_test::run([]() -> awaitable<void> {
    auto recipe = pool(broken_provider(), 2).without_waiting();
    co_await with(std::move(recipe), [](auto& pool) -> awaitable<void> {
      const gateway_work body = [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        for (int i = 0; i < 3; ++i) {
          const auto begin = std::chrono::steady_clock::now();
          const http_response answer = co_await client.api("POST", "/v2/sandboxes", R"({"templateID":"base"})");
          EXPECT_EQ(said(answer), failure_text(500, not_opened));
          EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
        }
      };
      co_await cofferdam_test::with_gateway(e2b_gateway::options(), body, any_provider(pool.provider()));
    });
  });
}

TEST(E2bGateway, listening_beyond_this_machine_needs_a_key) {
  cofferdam_test::run([]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    e2b_gateway::server open(executor, local_provider());
    const std::string sentence =
        cofferdam_test::sentence_of([&] { static_cast<void>(open.serve(tcp_listener(executor, "0.0.0.0", 0))); });
    EXPECT_NE(sentence.find("there is no API key"), std::string::npos) << sentence;
  });
}

TEST(E2bGateway, options_that_cannot_be_are_refused) {
  using cofferdam_test::code_of;
  EXPECT_EQ(e2b_gateway::options().api_key("a").api_key("b").api_key("a").api_keys(),
            (std::vector<std::string>{"a", "b"}))
      << "a key that is given twice would halve the share of each key";
  EXPECT_EQ(code_of([] { e2b_gateway::options().api_key(""); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { e2b_gateway::options().api_key("a b"); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { e2b_gateway::options().domain("a:1"); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { e2b_gateway::options().domain(".a"); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { e2b_gateway::options().home("user"); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { e2b_gateway::options().home("/a/../b"); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { e2b_gateway::options().sandboxes(0); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { e2b_gateway::options().max_lifetime(0s); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { e2b_gateway::options().watch_interval(1ms); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { e2b_gateway::options().port(49983, nullptr); }), exec_errc::invalid_argument);
}

TEST(E2bGateway, paths_that_commands_of_a_local_workspace_print_are_understood) {
  cofferdam_test::run([]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    // Uses the provider itself, without type erasure and without a layer, because these hide the path of the workspace.
    e2b_gateway::server gateway(executor, local().without_warning());
    listener where = tcp_listener(executor, "127.0.0.1", 0);
    gateway_client client(executor, where.port());
    bool ended = false;
    const auto done = [&](std::exception_ptr) { ended = true; };
    cofferdam_test::spawn(executor, gateway.serve(std::move(where)), done);
    const gateway_sandbox_name box = co_await client.create();
    const gateway_stream stream = co_await client.run(box, "pwd; echo here > file");
    const std::string folder = stream.out.substr(0, stream.out.find('\n'));
    http_response answer = co_await client.get(box, "/files?path=" + folder + "/file");
    EXPECT_EQ(said(answer), "200 here\n");
    answer = co_await client.get(box, "/files?path=" + folder + "/../x");
    EXPECT_EQ(answer.status(), 403);
    co_await client.http.close();
    co_await gateway.stop();
    const std::function<bool()> over = [&] { return ended; };
    const bool is_over = co_await comes_about(over);
    EXPECT_TRUE(is_over);
  });
}

// ---- pausing ----

/// A local environment that pretends to support pausing. Records the calls of `pause`, `resume` and `close`.
class pausing_environment {
 public:
  pausing_environment(local_environment inside, std::shared_ptr<std::string> calls)
      : inside_(std::move(inside)), said_(std::move(calls)) {}
  awaitable<command_result> run_command(command c) { return inside_.run_command(std::move(c)); }
  awaitable<process> start(command c) { return inside_.start(std::move(c)); }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    return inside_.read_file(std::move(path), max_bytes);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return inside_.write_file(std::move(path), content);
  }
  awaitable<void> pause() {
    *said_ += "pause ";
    co_return;
  }
  awaitable<void> resume() {
    *said_ += "resume ";
    co_return;
  }
  awaitable<std::string> snapshot() { co_return ""; }
  awaitable<void> close() {
    *said_ += "close ";
    return inside_.close();
  }

 private:
  local_environment inside_;
  std::shared_ptr<std::string> said_;
};
class pausing_provider {
 public:
  explicit pausing_provider(std::shared_ptr<std::string> calls) : said_(std::move(calls)) {}
  awaitable<pausing_environment> open() const { return open_with(said_); }

 private:
  static awaitable<pausing_environment> open_with(std::shared_ptr<std::string> calls) {
    local_environment inside = co_await local().without_warning().open();
    co_return pausing_environment(std::move(inside), std::move(calls));
  }
  std::shared_ptr<std::string> said_;
};
static_assert(suspendable_environment<pausing_environment> && code_exec_provider<pausing_provider>);

TEST(E2bGateway, what_can_stand_still_is_paused_and_resumed) {
  const auto heard = std::make_shared<std::string>();
  cofferdam_test::run([&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    // Uses the provider itself, because type erasure by any_provider hides that it supports pausing.
    e2b_gateway::server gateway(executor, pausing_provider(heard));
    listener where = tcp_listener(executor, "127.0.0.1", 0);
    gateway_client client(executor, where.port());
    bool ended = false;
    const auto done = [&](std::exception_ptr) { ended = true; };
    cofferdam_test::spawn(executor, gateway.serve(std::move(where)), done);
    const gateway_sandbox_name box = co_await client.create(R"({"templateID":"base","timeout":1,"autoPause":true})");
    http_response answer = co_await client.api("POST", "/sandboxes/" + box.id + "/timeout", R"({"timeout":600})");
    answer = co_await client.api("POST", "/sandboxes/" + box.id + "/pause", "{}");
    EXPECT_EQ(answer.status(), 204) << answer.text();
    answer = co_await client.api("POST", "/sandboxes/" + box.id + "/pause", "{}");
    EXPECT_EQ(said(answer), failure_text(409, "Error pausing sandbox - sandbox '" + box.id + "' is already paused"));
    answer = co_await client.get(box, "/health");
    EXPECT_EQ(said(answer), not_found(box.id)) << "a paused one is not reached";
    answer = co_await client.api("GET", "/sandboxes/" + box.id);
    EXPECT_EQ(text_at(json_of(answer.text()), "state"), "paused");
    answer = co_await client.api("POST", "/sandboxes/" + box.id + "/timeout", R"({"timeout":600})");
    EXPECT_EQ(answer.status(), 409);
    answer = co_await client.api("POST", "/v2/sandboxes/" + box.id + "/connect", R"({"timeout":1})");
    EXPECT_EQ(answer.status(), 201);
    // The resumed sandbox has a lifetime of one second. After that it is paused again, not killed.
    const std::function<bool()> paused = [&] { return *heard == "pause resume pause "; };
    const bool again = co_await comes_about(paused);
    EXPECT_TRUE(again) << *heard;
    EXPECT_EQ(gateway.sandboxes(), 1U);
    co_await client.http.close();
    co_await gateway.stop();
    const std::function<bool()> over = [&] { return ended; };
    const bool is_over = co_await comes_about(over);
    EXPECT_TRUE(is_over);
    EXPECT_EQ(*heard, "pause resume pause close ");
  });
}

// ---- the end of serving ----

TEST(E2bGateway, the_end_of_serving_closes_every_sandbox) {
  std::string folder;
  run_with_gateway([&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    const gateway_stream stream = co_await client.run(box, "pwd; sleep 1000 >/dev/null 2>&1 &");
    folder = stream.out.substr(0, stream.out.find('\n'));
    EXPECT_TRUE(std::filesystem::exists(folder));
  });
  EXPECT_FALSE(folder.empty());
  EXPECT_FALSE(std::filesystem::exists(folder));
}

/// Runs a gateway on a free port, which it stores in `port`. The tests below cancel or destroy `a_life` at each step.
awaitable<void> a_life(std::shared_ptr<std::uint16_t> port) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  e2b_gateway::server gateway(executor, local_provider());
  listener where = tcp_listener(executor, "127.0.0.1", 0);
  *port = where.port();
  co_await gateway.serve(std::move(where));
}
awaitable<void> a_visit(std::shared_ptr<std::uint16_t> port) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  gateway_client client(executor, *port);
  const gateway_sandbox_name box = co_await client.create();
  gateway_stream stream = co_await client.start(box, "cat", R"(,"stdin":true)");
  co_await client.put(box, "/files?path=a.txt", "content");
  gateway_stream watch = co_await client.stream(box, "filesystem.Filesystem/WatchDir", R"({"path":"."})");
  const std::optional<std::string> begun = co_await watch.next();
  co_await client.call(box, "process.Process/SendInput",
                       R"({"process":{"pid":)" + std::to_string(stream.pid) + R"(},"input":{"stdin":"aGkK"}})");
  co_await stream.hear("hi");
  co_await client.api("DELETE", "/sandboxes/" + box.id);
}

TEST(E2bGateway, is_destroyed_at_any_step_without_harm) {
  bool is_over = false;
  for (std::size_t handlers = 1; !is_over && handlers < 4000; handlers += 1 + handlers / 5) {
    const cofferdam_test::watchdog guard(60s);
    const auto port = std::make_shared<std::uint16_t>(0);
    asio::io_context context(1);
    const auto ignored = [](std::exception_ptr) {};
    const auto ended = [&](std::exception_ptr) { is_over = true; };
    cofferdam_test::spawn(context, a_life(port), ignored);
    while (*port == 0) context.run_one();
    cofferdam_test::spawn(context, a_visit(port), ended);
    for (std::size_t i = 0; i < handlers && !is_over; ++i) context.run_one();
  }
  EXPECT_TRUE(is_over);
}

TEST(E2bGateway, is_cancelled_at_any_step_and_leaves_nothing) {
  bool is_over = false;
  for (std::size_t handlers = 1; !is_over && handlers < 4000; handlers += 1 + handlers / 5) {
    const cofferdam_test::watchdog guard(60s);
    const auto port = std::make_shared<std::uint16_t>(0);
    asio::io_context context(1);
    asio::cancellation_signal cancel;
    std::exception_ptr failure;
    bool has_ended = false;
    const auto served = [&](std::exception_ptr why) {
      failure = std::move(why);
      has_ended = true;
    };
    const auto ended = [&](std::exception_ptr) { is_over = true; };
    cofferdam_test::spawn(context, a_life(port), served, cancel.slot());
    while (*port == 0) context.run_one();
    cofferdam_test::spawn(context, a_visit(port), ended);
    for (std::size_t i = 0; i < handlers && !is_over; ++i) context.run_one();
    const bool was_over = is_over;
    cancel.emit(asio::cancellation_type::terminal);
    while (!has_ended) context.run_one();
    is_over = was_over;
    ASSERT_TRUE(failure);
    EXPECT_EQ(cofferdam_test::code_of([&] { std::rethrow_exception(failure); }), exec_errc::cancelled);
    context.run();  // the client coroutine ends too: it receives no reply
    is_over = was_over;
  }
  EXPECT_TRUE(is_over);
}

}  // namespace
