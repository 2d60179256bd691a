// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/net/http_message.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The limits of one request. If a time limit expires, the connection is closed and the call throws
/// error{exec_errc::io_error} with `net_errc::timed_out` as its `cause()`.
class http_limits {
 public:
  http_limits() = default;

  /// Sets the time limit for making a connection: name lookup, TCP and TLS. Default 5 s; must be more than zero.
  http_limits& connect(std::chrono::milliseconds limit) { return set(connect_, limit); }
  /// Sets the time limit for the head of the response. It is counted from the last time that a part of the request was
  /// sent. The time that an `http_body::source` needs for a piece does not count. Default 60 s.
  /// \param limit  more than zero. No value means no limit, for requests that are answered much later (Docker's `/wait`
  ///               and `/events`).
  http_limits& head(std::optional<std::chrono::milliseconds> limit) { return set(head_, limit); }
  /// Sets the time limit between two pieces of the response's body. The time between the caller's reads does not count.
  /// Default 60 s.
  /// \param limit  more than zero; no value means no limit.
  http_limits& idle(std::optional<std::chrono::milliseconds> limit) { return set(idle_, limit); }
  /// Sets the maximum size in bytes of a body that `http_client::request` returns. A longer body throws
  /// error{exec_errc::too_large}. Default 16 MiB.
  http_limits& body(std::size_t max_bytes) {
    body_ = max_bytes;
    return *this;
  }
  /// Sets the limits of the head and the trailers of a response.
  http_limits& parser(const http_parser_limits& limits) {
    parser_ = limits;
    return *this;
  }

  std::chrono::milliseconds connect() const noexcept { return connect_; }
  std::optional<std::chrono::milliseconds> head() const noexcept { return head_; }
  std::optional<std::chrono::milliseconds> idle() const noexcept { return idle_; }
  std::size_t body() const noexcept { return body_; }
  const http_parser_limits& parser() const noexcept { return parser_; }

 private:
  template <class Limit>
  http_limits& set(Limit& which, std::optional<std::chrono::milliseconds> limit) {
    if (limit && *limit <= std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, "http_limits: a time limit must be longer than zero");
    if constexpr (std::same_as<Limit, std::chrono::milliseconds>) {
      which = *limit;
    } else {
      which = limit;
    }
    return *this;
  }

  std::chrono::milliseconds connect_{5'000};
  std::optional<std::chrono::milliseconds> head_ = std::chrono::milliseconds(60'000);
  std::optional<std::chrono::milliseconds> idle_ = std::chrono::milliseconds(60'000);
  std::size_t body_ = std::size_t{16} * 1024 * 1024;
  http_parser_limits parser_;
};

/// The settings of a client: default limits, and the numbers of its connections.
class http_client_settings {
 public:
  http_client_settings() = default;

  /// Sets the limits of requests that are sent without limits of their own.
  http_client_settings& limits(const http_limits& each) {
    limits_ = each;
    return *this;
  }
  /// Sets the maximum number of connections, idle or in use. Further requests wait. Streams from `upgrade` do not
  /// count. Default 64; at least 1.
  http_client_settings& connections(std::size_t max_connections) {
    if (max_connections == 0)
      throw error(exec_errc::invalid_argument, "http_client: the maximum number of connections must be at least 1");
    connections_ = max_connections;
    return *this;
  }
  /// Sets the maximum number of idle connections that are kept. Default 8. With 0, every request makes a new
  /// connection.
  http_client_settings& idle_connections(std::size_t max_connections) {
    idle_connections_ = max_connections;
    return *this;
  }
  /// Sets the time after which an idle connection is not used again. Default 240 s, because the Docker daemon closes a
  /// connection after 300 s.
  http_client_settings& idle_timeout(std::chrono::milliseconds limit) {
    idle_timeout_ = std::min<std::chrono::milliseconds>(limit, std::chrono::hours(24 * 365));
    return *this;
  }

  const http_limits& limits() const noexcept { return limits_; }
  std::size_t connections() const noexcept { return connections_; }
  std::size_t idle_connections() const noexcept { return idle_connections_; }
  std::chrono::milliseconds idle_timeout() const noexcept { return idle_timeout_; }

 private:
  http_limits limits_;
  std::size_t connections_ = 64;
  std::size_t idle_connections_ = 8;
  std::chrono::milliseconds idle_timeout_{240'000};
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
