// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/tls.hpp>

#include <cstdint>
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

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/net/impl/tls_connector.ipp>
#endif
