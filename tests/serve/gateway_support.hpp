// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// A gateway on a free port of the loopback interface, and a client that sends requests as E2B's SDKs do.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/connect_envelope.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>

#include "net/http_server_support.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam_test {

inline boost::json::value json_of(std::string_view text) {
  return boost::json::parse(boost::json::string_view(text.data(), text.size()));
}
/// Returns the text member `name` of a JSON object; empty if there is no such text.
inline std::string text_at(const boost::json::value& object, const char* name) {
  const boost::json::value* const found = object.as_object().if_contains(name);
  if (found == nullptr || !found->is_string()) return {};
  return {found->get_string().data(), found->get_string().size()};
}

/// The id of a sandbox, and the token for requests to it.
struct gateway_sandbox_name {
  std::string id;
  std::string token;
};

/// The messages of a Connect stream. (Connect is the RPC protocol of E2B's service in the sandbox.)
class gateway_stream {
 public:
  gateway_stream() = default;
  explicit gateway_stream(cofferdam::detail::http_exchange exchange) : exchange_(std::move(exchange)) {}

  int status() const noexcept { return exchange_.status(); }
  const cofferdam::http_response_head& head() const noexcept { return exchange_.head(); }
  /// Returns the next message. Returns no value at the end of the stream; `ending()` then returns the payload of the
  /// end envelope.
  cofferdam::awaitable<std::optional<std::string>> next() {
    for (;;) {
      if (const auto envelope = reader_.next(rest_)) {
        if (envelope->is_end()) {
          ending_ = std::string(envelope->payload());
          co_return std::nullopt;
        }
        co_return std::string(envelope->payload());
      }
      const std::size_t count = co_await exchange_.read_some(room_);
      if (count == 0) co_return std::nullopt;
      rest_ = cofferdam::as_text(cofferdam::bytes_view(room_).first(count));
    }
  }
  /// Returns the payload of the end envelope; empty if there was none.
  const std::string& ending() const noexcept { return ending_; }
  /// Reads all remaining messages. Collects the output in `out` and `err`, and the end event.
  cofferdam::awaitable<void> finish() {
    for (;;) {
      const std::optional<std::string> message = co_await next();
      if (!message) co_return;
      take(*message);
    }
  }
  /// Reads messages until the collected output contains `mark`.
  cofferdam::awaitable<void> hear(std::string mark) {
    while (out.find(mark) == std::string::npos && err.find(mark) == std::string::npos) {
      const std::optional<std::string> message = co_await next();
      if (!message) throw std::runtime_error("the stream ended before '" + mark + "': " + out + err + ending_);
      take(*message);
    }
  }
  void take(const std::string& message) {
    const boost::json::value value = json_of(message);
    const boost::json::object& event = value.at("event").as_object();
    if (const auto* start = event.if_contains("start")) pid = start->at("pid").to_number<std::uint32_t>();
    if (event.contains("keepalive")) ++keepalives;
    if (const auto* ended = event.if_contains("end")) end = ended->as_object();
    if (const auto* data = event.if_contains("data")) {
      for (const auto& [kind, text] : data->as_object()) {
        const auto raw =
            cofferdam::detail::base64_decode(std::string_view(text.as_string().data(), text.as_string().size()));
        (kind == "stderr" ? err : out) += cofferdam::as_text(raw.value());
      }
    }
  }

  std::uint32_t pid = 0;
  int keepalives = 0;
  std::string out;
  std::string err;
  std::optional<boost::json::object> end;

 private:
  cofferdam::detail::http_exchange exchange_;
  cofferdam::detail::connect_envelope_reader reader_{16 * 1024 * 1024};
  std::array<std::byte, 16 * 1024> room_{};
  std::string_view rest_;
  std::string ending_;
};

/// Returns the status and the text of a reply, such as "200 {}".
inline std::string said(const cofferdam::http_response& answer) {
  return std::to_string(answer.status()) + " " + std::string(answer.text());
}

/// A client of the gateway that sends requests as E2B's SDKs do. Tests see the raw replies.
class gateway_client {
 public:
  gateway_client(const asio::any_io_executor& executor, std::uint16_t port)
      : port(port), http(executor, cofferdam::detail::tcp_connector("127.0.0.1", port)) {}

  std::string key = "e2b_0123456789abcdef";
  std::uint16_t port;
  cofferdam::detail::http_client http;

  cofferdam::detail::connector there() const { return cofferdam::detail::tcp_connector("127.0.0.1", port); }

  cofferdam::awaitable<cofferdam::http_response> api(std::string method, std::string target, std::string body = "") {
    cofferdam::http_request request(std::move(method), std::move(target));
    if (!key.empty()) request.field("X-API-KEY", key);
    if (!body.empty()) request.content("application/json", body);
    cofferdam::http_response answer = co_await http.request(std::move(request));
    co_return answer;
  }
  cofferdam::awaitable<gateway_sandbox_name> create(std::string body = R"({"templateID":"base"})") {
    const cofferdam::http_response answer = co_await api("POST", "/v2/sandboxes", std::move(body));
    if (answer.status() != 201) throw std::runtime_error("create: " + std::string(answer.text()));
    const boost::json::value value = json_of(answer.text());
    gateway_sandbox_name name;
    name.id = text_at(value, "sandboxID");
    name.token = text_at(value, "envdAccessToken");
    co_return name;
  }

