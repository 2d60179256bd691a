// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/net/detail/tls_listening.hpp>
#include <cofferdam/net/detail/tls_stream.hpp>
#include <cofferdam/net/listener.hpp>

#include <asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline v0 {

/// How a server shows who it is. TLS 1.2 or newer; no certificate is asked of clients.
class tls_server_settings {
 public:
  tls_server_settings() = default;

  /// Shows this certificate.
  /// \param chain  the certificate and those between it and the root, PEM.
  /// \param key    its private key, PEM, not encrypted.
  tls_server_settings& certificate(std::string chain, std::string key) & {
    chain_ = detail::pem_source(std::move(chain), false);
    key_ = detail::pem_source(std::move(key), false);
    return *this;
  }
  tls_server_settings&& certificate(std::string chain, std::string key) && {
    return std::move(certificate(std::move(chain), std::move(key)));
  }
  /// The same from files, read when the listener is made.
  tls_server_settings& certificate_files(std::string chain_path, std::string key_path) & {
    chain_ = detail::pem_source(std::move(chain_path), true);
    key_ = detail::pem_source(std::move(key_path), true);
    return *this;
  }
  tls_server_settings&& certificate_files(std::string chain_path, std::string key_path) && {
    return std::move(certificate_files(std::move(chain_path), std::move(key_path)));
  }

 private:
  friend listener tls_listener(const asio::any_io_executor& executor, const std::string& address, std::uint16_t port,
                               const tls_server_settings& settings);

  detail::pem_source chain_;
  detail::pem_source key_;
};

/// Listens for TCP, as `tcp_listener` does, and speaks TLS there. The handshake is made by the first read of a stream,
/// so that the limits of whoever reads hold for it; one that fails is an error of that read.
/// \param settings  read now, files too: a certificate that changes needs a new listener.
/// \throws          as `tcp_listener`; error{errc::invalid_argument} without a certificate, and one that names the file,
///                  certificate or key that is of no use.
/// \par Source      RFC 8446, RFC 5246.
inline listener tls_listener(const asio::any_io_executor& executor, const std::string& address, std::uint16_t port,
                             const tls_server_settings& settings) {
  if (!settings.chain_.given())
    throw error(errc::invalid_argument, "tls_listener: a server needs a certificate; set certificate()");
  detail::tls_identity identity(settings.chain_, settings.key_);
  return listener(std::make_unique<detail::tls_listening>(executor, address, port, std::move(identity)));
}

}  // namespace cofferdam::inline v0
