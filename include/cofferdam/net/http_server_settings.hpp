// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/http_origin.hpp>
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
/// Every time limit must be more than zero and at most 365 days; otherwise the setter throws
/// `error{exec_errc::invalid_argument}`.
class http_server_settings {
 public:
  /// A function that receives the head of a request and the exception with which its handler has ended. The client only
  /// gets status 500. The function must not throw.
  using error_handler = std::function<void(const http_request_head&, std::exception_ptr)>;

  http_server_settings() = default;

  /// Sets the limits of a request's head and trailers. A request over a limit gets status 431, or 414 if its first line
  /// is too long. Default: 16 KiB for a line, 64 KiB for the head, 256 fields.
  http_server_settings& parser(const http_parser_limits& limits) {
    parser_ = limits;
    return *this;
  }
  /// Sets the maximum size of a request's body in bytes. A handler may set another limit by `http_call::body_limit`. A
  /// longer body gets status 413. Default 16 MiB.
  http_server_settings& body(std::uint64_t max_bytes) {
    body_ = max_bytes;
    return *this;
  }
  /// Sets the maximum number of bytes that the server reads and discards if a handler has not read the whole body. If
  /// more is left, the server closes the connection instead of reusing it. Default 256 KiB.
  http_server_settings& drained(std::uint64_t max_bytes) {
    drained_ = max_bytes;
    return *this;
  }
  /// Sets the maximum number of connections over all listeners. Default 256; at least 1. If a new connection would
  /// exceed the maximum, the server closes the connection that has been idle for the longest time. A connection is not
  /// idle in its first second. If no connection is idle, new connections wait.
  http_server_settings& connections(std::size_t max_connections) {
    if (max_connections == 0)
      throw error(exec_errc::invalid_argument, "http_server: the maximum number of connections must be at least 1");
    connections_ = max_connections;
    return *this;
  }

  /// Limits the time to receive a request's head, counted from its first byte, or from the start of a new connection. A
  /// slower client gets status 408. The same limit applies to discarding an unread body. Default 30 s.
  http_server_settings& head_timeout(std::chrono::milliseconds limit) { return set(head_timeout_, limit); }
  /// Limits the time in which a handler waits for the next piece of a body. A slower client gets status 408. Default 60
  /// s.
  http_server_settings& body_timeout(std::chrono::milliseconds limit) { return set(body_timeout_, limit); }
  /// Limits the time in which the client must accept each 64 KiB of a reply. The server closes a slower connection.
  /// Default 60 s.
  http_server_settings& write_timeout(std::chrono::milliseconds limit) { return set(write_timeout_, limit); }
  /// Limits the time between two requests of one connection. The server then closes the connection. Default 75 s.
  http_server_settings& idle_timeout(std::chrono::milliseconds limit) { return set(idle_timeout_, limit); }
  /// Limits the time of a handler. After the limit the handler is cancelled, the client gets status 503 if no reply was
  /// begun, and the connection is closed. Default: no limit.
  http_server_settings& request_timeout(std::optional<std::chrono::milliseconds> limit) {
    std::chrono::milliseconds checked{1};
    set(checked, limit.value_or(checked));
    request_timeout_ = limit;
    return *this;
  }
  /// Limits the time that handlers may continue after a call of `http_server::stop`. After the limit they are
  /// cancelled. Default 10 s.
  http_server_settings& stop_timeout(std::chrono::milliseconds limit) { return set(stop_timeout_, limit); }

  /// Sets the hosts that a request's `Host` field may name. A request with another host, or with an empty one, gets
  /// status 421. This protects against DNS rebinding: a web page makes its own name resolve to this server, and can
  /// then send requests to this server from a visitor's browser.
  ///
  /// Default for a TCP listener that only this machine can reach: `localhost`, `127.0.0.1` and `[::1]`. Default for
  /// other listeners: any host, so set the hosts explicitly for them.
  /// \param hosts  names or addresses (IPv6 in brackets), each with or without a port; without a port, every port is
  ///               allowed. A single `*` allows every host. Must not be empty.
  http_server_settings& allowed_hosts(std::vector<std::string> hosts) {
    if (hosts.empty())
      throw error(exec_errc::invalid_argument,
                  "http_server: allowed_hosts() must not be empty; use * to allow every host");
    hosts_ = std::move(hosts);
    return *this;
  }
  /// Sets the origins of web pages that may send requests. A request with another `Origin`, including `null`, gets
  /// status 403, unless `origin` has added it. Default: the requested host and the allowed hosts, with any port. A
  /// request without an `Origin` field is accepted, because it does not come from a web page.
  /// \param origins  for example `https://app.example`, compared as a whole, without regard to case. An empty list
  ///                 allows no web page. A single `*` allows every web page in the world.
  http_server_settings& allowed_origins(std::vector<std::string> origins) {
    origins_ = std::move(origins);
    return *this;
  }
  /// Adds an origin of web pages that may send requests, besides those of `allowed_origins`, and that may read the
  /// replies of `e2b_gateway::server` (CORS), except the refusals of requests that are too long or invalid (400, 414,
  /// 417, 431). `mcp::server` has an option of its own, `server_options::origin`.
  /// \param page  the origin, for example `https://app.example`, `http://localhost:5173` or `chrome-extension://abc`:
  ///              without a path. The usual port of http and https is removed, because browsers do not send it.
  /// \throws error{exec_errc::invalid_argument} for another text; also for `*` and `null`.
  http_server_settings& origin(std::string page) {
    page_origins_.push_back(detail::require_origin("http_server_settings::origin", std::move(page)));
    return *this;
  }
  /// Sets the function that receives exceptions from request handlers. Default: none, and the exceptions are dropped.
  http_server_settings& on_error(error_handler handler) {
    on_error_ = std::move(handler);
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
  /// Returns the origins that `origin` has added.
  const std::vector<std::string>& origins() const noexcept { return page_origins_; }
  const error_handler& on_error() const noexcept { return on_error_; }

 private:
  http_server_settings& set(std::chrono::milliseconds& which, std::chrono::milliseconds limit) {
    if (limit <= std::chrono::milliseconds::zero() || limit > std::chrono::hours(24 * 365))
      throw error(exec_errc::invalid_argument,
                  "http_server_settings: a time limit must be longer than zero and at most a year");
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
  std::vector<std::string> page_origins_;
  error_handler on_error_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
