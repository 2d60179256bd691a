// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/net/detail/connect.hpp>
#include <cofferdam/net/detail/tls_stream.hpp>
#include <cofferdam/net/proxy.hpp>
#include <cofferdam/net/transport.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline v0 {

/// Whom to trust, and how to show who we are. As it is made: the system's roots, no client certificate, TLS 1.2 or newer,
/// the peer's certificate and its name are verified.
class tls_settings {
 public:
  tls_settings() = default;

  /// Trusts these certificates instead of the system's. \param pem  one or more certificates, PEM.
  tls_settings& trust(std::string pem) & {
    trusted_ = detail::pem_source(std::move(pem), false);
    return *this;
  }
  tls_settings&& trust(std::string pem) && { return std::move(trust(std::move(pem))); }
  /// Trusts the certificates in this file instead of the system's. \param path  PEM; read when the connector is made.
  tls_settings& trust_file(std::string path) & {
    trusted_ = detail::pem_source(std::move(path), true);
    return *this;
  }
  tls_settings&& trust_file(std::string path) && { return std::move(trust_file(std::move(path))); }

  /// Shows this certificate to a peer that asks for one.
  /// \param chain  the certificate and those between it and the root, PEM.
  /// \param key    its private key, PEM, not encrypted.
  tls_settings& certificate(std::string chain, std::string key) & {
    chain_ = detail::pem_source(std::move(chain), false);
    key_ = detail::pem_source(std::move(key), false);
    return *this;
  }
  tls_settings&& certificate(std::string chain, std::string key) && {
    return std::move(certificate(std::move(chain), std::move(key)));
  }
  /// The same from files, read when the connector is made.
  tls_settings& certificate_files(std::string chain_path, std::string key_path) & {
    chain_ = detail::pem_source(std::move(chain_path), true);
    key_ = detail::pem_source(std::move(key_path), true);
    return *this;
  }
  tls_settings&& certificate_files(std::string chain_path, std::string key_path) && {
    return std::move(certificate_files(std::move(chain_path), std::move(key_path)));
  }

  /// Expects the peer's certificate to be for this name, and asks for it by SNI, instead of the host that is connected to.
  tls_settings& server_name(std::string name) & {
    server_name_ = std::move(name);
    return *this;
  }
  tls_settings&& server_name(std::string name) && { return std::move(server_name(std::move(name))); }

  /// Goes through a proxy to the hosts for which the rules say so. As it is made: never.
  tls_settings& through(proxy_rules rules) & {
    proxies_ = std::move(rules);
    return *this;
  }
  tls_settings&& through(proxy_rules rules) && { return std::move(through(std::move(rules))); }

  /// Takes any certificate: whoever sits on the way can read and change everything. Nothing else switches this off.
  tls_settings& insecure_without_verification() & {
    verify_ = false;
    return *this;
  }
  tls_settings&& insecure_without_verification() && { return std::move(insecure_without_verification()); }

 private:
  friend connector tls_connector(std::string host, std::uint16_t port, const tls_settings& settings);

  detail::pem_source trusted_;
  detail::pem_source chain_;
  detail::pem_source key_;
  std::string server_name_;
  proxy_rules proxies_;
  bool verify_ = true;
};

/// Connects to a host by TCP, as `tcp_connector` does, and speaks TLS there.
/// \param host      as for `tcp_connector`; the certificate has to be for it, a name or an address.
/// \param settings  read now, files too: certificates that change need a new connector.
/// \throws          error{errc::invalid_argument} that names the file, certificate or key that is of no use. Connecting
///                  throws error{errc::io_error} that names the host and the reason; `cause()` is a `net_errc`:
///                  certificate_untrusted, certificate_expired, certificate_wrong_host, client_certificate_needed,
///                  proxy_refused, ...
///                  With TLS 1.3 a missing client certificate may come out at the first read.
/// \par Cancellation  terminal.
/// \par Source      RFC 8446, RFC 5246, RFC 6125 (names), RFC 6066 (SNI).
inline connector tls_connector(std::string host, std::uint16_t port, const tls_settings& settings = tls_settings()) {
  detail::check_host(host, port);
  std::string name = detail::host_and_port(host, port, 0);
  std::string field = detail::host_and_port(host, port, 443);
  const std::string expected = settings.server_name_.empty() ? host : settings.server_name_;
  detail::check_host(expected, port);
  detail::tls_identity identity(settings.trusted_, settings.chain_, settings.key_, settings.verify_);
  std::optional<http_proxy> proxy = settings.proxies_.on_the_way_to(host, port);
  return connector(name, std::move(field),
                   detail::tls_recipe(std::move(host), port, name, expected, std::move(identity), std::move(proxy)));
}

}  // namespace cofferdam::inline v0
