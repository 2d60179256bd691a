// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Answers every call of the E2B backend with every documented status and error code of the service, of its proxy and of
// the daemon in the sandbox. Each call must end with the documented error, and no sandbox may be deleted or left. The
// rest of the service is go_daemon.

#include <cofferdam/backends/e2b.hpp>

#include "backends/e2b/go_daemon.hpp"
#include "support/go_program.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <asio/connect.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace statuses_tests {

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using e2b::command_transport;
using go_daemon_tests::failure_of;
using go_daemon_tests::go_daemon;
using go_daemon_tests::provider_at;

/// The answer to all requests of one kind, in place of the usual one.
class answer {
 public:
  std::string name;
  int status = 0;
  std::string body;
  std::string field;
  std::string value;
};

/// The counts of the daemon since the last call of `set_fault`.
class counts {
 public:
  std::int64_t answered = 0;
  std::int64_t sandboxes = 0;
};

/// Replaces the answer to a kind of requests.
/// \param call   the method and the path, in which ID stands for the id of a sandbox; empty for no fault.
/// \param times  the number of requests that get the answer.
counts set_fault(const go_daemon& daemon, const std::string& call = "", const answer& what = answer(),
                 int times = 1000) {
  boost::json::object fields;
  if (!what.field.empty()) fields[what.field] = what.value;
  boost::json::object wish;
  wish["call"] = call;
  wish["status"] = what.status;
  wish["fields"] = fields;
  wish["body"] = what.body;
  wish["times"] = call.empty() ? 0 : times;
  const std::string body = boost::json::serialize(wish);
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  socket.connect(asio::ip::tcp::endpoint(asio::ip::make_address("127.0.0.1"), daemon.port()));
  const std::string request =
      "POST /fault HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\n\r\n" + body;
  asio::write(socket, asio::buffer(request));
  std::string text;
  std::error_code ended;
  asio::read(socket, asio::dynamic_buffer(text), ended);
  const boost::json::object seen = boost::json::parse(text.substr(text.find("\r\n\r\n") + 4)).as_object();
  return {seen.at("answered").to_number<std::int64_t>(), seen.at("sandboxes").to_number<std::int64_t>()};
}

std::string api_body(int status, const std::string& message) {
  return "{\"code\":" + std::to_string(status) + ",\"message\":\"" + message + "\"}";
}

/// The answers of the API that creates and ends sandboxes.
/// \par Source  E2B's API, openapi.yml, and its servers.
std::vector<answer> answers_of_the_api() {
  return {{"bad_request", 400, api_body(400, "timeout is not valid"), "", ""},
          {"no_key", 401, api_body(401, "Invalid API key"), "", ""},
          {"forbidden", 403, api_body(403, "your plan does not include this"), "", ""},
          {"missing", 404, api_body(404, "Sandbox \\\"iabc\\\" doesn't exist or you don't have access to it"), "", ""},
          {"no_route", 404, api_body(404, "validation error: no matching operation was found"), "", ""},
          {"no_method", 405, api_body(405, "validation error: method not allowed"), "", ""},
          {"conflict", 409, api_body(409, "the sandbox is transitioning to another state"), "", ""},
          {"gone", 410, api_body(410, "this call was removed"), "", ""},
          {"too_large", 413, api_body(413, "request body too large"), "", ""},
          {"too_many", 429, api_body(429, "Rate limit exceeded"), "", ""},
          {"full", 429, api_body(429, "you have reached the maximum number of concurrent E2B sandboxes (20)"), "", ""},
          {"no_retry", 429, api_body(429, "Rate limit exceeded"), "Should-Retry", "false"},
          {"internal", 500, api_body(500, "internal error"), "", ""},
          {"not_implemented", 501, api_body(501, "not implemented"), "", ""},
          {"page", 502, "<html><body>502 Bad Gateway</body></html>", "Content-Type", "text/html"},
          {"no_room", 503, R"({"code":503,"message":"no room","error_code":"sandbox_capacity_unavailable"})", "", ""},
          {"no_node", 503, R"({"code":503,"message":"no node","error_code":"sandbox_no_compatible_node"})", "", ""},
          {"too_slow", 504, R"({"code":504,"message":"too slow","error_code":"sandbox_placement_timeout"})", "", ""},
          {"no_disk", 507, api_body(507, "no space left"), "", ""},
          {"elsewhere", 302, "", "Location", "https://example.com/"},
          {"no_json", 200, "hello", "Content-Type", "text/plain"},
          {"empty", 200, "", "", ""}};
}

