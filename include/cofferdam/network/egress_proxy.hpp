// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/network/egress_policy.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// A proxy for the connections of one environment. It decides by an `egress_policy`, and speaks HTTP/1.1 (CONNECT, and
/// requests for `http://` URLs) and SOCKS5 (CONNECT). It listens nowhere: the caller passes each connection to `serve`.
/// Copies share the policy, the certificate authority and the count of connections.
///
/// * A refused HTTP request is answered with status 403 and a sentence; a refused SOCKS5 request with code 2. A request
///   that two readers could understand differently is answered with status 400. If the host cannot be reached, the
///   status is 502, or 504 after a time limit. After each of these the connection ends.
/// * Requests for `http://` URLs are parsed, decided one by one, and written anew, each on a connection of its own.
/// * In a tunnel to port 443 a program must speak TLS, and to port 80 TLS or HTTP. On other ports it may speak
///   anything. TLS must name the host of the tunnel as its server (SNI), and HTTP as its `Host`.
/// * For rules with `header`, `methods` or `paths`, TLS ends in the proxy: the program must trust `authority_pem()`.
///   Only HTTP/1.1 is offered. The proxy verifies the certificate of the real server.
///
/// Two things remain possible. A server that sends a secret header back shows it to the program. Inside TLS that passes
/// through unread, a program can reach another host that the same server serves.
/// \par Threads  use an object and its copies on one strand, or on a context that one thread runs.
class egress_proxy {
 public:
  /// \throws error{exec_errc::io_error} if the policy needs a certificate authority and OpenSSL cannot make one.
  explicit egress_proxy(egress_policy policy);

  /// Serves one connection until it ends. Failures of the program and of hosts end the connection, and throw nothing.
  /// \param guest  the connection, with nothing read from it. It is closed in every case.
  /// \par Cancellation  terminal: closes the connections to the program and to the host, and throws
  ///                    `error{exec_errc::cancelled}`.
  /// \par Lifetime  the object may be destroyed meanwhile.
  /// \par Cost     at most 64 KiB for received bytes in each direction, and 33 KiB more for TLS that ends here.
  template <class = void>
  awaitable<void> serve(byte_stream guest) const {
    return serve_guest(std::move(guest), state_);
  }

  /// Returns the certificate that programs must trust, in PEM form; empty if the policy passes all TLS through unread.
  /// The certificate is valid for a year from the construction of the proxy.
  std::string authority_pem() const;
  /// Returns the number of connections that are being served.
  std::size_t connections() const noexcept;

 private:
  template <class = void>
  static awaitable<void> serve_guest(byte_stream guest, std::shared_ptr<detail::egress_state> state);

  std::shared_ptr<detail::egress_state> state_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/network/impl/egress_proxy.ipp>
#endif
