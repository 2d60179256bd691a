// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/listening.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// A listening socket that accepts connections, the counterpart of `connector`. `tcp_listener` and `unix_listener`
/// (net/listener.hpp) and `tls_listener` (net/tls_listener.hpp) make listeners on this machine. `guest_network::listen`
/// makes listeners in a sandbox. A listener listens from its construction on.
/// \par Lifetime  the destructor closes the listener without waiting. Destroy the listener before the executor's
///                context.
/// \par Threads   use the listener only on the executor for which it was made.
class listener {
 public:
  /// The interface that every kind of listener implements.
  using implementation = detail::listening;

  /// Constructs an object without a listener. Every operation except `close` throws
  /// `error{exec_errc::invalid_argument}`.
  listener() = default;
  /// Takes ownership of an open listener.
  explicit listener(std::unique_ptr<implementation> open) : open_(std::move(open)) {}

  /// Returns the address for error messages, for example `127.0.0.1:8080` or `the socket "/run/x.sock"`.
  const std::string& name() const { return get().name(); }
  /// Returns the TCP port, also if the system has chosen it; 0 for a Unix socket.
  std::uint16_t port() const { return get().port(); }
  /// Returns true if this is a TCP listener on a loopback address, which only this machine can reach.
  bool is_loopback() const { return get().is_loopback(); }

  /// Waits for the next connection. At most one call at a time. With TLS, the handshake takes place in the first read
  /// of the returned stream.
  /// \throws error{exec_errc::io_error} with the system's error code. The listener stays open, unless `close` was
  ///     called.
  /// \par Cancellation  terminal: throws error{exec_errc::cancelled}.
  awaitable<byte_stream> accept() { return get().accept(); }

  /// Accepts no more connections, and removes the file of a Unix socket. Accepted streams stay open.
  void close() noexcept {
    if (open_) open_->close();
  }

 private:
  implementation& get() const {
    if (!open_)
      throw error(exec_errc::invalid_argument,
                  "listener: not open (default-constructed or moved from); call listen() first");
    return *open_;
  }

  std::unique_ptr<implementation> open_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
