// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/net/http_message.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The limits of a server, and the hosts and origins that it accepts.
///
/// Every time limit is more than zero and at most a year; otherwise `error{exec_errc::invalid_argument}`.
class http_server_settings {
 public:
  /// Receives the exception of a handler, with the request's head. The client only gets a 500. Must not throw.
  using error_handler = std::function<void(const http_request_head&, std::exception_ptr)>;

  http_server_settings() = default;

  /// Sets the limits of a request's head and trailers: 431, or 414 for the first line. Default 64 KiB and 256 fields.
  http_server_settings& parser(const http_parser_limits& limits) {
    parser_ = limits;
    return *this;
  }
  /// Sets the maximum bytes of a request's body, unless a handler sets another number: 413. Default 16 MiB.
  http_server_settings& body(std::uint64_t max_bytes) {
    body_ = max_bytes;
    return *this;
  }
  /// Sets the maximum bytes of an unread body that are read and discarded to keep the connection; with more it is
  /// closed. Default 256 KiB.
  http_server_settings& drained(std::uint64_t max_bytes) {
    drained_ = max_bytes;
    return *this;
  }
  /// Sets the maximum number of connections over all listeners. Default 256; at least 1. If there are more, the server
  /// closes the connection that has waited longest for a request (a new connection gets at least a second). If none
  /// waits, new connections wait.
  http_server_settings& connections(std::size_t max_connections) {
    if (max_connections == 0) throw error(exec_errc::invalid_argument, "http_server: it needs at least one connection");
    connections_ = max_connections;
    return *this;
  }

  /// Limits the time from the first byte of a request (on a new connection: from its beginning) to the end of the head:
  /// 408. Default 30 s. Applies also to the time for discarding an unread body.
  http_server_settings& head_timeout(std::chrono::milliseconds limit) { return set(head_timeout_, limit); }
  /// Limits the time between two pieces of a body while a handler waits for one: 408. Default 60 s.
  http_server_settings& body_timeout(std::chrono::milliseconds limit) { return set(body_timeout_, limit); }
  /// Limits the time in which the client must accept each 64 KiB of a reply; a slower connection is closed. Default 60
  /// s.
  http_server_settings& write_timeout(std::chrono::milliseconds limit) { return set(write_timeout_, limit); }
  /// Limits the time between two requests; then the connection is closed. Default 75 s.
  http_server_settings& idle_timeout(std::chrono::milliseconds limit) { return set(idle_timeout_, limit); }
  /// Limits the time of a handler; then it is cancelled, the client gets 503 if nothing was sent, and the connection is
  /// closed. Default: no limit.
  http_server_settings& request_timeout(std::optional<std::chrono::milliseconds> limit) {
    std::chrono::milliseconds checked{1};
    set(checked, limit.value_or(checked));
    request_timeout_ = limit;
    return *this;
  }
  /// Limits the time of handlers after a call of `stop`; then they are cancelled. Default 10 s.
  http_server_settings& stop_timeout(std::chrono::milliseconds limit) { return set(stop_timeout_, limit); }

  /// Sets the hosts that requests may name; others, and a missing host, get 421. Default: `localhost`, `127.0.0.1` and
  /// `[::1]` for a TCP listener that only this machine can reach; any host for other listeners, so set the hosts there.
  /// This protects against DNS rebinding, in which a web page's name resolves to this server, so that the page can send
  /// requests from a browser.
  /// \param hosts  names or addresses (IPv6 in brackets) without a port, which allows every port, or with a port. `*`
  ///               alone allows every host.
  http_server_settings& allowed_hosts(std::vector<std::string> hosts) {
    if (hosts.empty())
      throw error(exec_errc::invalid_argument, "http_server: without an allowed host nobody is served");
    hosts_ = std::move(hosts);
    return *this;
  }
  /// Sets the origins of web pages that may send requests; others, also `null`, get 403. Default: any port of the
  /// requested host and of the hosts that are allowed by name. A request without an `Origin` does not come from a web
  /// page.
  /// \param origins  `https://app.example`, compared as a whole, without regard to case; empty: no page. `*` alone
  ///                 allows every page in the world.
  http_server_settings& allowed_origins(std::vector<std::string> origins) {
    origins_ = std::move(origins);
    return *this;
  }
  /// Sets the handler of exceptions from request handlers. Default: none.
  http_server_settings& on_error(error_handler told) {
    on_error_ = std::move(told);
    return *this;
  }

  const http_parser_limits& parser() const noexcept { return parser_; }
  std::uint64_t body() const noexcept { return body_; }
  std::uint64_t drained() const noexcept { return drained_; }
  std::size_t connections() const noexcept { return connections_; }
  std::chrono::milliseconds head_timeout() const noexcept { return head_timeout_; }
  std::chrono::milliseconds body_timeout() const noexcept { return body_timeout_; }
  std::chrono::milliseconds write_timeout() const noexcept { return write_timeout_; }
  std::chrono::milliseconds idle_timeout() const noexcept { return idle_timeout_; }
  std::optional<std::chrono::milliseconds> request_timeout() const noexcept { return request_timeout_; }
  std::chrono::milliseconds stop_timeout() const noexcept { return stop_timeout_; }
  const std::optional<std::vector<std::string>>& allowed_hosts() const noexcept { return hosts_; }
  const std::optional<std::vector<std::string>>& allowed_origins() const noexcept { return origins_; }
  const error_handler& on_error() const noexcept { return on_error_; }

 private:
  http_server_settings& set(std::chrono::milliseconds& which, std::chrono::milliseconds limit) {
    if (limit <= std::chrono::milliseconds::zero() || limit > std::chrono::hours(24 * 365))
      throw error(exec_errc::invalid_argument,
                  "http_server_settings: a time limit is more than zero and at most a year");
    which = limit;
    return *this;
  }

  http_parser_limits parser_;
  std::uint64_t body_ = std::uint64_t{16} * 1024 * 1024;
  std::uint64_t drained_ = std::uint64_t{256} * 1024;
  std::size_t connections_ = 256;
  std::chrono::milliseconds head_timeout_{30'000};
  std::chrono::milliseconds body_timeout_{60'000};
  std::chrono::milliseconds write_timeout_{60'000};
  std::chrono::milliseconds idle_timeout_{75'000};
  std::optional<std::chrono::milliseconds> request_timeout_;
  std::chrono::milliseconds stop_timeout_{10'000};
  std::optional<std::vector<std::string>> hosts_;
  std::optional<std::vector<std::string>> origins_;
  error_handler on_error_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