/// The answers of the daemon in a sandbox, and of the proxy before it.
/// \par Source  Connect protocol, "Error Codes"; E2B's daemon and proxy.
std::vector<answer> answers_of_the_daemon() {
  std::vector<answer> all{
      {"no_token", 401, api_body(401, "unauthorized access, please provide a valid access token"), "", ""},
      {"proxy_missing", 502, R"({"sandboxId":"iabc","message":"The sandbox was not found","code":502})", "", ""},
      {"proxy_closed", 502,
       R"({"sandboxId":"iabc","message":"The sandbox is running but port is not open","port":49983})", "", ""},
      {"proxy_page", 502, "<html><body>502 Bad Gateway</body></html>", "Content-Type", "text/html"},
      {"proxy_moves", 409, api_body(409, "sandbox is transitioning"), "", ""},
      {"proxy_busy", 429, api_body(429, "too many connections"), "", ""},
      {"proxy_503", 503, "no server is available", "Content-Type", "text/plain"},
      {"proxy_504", 504, "the upstream did not answer", "Content-Type", "text/plain"},
      {"no_page", 404, "404 page not found", "Content-Type", "text/plain"},
      {"no_method", 405, "", "Allow", "POST"},
      {"no_type", 415, "", "Accept-Post", "application/json"},
      {"no_disk", 507, api_body(507, "no space left on device"), "", ""}};
  const std::vector<std::pair<std::string, int>> codes{{"canceled", 499},          {"unknown", 500},
                                                       {"invalid_argument", 400},  {"deadline_exceeded", 504},
                                                       {"not_found", 404},         {"already_exists", 409},
                                                       {"permission_denied", 403}, {"resource_exhausted", 429},
                                                       {"aborted", 409},           {"failed_precondition", 400},
                                                       {"out_of_range", 400},      {"unimplemented", 501},
                                                       {"internal", 500},          {"unavailable", 503},
                                                       {"data_loss", 500},         {"unauthenticated", 401}};
  for (const auto& [code, status] : codes)
    all.push_back({code, status, "{\"code\":\"" + code + "\",\"message\":\"no\"}", "Content-Type", "application/json"});
  return all;
}

/// A call of the backend, and the request of it that gets another answer.
class call {
 public:
  std::string name;
  std::string request;
  std::function<awaitable<void>(e2b::environment&)> makes;
};

std::string shown(const std::optional<error>& failure) {
  if (!failure) return "no error";
  return failure->code().message() + ": " + failure->what();
}

/// Returns true if the answer means that the service does not know this form of the call.
bool is_no_route(const answer& given) {
  return given.name == "no_route" || given.name == "no_method" || given.name == "gone";
}

/// Returns the error that the API's answer stands for; no value if the call succeeds.
std::optional<exec_errc> error_for(const answer& given, const std::string& name) {
  if (given.name == "empty" || given.name == "no_json") {
    // Only the calls that need the content fail.
    const bool needs_content = name != "set_lifetime" && name != "pause" && name != "update_network";
    return needs_content ? std::optional(exec_errc::provider_failed) : std::nullopt;
  }
  switch (given.status) {
    case 400: return exec_errc::invalid_argument;
    case 401:
    case 403: return exec_errc::permission_denied;
    case 404: return exec_errc::not_found;
    case 405:
    case 410:
    case 501: return exec_errc::unsupported;
    case 507: return exec_errc::io_error;
    default: return exec_errc::provider_failed;
  }
}

/// Returns the error that the daemon's answer to a call stands for; no value if the call succeeds.
/// \param is_file  true for the calls that read and write a whole file, whose answers are not those of Connect.
std::optional<exec_errc> error_of_the_daemon(const answer& given, const std::string& name, bool is_file) {
  const auto is = [&given](std::vector<std::string> names) {
    return std::find(names.begin(), names.end(), given.name) != names.end();
  };
  if (is({"no_token", "permission_denied", "unauthenticated"})) return exec_errc::permission_denied;
  if (is({"proxy_missing", "proxy_closed", "proxy_page", "proxy_moves", "proxy_busy", "proxy_503", "unavailable",
          "resource_exhausted"}))
    return exec_errc::unavailable;
  if (is({"invalid_argument", "out_of_range"})) return exec_errc::invalid_argument;
  if (is({"not_found", "no_page"})) return name == "end_process" ? std::nullopt : std::optional(exec_errc::not_found);
  if (is({"unimplemented"})) return exec_errc::unsupported;
  if (is_file) {
    if (is({"failed_precondition"})) return exec_errc::invalid_argument;
    if (is({"no_method"})) return exec_errc::unsupported;
    if (is({"proxy_504", "deadline_exceeded", "already_exists", "aborted"})) return exec_errc::unavailable;
  }
  if (is({"already_exists"})) return exec_errc::already_exists;
  return exec_errc::io_error;
}

