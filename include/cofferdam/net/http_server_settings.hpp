// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/http_parser.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// What a server takes from its clients, for how long it waits for them, and whom it believes to be addressed.
///
/// Every limit of time is more than zero and at most a year; `error{errc::invalid_argument}` for another.
class http_server_settings {
 public:
  /// Told what a handler threw, with the request's head; the client hears nothing of it but 500. Must not throw.
  using error_handler = std::function<void(const http_request_head&, std::exception_ptr)>;

  http_server_settings() = default;

  /// Of a request's head and trailers: 431, 414 for the first line. 64 KiB and 256 fields as it is made.
  http_server_settings& parser(const http_parser_limits& limits) & {
    parser_ = limits;
    return *this;
  }
  http_server_settings&& parser(const http_parser_limits& limits) && { return std::move(parser(limits)); }
  /// Bytes of a request's body, unless a handler allows another number: 413. 16 MiB as it is made.
  http_server_settings& body(std::uint64_t most) & {
    body_ = most;
    return *this;
  }
  http_server_settings&& body(std::uint64_t most) && { return std::move(body(most)); }
  /// Bytes of a body that a handler left unread which are taken and thrown away to keep the connection; with more it is
  /// closed. 256 KiB as it is made.
  http_server_settings& drained(std::uint64_t most) & {
    drained_ = most;
    return *this;
  }
  http_server_settings&& drained(std::uint64_t most) && { return std::move(drained(most)); }
  /// Connections at the same time, over all listeners. 256 as it is made; at least 1. The next one makes the server close
  /// the connection that has waited longest for a request (a new one has a second for its first), and waits itself while
  /// there is none.
  http_server_settings& connections(std::size_t most) & {
    if (most == 0) throw error(errc::invalid_argument, "http_server: it needs at least one connection");
    connections_ = most;
    return *this;
  }
  http_server_settings&& connections(std::size_t most) && { return std::move(connections(most)); }

  /// From the first byte of a request, on a new connection from its beginning, to the end of the head: 408. 30 s as it is
  /// made. Also for all that is drained of a body.
  http_server_settings& head_time(std::chrono::milliseconds most) & { return set(head_time_, most); }
  http_server_settings&& head_time(std::chrono::milliseconds most) && { return std::move(set(head_time_, most)); }
  /// Between two pieces of a body while a handler waits for one: 408. 60 s as it is made.
  http_server_settings& body_time(std::chrono::milliseconds most) & { return set(body_time_, most); }
  http_server_settings&& body_time(std::chrono::milliseconds most) && { return std::move(set(body_time_, most)); }
  /// While a reply is sent, for each 64 KiB to be taken by the client's side; a slower one is closed. 60 s as it is made.
  http_server_settings& write_time(std::chrono::milliseconds most) & { return set(write_time_, most); }
  http_server_settings&& write_time(std::chrono::milliseconds most) && { return std::move(set(write_time_, most)); }
  /// Between two requests, then the connection is closed. 75 s as it is made.
  http_server_settings& idle_time(std::chrono::milliseconds most) & { return set(idle_time_, most); }
  http_server_settings&& idle_time(std::chrono::milliseconds most) && { return std::move(set(idle_time_, most)); }
  /// For a handler; then it is cancelled, the client gets 503 if nothing was sent, and the connection is closed. None as
  /// it is made.
  http_server_settings& request_time(std::optional<std::chrono::milliseconds> most) & {
    std::chrono::milliseconds checked{1};
    set(checked, most.value_or(checked));
    request_time_ = most;
    return *this;
  }
  http_server_settings&& request_time(std::optional<std::chrono::milliseconds> most) && {
    return std::move(request_time(most));
  }
  /// For the handlers that run when `stop` is called; then they are cancelled. 10 s as it is made.
  http_server_settings& stop_time(std::chrono::milliseconds most) & { return set(stop_time_, most); }
  http_server_settings&& stop_time(std::chrono::milliseconds most) && { return std::move(set(stop_time_, most)); }

