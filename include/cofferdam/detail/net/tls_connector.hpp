// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/tls.hpp>

#include <cstdint>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Makes a connector to a host by TCP, as `tcp_connector` does, with TLS.
/// \param host      as for `tcp_connector`; the certificate must be for this name or address.
/// \param settings  read now, including files: changed certificates need a new connector.
/// \throws          error{exec_errc::invalid_argument} with the unusable file, certificate or key. Connecting throws
///                  error{exec_errc::io_error} with the host and the reason; `cause()` is a `net_errc`:
///                  certificate_untrusted, certificate_expired, certificate_wrong_host, client_certificate_needed,
///                  proxy_refused, ... With TLS 1.3 a missing client certificate may be reported only by the first
///                  read.
/// \par Cancellation  terminal.
/// \par Source      RFC 8446, RFC 5246, RFC 6125 (names), RFC 6066 (SNI).
connector tls_connector(std::string host, std::uint16_t port, const tls_settings& settings = tls_settings());

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/net/impl/tls_connector.ipp>
#endif
