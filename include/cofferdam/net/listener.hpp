// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/net/byte_stream.hpp>
#include <cofferdam/net/detail/listening.hpp>

#include <asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline v0 {

/// Where peers come from: `connector`'s other side. `tcp_listener`, `unix_listener` and `tls_listener`
/// (net/tls_listener.hpp) make one; it listens from then on.
/// \par Lifetime  destroying it closes it, which needs no waiting; before the executor's context.
/// \par Threads   one executor.
class listener {
 public:
  using implementation = detail::listening;

  /// Listens nowhere.
  listener() = default;
  explicit listener(std::unique_ptr<implementation> open) : open_(std::move(open)) {}

  /// How sentences call it: `127.0.0.1:8080`, `the socket "/run/x.sock"`.
  const std::string& name() const { return get().name(); }
  /// The port that peers connect to, also where any free one was asked for; 0 for a Unix socket.
  std::uint16_t port() const { return get().port(); }
  /// Whether it is TCP and only this machine reaches it.
  bool is_loopback() const { return get().is_loopback(); }

  /// Waits for the next peer. One at a time. Over TLS the handshake is made by the first read.
  /// \throws error{errc::io_error} with the system's code; it goes on listening unless it was closed.
  /// \par Cancellation  terminal: throws error{errc::cancelled}.
  awaitable<byte_stream> accept() { return get().accept(); }

  /// Takes no more peers; a socket in the file system is removed. Streams that were accepted live on.
  void close() noexcept {
    if (open_) open_->close();
  }

 private:
  implementation& get() const {
    if (!open_) throw error(errc::invalid_argument, "listener: there is none (default-constructed or moved from)");
    return *open_;
  }

  std::unique_ptr<implementation> open_;
};

/// Listens for TCP. No delay of small writes.
/// \param address  an IPv4 or IPv6 address (without brackets) of this machine: `127.0.0.1`, `::1`. `0.0.0.0` and `::` let
///                 the network in.
/// \param port     0: any free one, which `port()` tells.
/// \throws         error{errc::invalid_argument} for another address; error{errc::io_error} whose `cause()` is the
///                 system's: EADDRINUSE, EACCES, EADDRNOTAVAIL.
inline listener tcp_listener(const asio::any_io_executor& executor, const std::string& address, std::uint16_t port) {
  return listener(std::make_unique<detail::tcp_listening>(executor, address, port));
}

/// Listens on a Unix stream socket that only this user may connect to (mode 0600). A socket that a dead server has left
/// is replaced; the file is removed at the end, if it is still this one.
/// \param path  absolute, at most 107 bytes, no NUL; its folder exists.
/// \throws      error{errc::invalid_argument} for another path; error{errc::already_exists} where somebody listens there,
///              or where something else stands; error{errc::io_error} with the system's code.
inline listener unix_listener(const asio::any_io_executor& executor, const std::string& path) {
  return listener(std::make_unique<detail::unix_listening>(executor, path));
}

}  // namespace cofferdam::inline v0
