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

/// The limits of one request. An expired time limit is error{exec_errc::io_error} with `net_errc::timed_out`, and
/// closes the connection.
class http_limits {
 public:
  http_limits() = default;

  /// Sets the time limit for a usable connection: name lookup, TCP, TLS. Default 5 s; more than zero.
  http_limits& connect(std::chrono::milliseconds limit) { return set(connect_, limit); }
  /// Sets the time limit from the last progress of sending the request to the end of the answer's head. Default 60 s.
  /// The time that a source needs to make a piece of the body does not count.
  /// \param limit  more than zero; no value: no limit, for requests that are answered much later (`/wait`, `/events`).
  http_limits& head(std::optional<std::chrono::milliseconds> limit) { return set(head_, limit); }
  /// Sets the time limit between two pieces of the answer's body, while the caller reads. Default 60 s.
  /// \param limit  more than zero; no value: no limit.
  http_limits& idle(std::optional<std::chrono::milliseconds> limit) { return set(idle_, limit); }
  /// Sets the maximum size of a body that `request` keeps whole; a longer body is error{exec_errc::too_large}. Default
  /// 16 MiB.
  http_limits& body(std::size_t max_bytes) {
    body_ = max_bytes;
    return *this;
  }
  /// Sets the limits of an answer's head and trailers.
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

/// The settings of a client: limits and numbers of connections.
class http_client_settings {
 public:
  http_client_settings() = default;

  /// Sets the limits of requests without their own.
  http_client_settings& limits(const http_limits& each) {
    limits_ = each;
    return *this;
  }
  /// Sets the maximum number of connections, including idle ones; further requests wait. Streams that `upgrade` has
  /// returned do not count. Default 64; at least 1.
  http_client_settings& connections(std::size_t max_connections) {
    if (max_connections == 0) throw error(exec_errc::invalid_argument, "http_client: it needs at least one connection");
    connections_ = max_connections;
    return *this;
  }
  /// Sets the maximum number of idle connections that are kept. Default 8; 0: none.
  http_client_settings& idle_connections(std::size_t max_connections) {
    idle_connections_ = max_connections;
    return *this;
  }
  /// Sets the maximum idle time of a connection that is used again. Default 240 s: the Docker daemon closes at 300 s.
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
