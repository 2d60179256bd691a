// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/tls.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Makes a connector to a host by TCP, as `tcp_connector` does, with TLS.
/// \param host      a name, or an IPv4 or IPv6 address without brackets. The server's certificate must be valid for
///                  this name or address.
/// \param port      not 0.
/// \param settings  certificate files are read during this call, so changed certificates need a new connector.
/// \throws          error{exec_errc::invalid_argument} if a file, a certificate or a key is unusable; the message names
///                  it. Connecting throws error{exec_errc::io_error} with the host and the reason; its `cause()` is a
///                  `net_errc`: certificate_untrusted, certificate_expired, certificate_wrong_host,
///                  client_certificate_needed, proxy_refused, ... With TLS 1.3, only the first read may report that the
///                  server requires a client certificate.
/// \par Cancellation  terminal.
/// \par Source      RFC 8446, RFC 5246, RFC 6125 (names), RFC 6066 (SNI).
connector tls_connector(std::string host, std::uint16_t port, const tls_settings& settings = tls_settings());

class tls_identity;

/// Makes connectors to many servers by the same settings. The certificates are read once.
class tls_connectors {
 public:
  /// \param settings  its server name and its proxies are not used.
  /// \throws error{exec_errc::invalid_argument} as `tls_connector` does.
  explicit tls_connectors(const tls_settings& settings);

  /// Makes a connector, always direct.
  /// \param host         a name, or an IPv4 or IPv6 address without brackets.
  /// \param server_name  the name or the address for which the server's certificate must be valid.
  connector to(std::string host, std::uint16_t port, const std::string& server_name) const;

 private:
  std::shared_ptr<const tls_identity> identity_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/net/impl/tls_connector.ipp>
#endif