  static cofferdam::http_request to_sandbox(std::string method, std::string target, const gateway_sandbox_name& box) {
    cofferdam::http_request request(std::move(method), std::move(target));
    request.field("E2b-Sandbox-Id", box.id).field("E2b-Sandbox-Port", "49983");
    if (!box.token.empty()) request.field("X-Access-Token", box.token);
    return request;
  }
  cofferdam::awaitable<cofferdam::http_response> get(gateway_sandbox_name box, std::string target) {
    cofferdam::http_response answer = co_await http.request(to_sandbox("GET", std::move(target), box));
    co_return answer;
  }
  cofferdam::awaitable<cofferdam::http_response> put(gateway_sandbox_name box, std::string target, std::string content,
                                                     std::string type = "application/octet-stream") {
    cofferdam::http_request request = to_sandbox("POST", std::move(target), box);
    request.content(std::move(type), content);
    cofferdam::http_response answer = co_await http.request(std::move(request));
    co_return answer;
  }
  /// Makes a call with one reply. `method` is for example `process.Process/List`.
  cofferdam::awaitable<cofferdam::http_response> call(gateway_sandbox_name box, std::string method,
                                                      std::string message) {
    cofferdam::http_request request = to_sandbox("POST", "/" + std::move(method), box);
    request.field("Connect-Protocol-Version", "1");
    request.content("application/json", message);
    cofferdam::http_response answer = co_await http.request(std::move(request));
    co_return answer;
  }
  using fields = std::vector<std::pair<std::string, std::string>>;
  /// Makes a call whose reply is a stream.
  cofferdam::awaitable<gateway_stream> stream(gateway_sandbox_name box, std::string method, std::string message,
                                              fields more = {}) {
    cofferdam::http_request request = to_sandbox("POST", "/" + std::move(method), box);
    request.field("Connect-Protocol-Version", "1");
    for (auto& [name, value] : more) request.field(name, value);
    const std::string body = cofferdam::detail::connect_message(message);
    request.content("application/connect+json", body);
    cofferdam::detail::http_exchange exchange = co_await http.send(std::move(request));
    co_return gateway_stream(std::move(exchange));
  }
  /// Runs a shell line in the sandbox to its end. \param more  further members of the message, each after a comma.
  cofferdam::awaitable<gateway_stream> run(gateway_sandbox_name box, std::string line, std::string more = "") {
    gateway_stream stream = co_await start(std::move(box), std::move(line), std::move(more));
    co_await stream.finish();
    co_return stream;
  }
  cofferdam::awaitable<gateway_stream> start(gateway_sandbox_name box, std::string line, std::string more = "",
                                             fields named = {}) {
    boost::json::array args{"-c"};
    args.emplace_back(line);
    const std::string message =
        R"({"process":{"cmd":"/bin/sh","args":)" + boost::json::serialize(args) + "}" + more + "}";
    gateway_stream begun = co_await stream(std::move(box), "process.Process/Start", message, std::move(named));
    const std::optional<std::string> first = co_await begun.next();
    if (first) begun.take(*first);
    co_return begun;
  }
};

using gateway_work = std::function<cofferdam::awaitable<void>(cofferdam::e2b_gateway::server&, gateway_client&)>;

inline cofferdam::any_provider local_provider() {
  return cofferdam::any_provider(cofferdam::local().without_warning().kill_grace(std::chrono::milliseconds(50)));
}

/// Runs `body` while a gateway serves. Then stops the gateway, and checks that no sandbox is left.
inline cofferdam::awaitable<void> with_gateway(cofferdam::e2b_gateway::options options, gateway_work body,
                                               cofferdam::any_provider provider = local_provider()) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  cofferdam::http_server_settings settings = options.server();
  settings.stop_timeout(std::chrono::milliseconds(50));
  options.server(settings);
  cofferdam::e2b_gateway::server gateway(executor, std::move(provider), std::move(options));
  cofferdam::listener where = cofferdam::tcp_listener(executor, "127.0.0.1", 0);
  gateway_client client(executor, where.port());
  bool ended = false;
  std::exception_ptr failure;
  const auto done = [&](std::exception_ptr reason) {
    failure = std::move(reason);
    ended = true;
  };
  cofferdam_test::spawn(executor, gateway.serve(std::move(where)), done);
  std::exception_ptr broke;
  try {
    co_await body(gateway, client);
  } catch (...) {
    broke = std::current_exception();
  }
  co_await client.http.close();
  co_await gateway.stop();
  const std::function<bool()> is_over = [&] { return ended; };
  const bool over = co_await comes_about(is_over);
  EXPECT_TRUE(over);
  EXPECT_EQ(gateway.sandboxes(), 0U);
  if (broke) std::rethrow_exception(broke);
  if (failure) std::rethrow_exception(failure);
}

/// Runs `with_gateway` on a new event loop.
inline void run_with_gateway(const gateway_work& body,
                             cofferdam::e2b_gateway::options options = cofferdam::e2b_gateway::options(),
                             cofferdam::any_provider provider = local_provider()) {
  run([&] { return with_gateway(std::move(options), body, std::move(provider)); }, std::chrono::seconds(120));
}

}  // namespace cofferdam_test
