// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/detail/core/number_text.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// Passes requests to servers that run in a sandbox, and their replies back, without keeping a whole body. Requests to
/// switch to another protocol, such as WebSocket, are refused.
class port_relay {
 public:
  /// \param id  the id of the sandbox, for messages.
  static awaitable<void> serve(guest_network network, std::string id, std::uint16_t port, http_call& call) {
    if (call.field("Upgrade")) {
      co_await call.reply(
          failure_reply(501, id, port, "this gateway passes no upgrades such as WebSocket to a port of a sandbox"));
      co_return;
    }
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto connects = [network, port](asio::any_io_executor, std::chrono::milliseconds) {
      return network.connect(port);
    };
    const std::string host(call.field("Host").value_or("127.0.0.1"));
    cofferdam::detail::http_client client(
        executor, cofferdam::detail::connector("port " + std::to_string(port) + " of the sandbox", host, connects));
    std::optional<http_reply> failed;
    try {
      http_request request = request_of(call);
      cofferdam::detail::http_limits limits = client.limits();
      limits.head(std::nullopt).idle(std::nullopt);  // the client of the gateway decides how long it waits
      cofferdam::detail::http_exchange answer = co_await client.send(std::move(request), limits);
      co_await pass_back(answer, call);
    } catch (const error& failure) {
      failed = reply_for(failure, id, port);
      if (!failed || call.replied()) throw;
    }
    if (failed) co_await call.reply(std::move(*failed));
  }

 private:
  /// The fields that belong to one connection, or to this gateway, and are not passed on.
  static bool is_kept_back(std::string_view name) {
    constexpr std::string_view names[] = {
        "Connection", "Keep-Alive",     "Proxy-Connection",         "Proxy-Authorization",
        "TE",         "Trailer",        "Transfer-Encoding",        "Upgrade",
        "Expect",     "Content-Length", "E2b-Sandbox-Id",           "E2b-Sandbox-Port",
        "Host",       "X-Access-Token", "E2B-Traffic-Access-Token", "Date"};
    return std::any_of(std::begin(names), std::end(names),
                       [name](std::string_view each) { return cofferdam::detail::same_ignoring_case(each, name); });
  }

  static http_request request_of(http_call& call) {
    http_request request(call.method(), call.head().target);
    for (const http_field& each : call.head().fields)
      if (!is_kept_back(each.name())) request.field(each.name(), each.value());
    const bool has_body = call.field("Content-Length") || call.field("Transfer-Encoding");
    if (!has_body) return request;
    call.body_limit(std::nullopt);
    const http_body::source pieces = [&call] { return next_piece(call); };
    const std::optional<std::uint64_t> size =
        cofferdam::detail::number_from<std::uint64_t>(call.field("Content-Length").value_or(std::string_view()));
    request.body(size ? http_body(pieces, *size) : http_body(pieces));
    return request;
  }
  static awaitable<bytes> next_piece(http_call& call) {
    bytes piece(std::size_t{32} * 1024);
    const std::size_t count = co_await call.read_some(piece);
    piece.resize(count);
    co_return piece;
  }

  static awaitable<void> pass_back(cofferdam::detail::http_exchange& answer, http_call& call) {
    http_reply reply(answer.status());
    for (const http_field& each : answer.head().fields)
      if (!is_kept_back(each.name())) reply.field(each.name(), each.value());
    const std::optional<std::uint64_t> size = cofferdam::detail::number_from<std::uint64_t>(
        answer.head().fields.find("Content-Length").value_or(std::string_view()));
    if (size)
      co_await call.begin(std::move(reply), *size);
    else
      co_await call.begin(std::move(reply));
    bytes piece(std::size_t{64} * 1024);
    for (;;) {
      const std::size_t count = co_await answer.read_some(piece);
      if (count == 0) break;
      const bytes_view content = bytes_view(piece).first(count);
      co_await call.write(content);
    }
  }

  static std::optional<http_reply> reply_for(const error& failure, const std::string& id, std::uint16_t port) {
    if (failure.cause() == std::errc::connection_refused)
      return failure_reply(502, id, port, "The sandbox is running but port is not open");
    if (failure.code() == exec_errc::unsupported) return failure_reply(501, id, port, failure.what());
    if (failure.code() != exec_errc::io_error) return std::nullopt;
    return failure_reply(502, id, port, "the server on this port of the sandbox has not answered in HTTP");
  }
  static http_reply failure_reply(int status, const std::string& id, std::uint16_t port, std::string_view message) {
    boost::json::object object;
    object["sandboxId"] = id;
    object["message"] = message;
    object["port"] = port;
    object["code"] = status;
    return json_reply(status, object);
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
