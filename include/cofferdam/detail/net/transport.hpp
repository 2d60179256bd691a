// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/error.hpp>

#include <asio/any_io_executor.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The address of a peer and the function that connects to it. Each call of `connect` makes a new stream. A connector
/// is copyable and owns no socket.
///
/// `unix_connector`, `tcp_connector` and `tls_connector` make the usual connectors. A custom connector consists of a
/// name, a value for `Host`, and a function.
class connector {
 public:
  /// A function that makes a stream within a time limit. It throws `error{exec_errc::io_error}` or
  /// `error{exec_errc::cancelled}`, and must not leave a socket open in that case.
  using function = std::function<awaitable<byte_stream>(asio::any_io_executor, std::chrono::milliseconds)>;

  /// Constructs an object that cannot connect: `connect` throws `error{exec_errc::invalid_argument}`.
  connector() = default;
  /// \param name     the peer's name for error messages, for example `the socket "/var/run/docker.sock"`.
  /// \param host     the value of the `Host` field in HTTP requests: a name, or an address with its port; no control
  ///                 characters.
  /// \param connect  the function that connects. Every copy of this connector has a copy of the function. It runs in
  ///                 the coroutine of the caller.
  connector(std::string name, std::string host, function connect)
      : name_(std::move(name)), host_(std::move(host)), connect_(std::move(connect)) {
    if (!connect_) throw error(exec_errc::invalid_argument, "connector: the function that connects is empty");
  }

  const std::string& name() const noexcept { return name_; }
  const std::string& host() const noexcept { return host_; }

  /// Connects to the peer and returns the stream.
  /// \param limit  the time limit until the stream is usable; more than zero.
  awaitable<byte_stream> connect(asio::any_io_executor executor, std::chrono::milliseconds limit) const {
    if (!connect_)
      throw error(exec_errc::invalid_argument,
                  "connector: empty (default-constructed); create it for an address first");
    if (limit <= std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, "connect: the time limit must be longer than zero");
    // The clock's time must not overflow when the limit is added, so the limit is at most a year.
    constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 365);
    return connect_(std::move(executor), std::min(limit, longest));
  }

 private:
  std::string name_;
  std::string host_;
  function connect_;
};

/// Makes a connector to a Unix stream socket.
/// \param path  the path of the socket: absolute, at most 107 bytes, without NUL.
/// \param host  the value of the `Host` field in HTTP requests, which most servers on Unix sockets ignore.
/// \throws      error{exec_errc::invalid_argument} for an invalid path. Connecting throws error{exec_errc::io_error}
///              whose `cause()` is the system's error code: ENOENT (no such socket), EACCES (no permission),
///              ECONNREFUSED (the server that made the socket does not run any more), ...
/// \par Cancellation  terminal.
connector unix_connector(std::string path, std::string host = "localhost");

/// Makes a connector to a host by TCP. If the host has several addresses, they are tried in the system's order, each
/// with its share of the remaining time. The stream has TCP_NODELAY, and sends keep-alive probes after 30 s of silence.
/// \param host  a name, or an IPv4 or IPv6 address without brackets. A name is looked up for each connection.
/// \param port  not 0.
/// \throws      error{exec_errc::invalid_argument} for an invalid host or port. Connecting throws
///              error{exec_errc::io_error} with the host and the last address that was tried.
/// \par Cancellation  terminal. If a name is being looked up, the caller does not wait for the end of the lookup, which
///                    the system cannot cancel.
connector tcp_connector(std::string host, std::uint16_t port);

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/net/impl/transport.ipp>
#endif
