// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/net/byte_stream.hpp>
#include <cofferdam/net/detail/pair_stream.hpp>

#include <asio/any_io_executor.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A copyable recipe for connections to a peer. Each call makes a new stream. Holds no socket.
///
/// `unix_connector`, `tcp_connector` and `tls_connector` make the usual connectors. A custom connector is
/// a name, the peer's `Host`, and a function.
class connector {
 public:
  /// Makes a stream within a time, or throws `error{exec_errc::io_error}`, or `error{exec_errc::cancelled}`; leaves
  /// nothing behind.
  using function = std::function<awaitable<byte_stream>(asio::any_io_executor, std::chrono::milliseconds)>;

  /// Cannot connect.
  connector() = default;
  /// \param name     the peer's name for error messages: `the socket "/var/run/docker.sock"`.
  /// \param host     the value of the field `Host`: a name, or an address with its port; no control character.
  /// \param connect  copied into every copy of this object; runs in the coroutine of the caller.
  connector(std::string name, std::string host, function connect)
      : name_(std::move(name)), host_(std::move(host)), connect_(std::move(connect)) {
    if (!connect_) throw error(exec_errc::invalid_argument, "connector: the function that connects is empty");
  }

  const std::string& name() const noexcept { return name_; }
  const std::string& host() const noexcept { return host_; }

  /// Connects.
  /// \param limit  the time limit for a usable stream; more than zero.
  awaitable<byte_stream> connect(asio::any_io_executor executor, std::chrono::milliseconds limit) const {
    if (!connect_) throw error(exec_errc::invalid_argument, "connector: there is none (default-constructed)");
    if (limit <= std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, "connect: the limit must be longer than zero");
    // the maximum that can be added to a clock's time
    constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 365);
    return connect_(std::move(executor), std::min(limit, longest));
  }

 private:
  std::string name_;
  std::string host_;
  function connect_;
};

/// Makes a connector to a Unix stream socket.
/// \param path  absolute, at most 107 bytes, no NUL.
/// \param host  the value of the field `Host`; the peer usually ignores it.
/// \throws      error{exec_errc::invalid_argument} for another path. Connecting throws error{exec_errc::io_error} whose
///              `cause()` is the system's: ENOENT (no such socket), EACCES (no permission), ECONNREFUSED (left by a
///              dead server).
/// \par Cancellation  terminal.
connector unix_connector(std::string path, std::string host = "localhost");

/// Makes a connector to a host by TCP. It tries every address in the order of the system, each with its share of the
/// remaining time. TCP_NODELAY; keep-alive probes after 30 s of silence.
/// \param host  a name, or an IPv4 or IPv6 address (without brackets); resolved for each connection.
/// \param port  not 0.
/// \throws      error{exec_errc::invalid_argument} for another host or port; connecting throws
///              error{exec_errc::io_error} with the host and the last address that was tried.
/// \par Cancellation  terminal. The wait for a name lookup ends; the system's own lookup continues until it ends by
///                    itself.
connector tcp_connector(std::string host, std::uint16_t port);

/// Makes a stream from two ends, such as a child's standard output and input.
/// \param readable  models Asio's AsyncReadStream and has `close()`; moved in.
/// \param writable  models Asio's AsyncWriteStream and has `close()`; moved in. An `asio::posix::stream_descriptor` is
///                  written without SIGPIPE and becomes non-blocking.
/// \param peer      the name of the other side for error messages.
/// \param owner     an object that must live as long, such as the child. Destroyed after both ends.
template <class Readable, class Writable, class Owner = std::nullptr_t>
  requires(std::is_object_v<Readable> && std::is_object_v<Writable> && std::is_object_v<Owner>)
byte_stream make_byte_stream(Readable readable, Writable writable, std::string peer, Owner owner = Owner()) {
  return byte_stream(std::make_unique<detail::pair_stream<Readable, Writable, Owner>>(
      std::move(readable), std::move(writable), std::move(peer), std::move(owner)));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/net/impl/transport.ipp>
#endif
