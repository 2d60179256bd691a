// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/tracked_script.hpp>
#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/connect_envelope.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/net/http_server_settings.hpp>

#include "net/http_server_support.hpp"
#include "support/run.hpp"

#include <asio/steady_timer.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam_test {

/// A request that the service received.
class seen_request {
 public:
  std::string method;
  std::string path;  ///< path with its query
  cofferdam::http_fields fields;
  std::string body;
};

/// An E2B service for tests: it supports E2B's protocol, and its responses can be replaced by a test.
class scripted_service {
 public:
  using action = std::function<cofferdam::awaitable<void>(cofferdam::http_call&, const boost::json::object&)>;

  /// Replaces the usual response, by `METHOD /path`. Each request consumes the first action of its list.
  std::map<std::string, std::vector<action>> instead;
  /// Responds to a command of the test, but not to the scripts that the library runs in the sandbox. If it is empty,
  /// each command prints "out" and "err", and exits with status 3.
  action command;
  /// The received requests, in the order of their arrival.
  std::vector<seen_request> seen;
  /// The signals that scripts of the library were to send, for example `15 s`.
  std::vector<std::string> signals;
  std::string envd_version = "0.6.13";
  std::string token = "token-0123456789";
  bool sandbox_lives = true;
  site server;

  std::size_t count(std::string_view method, std::string_view path) const {
    std::size_t found = 0;
    for (const seen_request& received : seen)
      if (received.method == method && received.path == path) ++found;
    return found;
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(server.port); }

  cofferdam::e2b::provider provider() const {
    using namespace std::chrono_literals;
    return cofferdam::e2b::from_template("base")
        .variables_from(cofferdam::e2b::surroundings())
        .api_key("e2b_canary0123456789")
        .api_url(url())
        .sandbox_url(url())
        .by(cofferdam::e2b::command_transport::daemon)
        .first_pause(5ms);
  }

  /// Runs `body()` while the service listens.
  void run(std::function<cofferdam::awaitable<void>()> body) {
    const site::handler each = [this](cofferdam::http_call& call) { return serve(call); };
    const std::function<cofferdam::awaitable<void>(cofferdam::detail::http_server&)> inner =
        [body](cofferdam::detail::http_server&) { return body(); };
    cofferdam_test::run(
        server.open(each, cofferdam::http_server_settings().stop_timeout(std::chrono::milliseconds(100)), inner));
  }

  static cofferdam::awaitable<void> json(cofferdam::http_call& call, int status, std::string text) {
    co_await call.reply(cofferdam::http_reply(status).content("application/json; charset=utf-8", text));
  }

  // ---- parts of the stream of a command ----------------------------------------------------------------------------

  static std::string event(std::string_view text) {
    return cofferdam::detail::connect_message("{\"event\":" + std::string(text) + "}");
  }
  static std::string data(std::string_view name, std::string_view text) {
    return event("{\"data\":{\"" + std::string(name) + "\":\"" +
                 cofferdam::detail::base64_encode(cofferdam::as_bytes(text)) + "\"}}");
  }
  static std::string started() { return event(R"({"start":{"pid":31201}})"); }
  static std::string begun(const std::string& mark) {
    return data("stdout", mark + "b31201;") + data("stderr", mark + "b31201;");
  }
  static std::string ended(const std::string& mark, const std::string& status) {
    return data("stdout", mark + "e" + status + ";") + data("stderr", mark + "e" + status + ";");
  }
  static std::string over(int code) {
    return event("{\"end\":{\"exitCode\":" + std::to_string(code) + ",\"exited\":true,\"status\":\"exit status\"}}") +
           cofferdam::detail::connect_end();
  }
  static std::string whole(const std::string& mark, std::string_view out, std::string_view err, int code) {
    return started() + begun(mark) + data("stdout", out) + data("stderr", err) +
           ended(mark, std::to_string(code) + ",0,0") + over(code);
  }
  static std::vector<std::string> words_of(const boost::json::object& body) {
    std::vector<std::string> words;
    for (const boost::json::value& each : body.at("process").at("args").as_array())
      words.emplace_back(each.as_string().data(), each.as_string().size());
    return words;
  }
  /// Returns the text that begins the marks of a command; empty for a script of the library that has none.
  static std::string mark_of(const boost::json::object& body) {
    for (const std::string& word : words_of(body))
      if (word.starts_with('\x1e')) return word;
    return {};
  }

