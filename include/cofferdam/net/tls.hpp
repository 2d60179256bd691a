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
class tls_connectors;
connector tls_connector(std::string host, std::uint16_t port, const tls_settings& settings);
}  // namespace detail

/// The TLS settings of a client. By default, the system's root certificates are trusted, there is no client
/// certificate, TLS 1.2 is the oldest accepted version, and the peer's certificate and host name are verified.
class tls_settings {
 public:
  tls_settings() = default;

  /// Trusts these certificates instead of the system's root certificates.
  /// \param pem  one or more certificates, in PEM form.
  tls_settings& trust(std::string pem) {
    trusted_ = detail::pem_source(std::move(pem), false);
    return *this;
  }
  /// Trusts the certificates in this file instead of the system's root certificates.
  /// \param path  a PEM file of at most 1 MiB. It is read when the connector is made.
  tls_settings& trust_file(std::string path) {
    trusted_ = detail::pem_source(std::move(path), true);
    return *this;
  }

  /// Sets the client certificate, for peers that require one.
  /// \param chain  the certificate, followed by the intermediate certificates, in PEM form.
  /// \param key    the private key of the certificate, in PEM form, not encrypted.
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

  /// Sets the name for which the peer's certificate must be valid, and which is sent as SNI. Default: the name of the
  /// host.
  tls_settings& server_name(std::string name) {
    server_name_ = std::move(name);
    return *this;
  }

  /// Sets the rules that choose between a proxy and a direct connection. Default: always direct.
  tls_settings& through(proxy_rules rules) {
    proxies_ = std::move(rules);
    return *this;
  }

  /// Disables the verification of the peer's certificate. An attacker on the network can then read and change all data.
  /// No other setting disables it.
  tls_settings& insecure_without_verification() {
    verify_ = false;
    return *this;
  }

 private:
  friend class detail::tls_connectors;
  friend detail::connector detail::tls_connector(std::string host, std::uint16_t port, const tls_settings& settings);

  detail::pem_source trusted_;
  detail::pem_source chain_;
  detail::pem_source key_;
  std::string server_name_;
  proxy_rules proxies_;
  bool verify_ = true;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
