// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/net/detail/pem_source.hpp>
#include <cofferdam/net/listener.hpp>

#include <asio/any_io_executor.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The certificate of a TLS server. The server accepts TLS 1.2 and newer, and does not request client certificates.
class tls_server_settings {
 public:
  tls_server_settings() = default;

  /// Sets the server's certificate.
  /// \param chain  the certificate, followed by the intermediate certificates, in PEM form.
  /// \param key    the private key of the certificate, in PEM form, not encrypted.
  tls_server_settings& certificate(std::string chain, std::string key) {
    chain_ = detail::pem_source(std::move(chain), false);
    key_ = detail::pem_source(std::move(key), false);
    return *this;
  }
  /// Sets the server's certificate from PEM files, which are read when the listener is made.
  tls_server_settings& certificate_files(std::string chain_path, std::string key_path) {
    chain_ = detail::pem_source(std::move(chain_path), true);
    key_ = detail::pem_source(std::move(key_path), true);
    return *this;
  }

 private:
  friend listener tls_listener(const asio::any_io_executor& executor, const std::string& address, std::uint16_t port,
                               const tls_server_settings& settings);

  detail::pem_source chain_;
  detail::pem_source key_;
};

/// Listens for TCP connections with TLS. Takes `address` and `port` as `tcp_listener` does. The handshake takes place
/// in the first read of an accepted stream, so the time limits of the code that reads apply to the handshake. If the
/// handshake fails, that read throws.
/// \param executor  the executor for all work of the listener.
/// \param address, port  as for `tcp_listener`.
/// \param settings  the certificate, which must be set. Certificate files are read during this call, so a changed
///                  certificate needs a new listener.
/// \throws          the errors of `tcp_listener`; error{exec_errc::invalid_argument} if the certificate is absent, or
///                  if the certificate, its key or a file is unusable. The message names the unusable part.
/// \par Source      RFC 8446, RFC 5246.
listener tls_listener(const asio::any_io_executor& executor, const std::string& address, std::uint16_t port,
                      const tls_server_settings& settings);

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/net/impl/tls_listener.ipp>
#endif