TEST(E2bStatuses, each_answer_of_the_api_to_each_call_is_the_documented_error_and_costs_no_sandbox) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that every status of E2B's API is handled");
  const go_daemon daemon;
  const std::vector<call> calls{
      {"set_lifetime", "POST /sandboxes/ID/timeout", [](e2b::environment& env) { return env.set_lifetime(100s); }},
      {"pause", "POST /sandboxes/ID/pause", [](e2b::environment& env) { return env.pause(); }},
      {"resume", "POST /sandboxes/ID/connect", [](e2b::environment& env) { return env.resume(); }},
      {"snapshot", "POST /sandboxes/ID/snapshots",
       [](e2b::environment& env) -> awaitable<void> { co_await env.snapshot(); }},
      {"fork", "POST /sandboxes/ID/fork", [](e2b::environment& env) -> awaitable<void> { co_await env.fork(); }},
      {"update_network", "PUT /sandboxes/ID/network",
       [](e2b::environment& env) { return env.update_network(e2b::network_rules()); }},
      {"metrics", "GET /sandboxes/ID/metrics",
       [](e2b::environment& env) -> awaitable<void> { co_await env.metrics(); }},
      {"logs", "GET /v2/sandboxes/ID/logs", [](e2b::environment& env) -> awaitable<void> { co_await env.logs(); }}};
  cofferdam_test::run([&]() -> awaitable<void> {
    const e2b::provider provider = provider_at(daemon.url(), command_transport::daemon).first_pause(1ms);
    e2b::environment env = co_await provider.open();
    for (const call& each : calls) {
      for (const answer& given : answers_of_the_api()) {
        SCOPED_TRACE(each.name + " answered by " + given.name);
        set_fault(daemon, each.request, given);
        const error failure = co_await failure_of([&] { return each.makes(env); });
        // A service that does not know the first form of the call gets the second one.
        const bool has_other_form = each.name == "resume" && is_no_route(given);
        const std::optional<exec_errc> wanted = has_other_form ? std::nullopt : error_for(given, each.name);
        const bool has_failed = failure.code() != exec_errc::io_error || failure.cause();
        EXPECT_EQ(has_failed, wanted.has_value()) << failure.what();
        if (wanted) {
          EXPECT_EQ(failure.code(), *wanted) << failure.what();
        }
        const counts seen = set_fault(daemon);
        EXPECT_GE(seen.answered, 1);
        EXPECT_LE(seen.answered, 8);
        EXPECT_EQ(seen.sandboxes, 1);
        if (each.name == "pause" && !wanted) co_await env.resume();
      }
      command_result after = co_await env.run_command(shell("echo here"));
      EXPECT_EQ(after.out_text(), "here\n") << each.name << ": " << after.summary();
    }
    co_await env.close();
  });
  EXPECT_EQ(set_fault(daemon).sandboxes, 0);
}

// Feature: A11
TEST(E2bStatuses, a_creation_that_fails_leaves_no_sandbox) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that failed creations leave no sandbox at E2B");
  const go_daemon daemon;
  cofferdam_test::run([&]() -> awaitable<void> {
    const e2b::provider provider = provider_at(daemon.url(), command_transport::automatic).first_pause(1ms);
    for (const answer& given : answers_of_the_api()) {
      SCOPED_TRACE(given.name);
      set_fault(daemon, "POST /sandboxes", given);
      std::optional<error> failure;
      try {
        e2b::environment env = co_await provider.open();
        co_await env.close();
      } catch (const error& reason) {
        failure = reason;
      }
      EXPECT_EQ(failure.has_value(), !is_no_route(given)) << shown(failure);
      if (failure) {
        EXPECT_EQ(failure->code(), error_for(given, "create")) << shown(failure);
      }
      EXPECT_EQ(set_fault(daemon).sandboxes, 0);
    }
    // The sandbox exists, but cannot be prepared.
    for (const answer& given : answers_of_the_daemon()) {
      SCOPED_TRACE(given.name);
      set_fault(daemon, "POST /process.Process/Start", given);
      const error failure = co_await failure_of([&]() -> awaitable<void> {
        e2b::environment env = co_await provider.open();
        co_await env.close();
      });
      EXPECT_NE(failure.what(), std::string("nothing was thrown"));
      EXPECT_EQ(set_fault(daemon).sandboxes, 0) << failure.what();
    }
  });
}

