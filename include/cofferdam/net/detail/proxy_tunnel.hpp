// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/deadline_timer.hpp>
#include <cofferdam/detail/net/http_parser.hpp>
#include <cofferdam/net/detail/connect.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/net/proxy.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline error proxy_error(const http_proxy& proxy, const std::string& name, const std::string& why,
                         std::error_code cause) {
  return error(exec_errc::io_error,
               "cannot connect to " + name + " through the proxy " + host_and_port(proxy.host(), proxy.port(), 0) +
                   " (HTTPS_PROXY): " + why,
               cause);
}

/// Throws unless the proxy has opened the tunnel.
/// \param head  the head of the proxy's response.
inline void require_tunnel(const http_proxy& proxy, const std::string& name, const http_response_head& head) {
  if (head.ok()) return;
  std::string why =
      "the proxy refuses the connection: " + std::to_string(head.status) + " " + one_line(head.reason, 100);
  if (head.status == 407)
    why += proxy.authorization().empty() ? "; it requires a user and a password: write http://USER:PASSWORD@HOST:PORT"
                                         : "; it rejects the user and password of its URL";
  throw proxy_error(proxy, name, why, make_error_code(net_errc::proxy_refused));
}

/// Connects to a host through a proxy.
/// \return a socket to the proxy. After this call the proxy forwards all bytes between the socket and the host.
/// \par Source  RFC 9110, 9.3.6.
inline awaitable<asio::ip::tcp::socket> connect_by_proxy(http_proxy proxy, std::string host, std::uint16_t port,
                                                         std::string name, asio::any_io_executor executor,
                                                         due_time due) {
  const std::string where = host_and_port(host, port, 0);
  const std::string by = where + "'s proxy " + host_and_port(proxy.host(), proxy.port(), 0) + " (HTTPS_PROXY)";
  asio::ip::tcp::socket socket = co_await connect_tcp_socket(proxy.host(), proxy.port(), by, executor, due);
  std::string request = "CONNECT " + where + " HTTP/1.1\r\nHost: " + where + "\r\n";
  if (!proxy.authorization().empty()) request += "Proxy-Authorization: " + proxy.authorization() + "\r\n";
  request += "\r\n";
  deadline_timer limit(executor, [&socket] {
    std::error_code ignored;  // the socket is closed even if `close` fails
    socket.close(ignored);
  });
  limit.arm_until(due);
  const auto require = [&](std::error_code failure) {
    if (limit.expired()) throw connect_timed_out(name, " (its proxy did not answer)");
    if (failure == asio::error::operation_aborted) throw connect_cancelled(name);
    if (failure == asio::error::eof)
      throw proxy_error(proxy, name, "the proxy closed the connection without an answer",
                        make_error_code(net_errc::connection_lost));
    if (failure) throw proxy_error(proxy, name, failure.message(), failure);
  };
  std::error_code failure;
  co_await asio::async_write(socket, asio::buffer(request), asio::redirect_error(asio::use_awaitable, failure));
  require(failure);
  http_response_parser parser("CONNECT");
  for (;;) {
    // Reads one byte at a time, because the bytes after the proxy's response come from the host and must stay in the
    // socket.
    std::array<std::byte, 1> piece{};
    const asio::mutable_buffer room(piece.data(), piece.size());
    co_await socket.async_read_some(room, asio::redirect_error(asio::use_awaitable, failure));
    require(failure);
    http_event event = http_event::need_more;
    try {
      event = parser.parse(piece).event;
    } catch (const error& bad) {
      throw proxy_error(proxy, name, std::string("its answer is not HTTP: ") + bad.what(), bad.cause());
    }
    if (event == http_event::head) break;
  }
  limit.stop();
  require_tunnel(proxy, name, parser.head());
  co_return std::move(socket);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
