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

/// The certificate of a server. TLS 1.2 or newer; clients need no certificate.
class tls_server_settings {
 public:
  tls_server_settings() = default;

  /// Sets the certificate.
  /// \param chain  the certificate and the intermediate certificates up to the root, PEM.
  /// \param key    its private key, PEM, not encrypted.
  tls_server_settings& certificate(std::string chain, std::string key) {
    chain_ = detail::pem_source(std::move(chain), false);
    key_ = detail::pem_source(std::move(key), false);
    return *this;
  }
  /// Sets the certificate from files, which are read when the listener is made.
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

/// Listens for TCP, as `tcp_listener` does, with TLS. The first read of a stream makes the handshake, so that the time
/// limits of the reader apply to it; a failed handshake is an error of that read.
/// \param settings  read now, including files: a changed certificate needs a new listener.
/// \throws          as `tcp_listener`; error{exec_errc::invalid_argument} without a certificate, or with the unusable
///                  file, certificate or key.
/// \par Source      RFC 8446, RFC 5246.
listener tls_listener(const asio::any_io_executor& executor, const std::string& address, std::uint16_t port,
                      const tls_server_settings& settings);

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/net/impl/tls_listener.ipp>
#endif