  /// The hosts that requests may name: 421 for another one, or none. As it is made: `localhost`, `127.0.0.1` and `[::1]`
  /// for a listener that only this machine reaches by TCP; any host for others, so name them there. This is what keeps a web page, whose name
  /// was made to point here (DNS rebinding), from speaking to the server with a browser's hands.
  /// \param hosts  names or addresses (IPv6 in brackets) without a port, which allows every port, or with one.
  ///               `*` alone allows every host.
  http_server_settings& allowed_hosts(std::vector<std::string> hosts) & {
    if (hosts.empty()) throw error(errc::invalid_argument, "http_server: without an allowed host nobody is served");
    hosts_ = std::move(hosts);
    return *this;
  }
  http_server_settings&& allowed_hosts(std::vector<std::string> hosts) && {
    return std::move(allowed_hosts(std::move(hosts)));
  }
  /// The origins of web pages that may send requests: 403 for another one, `null` too. As it is made: any port of the
  /// host that is asked, and of those that are allowed by name. A request without an `Origin` is no web page's.
  /// \param origins  `https://app.example`, compared as a whole, case aside; empty: no page at all. `*` alone allows every
  ///                 page in the world.
  http_server_settings& allowed_origins(std::vector<std::string> origins) & {
    origins_ = std::move(origins);
    return *this;
  }
  http_server_settings&& allowed_origins(std::vector<std::string> origins) && {
    return std::move(allowed_origins(std::move(origins)));
  }
  /// Whom to tell what a handler threw. Nobody as it is made.
  http_server_settings& on_error(error_handler told) & {
    on_error_ = std::move(told);
    return *this;
  }
  http_server_settings&& on_error(error_handler told) && { return std::move(on_error(std::move(told))); }

  const http_parser_limits& parser() const noexcept { return parser_; }
  std::uint64_t body() const noexcept { return body_; }
  std::uint64_t drained() const noexcept { return drained_; }
  std::size_t connections() const noexcept { return connections_; }
  std::chrono::milliseconds head_time() const noexcept { return head_time_; }
  std::chrono::milliseconds body_time() const noexcept { return body_time_; }
  std::chrono::milliseconds write_time() const noexcept { return write_time_; }
  std::chrono::milliseconds idle_time() const noexcept { return idle_time_; }
  std::optional<std::chrono::milliseconds> request_time() const noexcept { return request_time_; }
  std::chrono::milliseconds stop_time() const noexcept { return stop_time_; }
  const std::optional<std::vector<std::string>>& allowed_hosts() const noexcept { return hosts_; }
  const std::optional<std::vector<std::string>>& allowed_origins() const noexcept { return origins_; }
  const error_handler& on_error() const noexcept { return on_error_; }

 private:
  http_server_settings& set(std::chrono::milliseconds& which, std::chrono::milliseconds most) {
    if (most <= std::chrono::milliseconds::zero() || most > std::chrono::hours(24 * 365))
      throw error(errc::invalid_argument, "http_server_settings: a time limit is more than zero and at most a year");
    which = most;
    return *this;
  }

  http_parser_limits parser_;
  std::uint64_t body_ = std::uint64_t{16} * 1024 * 1024;
  std::uint64_t drained_ = std::uint64_t{256} * 1024;
  std::size_t connections_ = 256;
  std::chrono::milliseconds head_time_{30'000};
  std::chrono::milliseconds body_time_{60'000};
  std::chrono::milliseconds write_time_{60'000};
  std::chrono::milliseconds idle_time_{75'000};
  std::optional<std::chrono::milliseconds> request_time_;
  std::chrono::milliseconds stop_time_{10'000};
  std::optional<std::vector<std::string>> hosts_;
  std::optional<std::vector<std::string>> origins_;
  error_handler on_error_;
};

}  // namespace cofferdam::inline v0
