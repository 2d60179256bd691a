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

namespace cofferdam::inline COFFERDAM_ABI {

/// A source of connected peers, the counterpart of `connector`. `tcp_listener`, `unix_listener` and `tls_listener`
/// (net/tls_listener.hpp) make listeners, which listen at once.
/// \par Lifetime  the destructor closes it without waiting. Destroy it before the executor's context.
/// \par Threads   one executor.
class listener {
 public:
  using implementation = detail::listening;

  /// Holds no listener.
  listener() = default;
  explicit listener(std::unique_ptr<implementation> open) : open_(std::move(open)) {}

  /// Returns the name for error messages: `127.0.0.1:8080`, `the socket "/run/x.sock"`.
  const std::string& name() const { return get().name(); }
  /// Returns the port, also if the system has chosen it; 0 for a Unix socket.
  std::uint16_t port() const { return get().port(); }
  /// Returns true if this is TCP and only this machine can reach it.
  bool is_loopback() const { return get().is_loopback(); }

  /// Waits for the next peer. One call at a time. For TLS, the first read of the stream makes the handshake.
  /// \throws error{exec_errc::io_error} with the system's code; it goes on listening unless it was closed.
  /// \par Cancellation  terminal: throws error{exec_errc::cancelled}.
  awaitable<byte_stream> accept() { return get().accept(); }

  /// Accepts no more peers, and removes a socket from the file system. Accepted streams stay open.
  void close() noexcept {
    if (open_) open_->close();
  }

 private:
  implementation& get() const {
    if (!open_) throw error(exec_errc::invalid_argument, "listener: there is none (default-constructed or moved from)");
    return *open_;
  }

  std::unique_ptr<implementation> open_;
};

/// Listens for TCP, with TCP_NODELAY.
/// \param address  an IPv4 or IPv6 address (without brackets) of this machine: `127.0.0.1`, `::1`. `0.0.0.0` and `::`
///                 accept connections from the network.
/// \param port     0: any free port; `port()` returns it.
/// \throws         error{exec_errc::invalid_argument} for another address; error{exec_errc::io_error} whose `cause()`
///                 is the system's: EADDRINUSE, EACCES, EADDRNOTAVAIL.
listener tcp_listener(const asio::any_io_executor& executor, const std::string& address, std::uint16_t port);

/// Listens on a Unix stream socket to which only this user may connect (mode 0600). Replaces the socket of a dead
/// server. Removes the file at the end, unless it was replaced.
/// \param path  absolute, at most 107 bytes, no NUL; its folder exists.
/// \throws      error{exec_errc::invalid_argument} for another path; error{exec_errc::already_exists} if another server
///              listens there, or if the file is not a socket; error{exec_errc::io_error} with the system's code.
listener unix_listener(const asio::any_io_executor& executor, const std::string& path);

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/net/impl/listener.ipp>
#endif