TEST(E2bStatuses, a_sandbox_that_cannot_be_ended_is_reported) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that sandboxes of E2B that are left are reported");
  const go_daemon daemon;
  cofferdam_test::run([&]() -> awaitable<void> {
    const e2b::provider provider = provider_at(daemon.url(), command_transport::daemon).first_pause(1ms);
    for (const answer& given : answers_of_the_api()) {
      if (given.status == 200) continue;
      SCOPED_TRACE(given.name);
      e2b::environment env = co_await provider.open();
      set_fault(daemon, "DELETE /sandboxes/ID", given);
      const error failure = co_await failure_of([&] { return env.close(); });
      const bool is_gone = given.status == 404;
      EXPECT_EQ(failure.code(), is_gone ? exec_errc::io_error : exec_errc::provider_lost) << failure.what();
      if (!is_gone) {
        EXPECT_NE(std::string(failure.what()).find("ends by itself when its lifetime expires"), std::string::npos);
      }
      set_fault(daemon);
    }
  });
}

TEST(E2bStatuses, each_answer_of_the_daemon_is_a_typed_error_and_the_sandbox_can_be_used_afterwards) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that every status of E2B's daemon is handled");
  const go_daemon daemon;
  const std::string large(std::size_t{1} << 20, 'x');
  const auto commands = [](e2b::environment& env) -> awaitable<void> {
    const command_result result = co_await env.run_command(shell("echo out"));
    if (!result.ok()) throw error(exec_errc::provider_lost, "a result: " + result.summary());
  };
  const std::vector<call> calls{
      {"command", "POST /process.Process/SendInput", commands},
      {"command", "POST /process.Process/Start", commands},
      {"read", "GET /files",
       [](e2b::environment& env) -> awaitable<void> { co_await env.read_file("large", 1 << 21); }},
      {"write", "POST /files",
       [&large](e2b::environment& env) -> awaitable<void> { co_await env.write_file("new", as_bytes(large)); }},
      {"list", "POST /process.Process/List",
       [](e2b::environment& env) -> awaitable<void> { co_await env.processes(); }},
      {"end_process", "POST /process.Process/SendSignal",
       [](e2b::environment& env) -> awaitable<void> { co_await env.end_process(1); }},
      {"end_input", "POST /process.Process/CloseStdin", [](e2b::environment& env) { return env.end_input(1); }},
      {"follow", "POST /process.Process/Connect",
       [](e2b::environment& env) -> awaitable<void> {
         e2b::process_follower follower = co_await env.follow(1);
         co_await follower.next();
       }},
      {"watch", "POST /filesystem.Filesystem/WatchDir",
       [](e2b::environment& env) -> awaitable<void> { co_await env.watch("."); }}};
  for (const command_transport how : {command_transport::warden, command_transport::daemon}) {
    cofferdam_test::run([&]() -> awaitable<void> {
      const e2b::provider provider = provider_at(daemon.url(), how).first_pause(1ms).request_timeout(5s);
      e2b::environment env = co_await provider.open();
      co_await env.write_file("large", as_bytes(large));
      for (const call& each : calls) {
        const bool by_warden = how == command_transport::warden;
        // The warden needs no further process, and the daemon's way sends no input.
        if (each.name == "command" && by_warden == each.request.ends_with("Start")) continue;
        for (const answer& given : answers_of_the_daemon()) {
          SCOPED_TRACE((by_warden ? "warden: " : "daemon: ") + each.name + " answered by " + given.name);
          set_fault(daemon, each.request, given);
          const error failure = co_await failure_of([&] { return each.makes(env); });
          const counts seen = set_fault(daemon);
          EXPECT_GE(seen.answered, 1);
          EXPECT_LE(seen.answered, 30);
          EXPECT_EQ(seen.sandboxes, 1);
          // A command whose connection breaks is lost. The next one gets another warden.
          const bool is_lost = each.name == "command" && by_warden;
          const std::optional<exec_errc> wanted =
              is_lost ? exec_errc::provider_lost
                      : error_of_the_daemon(given, each.name, each.request.ends_with("/files"));
          EXPECT_EQ(failure.code(), wanted.value_or(exec_errc::io_error)) << failure.what();
          EXPECT_EQ(std::string(failure.what()) == "nothing was thrown", !wanted.has_value()) << failure.what();
          command_result after = co_await env.run_command(shell("echo here"));
          EXPECT_EQ(after.out_text(), "here\n") << after.summary();
        }
      }
      co_await env.close();
    });
    EXPECT_EQ(set_fault(daemon).sandboxes, 0);
  }
}

}  // namespace

}  // namespace statuses_tests
