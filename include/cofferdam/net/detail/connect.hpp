// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/net/deadline_timer.hpp>
#include <cofferdam/net/detail/socket_stream.hpp>
#include <cofferdam/net/net_error.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The time at which an attempt to connect is given up.
using due_time = std::chrono::steady_clock::time_point;

inline std::string connect_advice(std::error_code cause) {
  if (cause == std::errc::no_such_file_or_directory)
    return "; check that the server is running and listens at this path";
  if (cause == std::errc::permission_denied)
    return "; this user has no access to the socket: add the user to the socket's group";
  if (cause == std::errc::connection_refused) return "; no process listens there: check that the server is running";
  if (cause == std::errc::too_many_files_open) return "; raise the limit on open files, or use fewer connections";
  return "";
}
/// Returns the error code of the same number in the standard's system category. Asio 1.22 has a system category of its
/// own, whose codes compare unequal to every `std::errc`.
inline std::error_code as_system_error(std::error_code failure) {
  if (failure.category() != asio::error::get_system_category()) return failure;
  return std::error_code(failure.value(), std::system_category());
}
inline error connect_error(const std::string& name, const std::string& where, std::error_code cause) {
  return error(exec_errc::io_error,
               "cannot connect to " + name + where + ": " + cause.message() + connect_advice(cause), cause);
}
inline error connect_timed_out(const std::string& name, const std::string& where) {
  return error(exec_errc::io_error,
               "cannot connect to " + name + where + " within the time limit; check that the server is reachable",
               net_errc::timed_out);
}
inline error connect_cancelled(const std::string& name) {
  return error(exec_errc::cancelled, "cancelled while connecting to " + name, asio::error::operation_aborted);
}

inline void check_host(std::string_view host, std::uint16_t port) {
  const bool visible = std::all_of(host.begin(), host.end(), [](char c) {
    return c > 0x20 && c < 0x7F && std::string_view("/?#@[]\"\\").find(c) == std::string_view::npos;
  });
  std::error_code not_an_address;
  if (host.find(':') != std::string_view::npos) asio::ip::make_address_v6(std::string(host), not_an_address);
  if (host.empty() || host.size() > 255 || !visible || not_an_address || port == 0)
    throw error(exec_errc::invalid_argument,
                "\"" + one_line(host) + "\", port " + std::to_string(port) +
                    ", is not a valid address: use a host name or an IP address, and a port other than 0");
}

/// Returns `host:port`, with brackets around an IPv6 address.
/// \param usual  the default port; if `port` is equal to it, the text has no port.
inline std::string host_and_port(std::string_view host, std::uint16_t port, std::uint16_t usual) {
  std::string text(host);
  if (host.find(':') != std::string_view::npos) text = "[" + text.substr(0, text.find('%')) + "]";
  if (port != usual) text += ":" + std::to_string(port);
  return text;
}

/// Connects to a Unix socket. Calls connect(2) directly instead of Asio's function: connect(2) fails with EAGAIN while
/// the server's queue is full, and Asio treats this error as success.
inline awaitable<byte_stream> connect_unix(std::string path, std::string name, asio::any_io_executor executor,
                                           std::chrono::milliseconds limit) {
  const due_time due = std::chrono::steady_clock::now() + limit;
  asio::local::stream_protocol::socket socket(executor);
  std::error_code failure;
  socket.open(asio::local::stream_protocol(), failure);
  if (!failure) socket.native_non_blocking(true, failure);
  if (failure) throw connect_error(name, "", failure);
  const asio::local::stream_protocol::endpoint there(path);
  asio::steady_timer pause(executor);
  std::chrono::milliseconds wait(1);
  while (::connect(socket.native_handle(), there.data(), static_cast<socklen_t>(there.size())) != 0) {
    const std::error_code cause(errno, std::system_category());
    if (cause == std::errc::interrupted) continue;
    if (cause.value() == EISCONN) break;
    if (cause.value() != EAGAIN) throw connect_error(name, "", cause);
    if (std::chrono::steady_clock::now() >= due) throw connect_timed_out(name, "");
    pause.expires_after(wait);
    wait = std::min(2 * wait, std::chrono::milliseconds(50));
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, failure));
    if (failure) throw connect_cancelled(name);
  }
  using stream = socket_stream<asio::local::stream_protocol::socket>;
  co_return byte_stream(std::make_unique<stream>(std::move(socket), std::move(name)));
}

/// A name lookup. The lookup and its caller share this object, because the lookup may end after the caller has given
/// up.
struct resolving {
  explicit resolving(const asio::any_io_executor& executor) : resolver(executor), done(executor) {}
  asio::ip::tcp::resolver resolver;
  async_event done;
  std::vector<asio::ip::tcp::endpoint> found;
  std::error_code failure;
  bool ended = false;
};

