// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/net/http_parser.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>

namespace cofferdam::inline v0 {

/// What one request may take. A time limit that runs out is error{errc::io_error} with `net_errc::timed_out`, and closes
/// that connection.
class http_limits {
 public:
  http_limits() = default;

  /// For a connection that can be used: names, TCP, TLS. 5 s as it is made; more than zero.
  http_limits& connect(std::chrono::milliseconds limit) & { return set(connect_, limit); }
  http_limits&& connect(std::chrono::milliseconds limit) && { return std::move(set(connect_, limit)); }
  /// From the last progress of sending the request to the end of the answer's head. 60 s as it is made. The time that a
  /// source needs to make a piece of the body does not count.
  /// \param limit  more than zero; nothing: no limit, for what answers when it likes (`/wait`, `/events`).
  http_limits& head(std::optional<std::chrono::milliseconds> limit) & { return set(head_, limit); }
  http_limits&& head(std::optional<std::chrono::milliseconds> limit) && { return std::move(set(head_, limit)); }
  /// Between two pieces of the answer's body, while somebody reads. 60 s as it is made.
  /// \param limit  more than zero; nothing: no limit.
  http_limits& idle(std::optional<std::chrono::milliseconds> limit) & { return set(idle_, limit); }
  http_limits&& idle(std::optional<std::chrono::milliseconds> limit) && { return std::move(set(idle_, limit)); }
  /// Of a body that `request` keeps whole; a longer one is error{errc::too_large}. 16 MiB as it is made.
  http_limits& body(std::size_t most) & {
    body_ = most;
    return *this;
  }
  http_limits&& body(std::size_t most) && { return std::move(body(most)); }
  /// Of an answer's head and trailers.
  http_limits& parser(const http_parser_limits& limits) & {
    parser_ = limits;
    return *this;
  }
  http_limits&& parser(const http_parser_limits& limits) && { return std::move(parser(limits)); }

  std::chrono::milliseconds connect() const noexcept { return connect_; }
  std::optional<std::chrono::milliseconds> head() const noexcept { return head_; }
  std::optional<std::chrono::milliseconds> idle() const noexcept { return idle_; }
  std::size_t body() const noexcept { return body_; }
  const http_parser_limits& parser() const noexcept { return parser_; }

 private:
  template <class Limit>
  http_limits& set(Limit& which, std::optional<std::chrono::milliseconds> limit) {
    if (limit && *limit <= std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, "http_limits: a time limit must be longer than zero");
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

/// A client's limits, and how many connections it may have.
class http_client_settings {
 public:
  http_client_settings() = default;

  /// For requests that bring none of their own.
  http_client_settings& limits(const http_limits& each) & {
    limits_ = each;
    return *this;
  }
  http_client_settings&& limits(const http_limits& each) && { return std::move(limits(each)); }
  /// Connections at the same time, idle ones and all; more requests wait for one. Streams that `upgrade` has handed over
  /// do not count. 64 as it is made; at least 1.
  http_client_settings& connections(std::size_t most) & {
    if (most == 0) throw error(errc::invalid_argument, "http_client: it needs at least one connection");
    connections_ = most;
    return *this;
  }
  http_client_settings&& connections(std::size_t most) && { return std::move(connections(most)); }
  /// Connections that are kept for later. 8 as it is made; 0: none.
  http_client_settings& idle_connections(std::size_t most) & {
    idle_connections_ = most;
    return *this;
  }
  http_client_settings&& idle_connections(std::size_t most) && { return std::move(idle_connections(most)); }
  /// How long a connection may have been idle to be used again. 240 s as it is made: the Docker daemon closes at 300 s.
  http_client_settings& idle_time(std::chrono::milliseconds most) & {
    idle_time_ = std::min<std::chrono::milliseconds>(most, std::chrono::hours(24 * 365));
    return *this;
  }
  http_client_settings&& idle_time(std::chrono::milliseconds most) && { return std::move(idle_time(most)); }

  const http_limits& limits() const noexcept { return limits_; }
  std::size_t connections() const noexcept { return connections_; }
  std::size_t idle_connections() const noexcept { return idle_connections_; }
  std::chrono::milliseconds idle_time() const noexcept { return idle_time_; }

 private:
  http_limits limits_;
  std::size_t connections_ = 64;
  std::size_t idle_connections_ = 8;
  std::chrono::milliseconds idle_time_{240'000};
};

}  // namespace cofferdam::inline v0