  static cofferdam::awaitable<void> stream(cofferdam::http_call& call, std::string text) {
    co_await call.begin(cofferdam::http_reply(200).field("Content-Type", "application/connect+json"));
    co_await call.write(text);
  }
  /// Responds with the text, and breaks the connection.
  static cofferdam::awaitable<void> torn_stream(cofferdam::http_call& call, std::string text) {
    co_await stream(call, std::move(text));
    throw std::runtime_error("torn");
  }

  /// Responds to one call, for tests that run a server themselves.
  cofferdam::awaitable<void> handle(cofferdam::http_call& call) { return serve(call); }

 private:
  cofferdam::awaitable<void> serve(cofferdam::http_call& call) {
    call.body_limit(std::nullopt);
    const cofferdam::bytes content = co_await call.read_all();
    seen_request received{call.method(), call.head().target, call.head().fields,
                          std::string(cofferdam::as_text(content))};
    seen.push_back(received);
    boost::json::object body;
    std::string text = received.body;
    if (call.path().starts_with("/process.Process/") && text.size() > 5 && text[0] == '\0') text.erase(0, 5);
    std::error_code broken;
    boost::json::value parsed = boost::json::parse(text, broken);
    if (!broken && parsed.is_object()) body = parsed.as_object();
    const std::string key = call.method() + " " + std::string(call.path());
    const auto found = instead.find(key);
    if (found != instead.end() && !found->second.empty()) {
      const action act = found->second.front();
      found->second.erase(found->second.begin());
      co_await act(call, body);
      co_return;
    }
    co_await usual(call, key, body);
  }

  cofferdam::awaitable<void> usual(cofferdam::http_call& call, std::string key, boost::json::object body) {
    if (key == "POST /sandboxes" || key == "POST /v2/sandboxes") {
      co_await json(call, 201,
                    R"({"sandboxID":"iabc","templateID":"base","envdVersion":")" + envd_version +
                        R"(","envdAccessToken":")" + token + R"(","domain":null,"trafficAccessToken":null})");
    } else if (key == "DELETE /sandboxes/iabc" || key.ends_with("/timeout") || key.ends_with("/pause")) {
      co_await call.reply(cofferdam::http_reply(204));
    } else if (key == "GET /health") {
      if (sandbox_lives)
        co_await call.reply(cofferdam::http_reply(204));
      else
        co_await json(call, 502, R"({"sandboxId":"iabc","message":"The sandbox was not found","code":502})");
    } else if (key == "POST /process.Process/Start") {
      co_await start(call, std::move(body));
    } else if (key.starts_with("POST /process.Process/") || key.starts_with("POST /filesystem.Filesystem/")) {
      co_await json(call, 200, "{}");
    } else if (key == "POST /files") {
      co_await call.reply(cofferdam::http_reply(200).content("text/plain", "[]"));
    } else {
      co_await json(call, 404, R"({"code":404,"message":"no such page"})");
    }
  }

  cofferdam::awaitable<void> start(cofferdam::http_call& call, boost::json::object body) {
    const std::vector<std::string> words = words_of(body);
    if (words.at(1).find(".cofferdam") != std::string::npos && words.size() == 4) {
      constexpr std::string_view places("/home/user\0/home/user/workspace\0/bin/bash\0", 43);
      co_await stream(call, started() + data("stdout", places) + over(0));
      co_return;
    }
    if (words.at(1) == cofferdam::detail::signal_script) {
      signals.push_back(words.at(3) + " " + words.at(5));
      co_await stream(call, started() + over(0));
      co_return;
    }
    const std::string mark = mark_of(body);
    if (mark.empty()) {  // a script of a file operation
      co_await stream(call, started() + over(0));
      co_return;
    }
    if (command) {
      co_await command(call, body);
      co_return;
    }
    co_await stream(call, whole(mark, "out", "err", 3));
  }
};

}  // namespace cofferdam_test