inline void begin_resolving(const std::shared_ptr<resolving>& work, const std::string& host, std::uint16_t port) {
  work->resolver.async_resolve(host, std::to_string(port), asio::ip::tcp::resolver::numeric_service,
                               [work](std::error_code failure, const asio::ip::tcp::resolver::results_type& found) {
                                 work->failure = failure;
                                 for (const auto& entry : found) work->found.push_back(entry.endpoint());
                                 work->ended = true;
                                 work->done.notify();
                               });
}

inline awaitable<std::vector<asio::ip::tcp::endpoint>> resolve(std::string host, std::uint16_t port, std::string name,
                                                               asio::any_io_executor executor, due_time due) {
  std::error_code failure;
  const asio::ip::address address = asio::ip::make_address(host, failure);
  std::vector<asio::ip::tcp::endpoint> found;
  if (!failure) {
    found.emplace_back(address, port);
    co_return found;
  }
  const std::shared_ptr<resolving> work = std::make_shared<resolving>(executor);
  begin_resolving(work, host, port);
  const wait_result result = co_await work->done.wait(due);
  if (!work->ended) {
    work->resolver.cancel();
    if (result == wait_result::cancelled) throw connect_cancelled(name);
    throw connect_timed_out(name, " (its name was not resolved)");
  }
  if (work->failure)
    throw error(exec_errc::io_error,
                "cannot connect to " + name + ": its name cannot be resolved: " + work->failure.message() +
                    "; check the spelling and the network connection",
                work->failure);
  co_return std::move(work->found);
}

inline void set_tcp_options(asio::ip::tcp::socket& socket) {
  std::error_code ignored;  // the connection works without these options too
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int idle = 30;
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof idle);
}

inline std::string address_text(const asio::ip::tcp::endpoint& there) {
  return " (" + host_and_port(there.address().to_string(), there.port(), 0) + ")";
}

inline awaitable<asio::ip::tcp::socket> connect_tcp_socket(std::string host, std::uint16_t port, std::string name,
                                                           asio::any_io_executor executor, due_time due) {
  const std::vector<asio::ip::tcp::endpoint> found = co_await resolve(host, port, name, executor, due);
  std::error_code last = asio::error::host_not_found;
  std::string where;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const due_time now = std::chrono::steady_clock::now();
    if (now >= due) throw connect_timed_out(name, where);
    const auto share = (due - now) / static_cast<std::int64_t>(found.size() - i);
    where = address_text(found[i]);
    asio::ip::tcp::socket socket(executor);
    std::error_code failure;
    deadline_timer limit(executor, [&socket] {
      std::error_code ignored;  // the socket is closed even if `close` fails
      socket.close(ignored);
    });
    limit.arm_until(now + share);
    co_await socket.async_connect(found[i], asio::redirect_error(asio::use_awaitable, failure));
    limit.stop();
    if (!failure && socket.is_open()) {
      set_tcp_options(socket);
      co_return std::move(socket);
    }
    if (failure == asio::error::operation_aborted && !limit.expired()) throw connect_cancelled(name);
    last = limit.expired() ? make_error_code(net_errc::timed_out) : as_system_error(failure);
  }
  if (last == net_errc::timed_out) throw connect_timed_out(name, where);
  throw connect_error(name, where, last);
}

inline awaitable<byte_stream> connect_tcp(std::string host, std::uint16_t port, std::string name,
                                          asio::any_io_executor executor, std::chrono::milliseconds limit) {
  const due_time due = std::chrono::steady_clock::now() + limit;
  asio::ip::tcp::socket socket = co_await connect_tcp_socket(host, port, name, executor, due);
  using stream = socket_stream<asio::ip::tcp::socket>;
  co_return byte_stream(std::make_unique<stream>(std::move(socket), std::move(name)));
}

/// A copyable function object for `connector`. Each call connects to a Unix socket.
class unix_recipe {
 public:
  unix_recipe(std::string path, std::string name) : path_(std::move(path)), name_(std::move(name)) {}
  awaitable<byte_stream> operator()(asio::any_io_executor executor, std::chrono::milliseconds limit) const {
    return connect_unix(path_, name_, std::move(executor), limit);
  }

 private:
  std::string path_;
  std::string name_;
};

/// A copyable function object for `connector`. Each call connects to a host by TCP.
class tcp_recipe {
 public:
  tcp_recipe(std::string host, std::uint16_t port, std::string name)
      : host_(std::move(host)), name_(std::move(name)), port_(port) {}
  awaitable<byte_stream> operator()(asio::any_io_executor executor, std::chrono::milliseconds limit) const {
    return connect_tcp(host_, port_, name_, std::move(executor), limit);
  }

 private:
  std::string host_;
  std::string name_;
  std::uint16_t port_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
