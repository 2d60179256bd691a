// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/net/detail/pem_source.hpp>
#include <cofferdam/net/proxy.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

class tls_settings;

namespace detail {
class connector;
connector tls_connector(std::string host, std::uint16_t port, const tls_settings& settings);
}  // namespace detail

/// The trusted certificates and the client certificate. Default: the system's roots, no client certificate, TLS 1.2 or
/// newer, verification of the peer's certificate and name.
class tls_settings {
 public:
  tls_settings() = default;

  /// Trusts these certificates instead of the system's.
  /// \param pem  one or more certificates, PEM.
  tls_settings& trust(std::string pem) {
    trusted_ = detail::pem_source(std::move(pem), false);
    return *this;
  }
  /// Trusts the certificates in this file instead of the system's.
  /// \param path  PEM; read when the connector is made.
  tls_settings& trust_file(std::string path) {
    trusted_ = detail::pem_source(std::move(path), true);
    return *this;
  }

  /// Sets the client certificate, for peers that require one.
  /// \param chain  the certificate and the intermediate certificates up to the root, PEM.
  /// \param key    its private key, PEM, not encrypted.
  tls_settings& certificate(std::string chain, std::string key) {
    chain_ = detail::pem_source(std::move(chain), false);
    key_ = detail::pem_source(std::move(key), false);
    return *this;
  }
  /// Sets the client certificate from files, which are read when the connector is made.
  tls_settings& certificate_files(std::string chain_path, std::string key_path) {
    chain_ = detail::pem_source(std::move(chain_path), true);
    key_ = detail::pem_source(std::move(key_path), true);
    return *this;
  }

  /// Expects a certificate for this name, and sends this name by SNI, instead of the name of the host.
  tls_settings& server_name(std::string name) {
    server_name_ = std::move(name);
    return *this;
  }

  /// Connects through a proxy if the rules require it. Default: never.
  tls_settings& through(proxy_rules rules) {
    proxies_ = std::move(rules);
    return *this;
  }

  /// Accepts any certificate: an attacker on the network can then read and change everything. No other setting switches
  /// the verification off.
  tls_settings& insecure_without_verification() {
    verify_ = false;
    return *this;
  }

 private:
  friend detail::connector detail::tls_connector(std::string host, std::uint16_t port, const tls_settings& settings);

  detail::pem_source trusted_;
  detail::pem_source chain_;
  detail::pem_source key_;
  std::string server_name_;
  proxy_rules proxies_;
  bool verify_ = true;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
