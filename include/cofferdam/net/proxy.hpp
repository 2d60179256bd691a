// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// An HTTP proxy that opens tunnels (`CONNECT`). The traffic through a tunnel is encrypted by TLS: the proxy sees only
/// the host's name and port.
class http_proxy {
 public:
  http_proxy() = default;

  /// Parses the URL of a proxy.
  /// \param url      `http://[USER:PASSWORD@]HOST[:PORT]`, with or without `http://`. User and password are
  ///                 percent-encoded. Default port: 80.
  /// \param setting  the name of the option or environment variable that contains the URL, for the error message.
  /// \throws error{exec_errc::invalid_argument} for any other URL. The message does not show the URL, which may contain
  ///     a password.
  static http_proxy parse(std::string_view url, std::string_view setting);

  /// Returns the proxy's host name or IP address, without brackets.
  const std::string& host() const noexcept { return host_; }
  /// Returns the proxy's port.
  std::uint16_t port() const noexcept { return port_; }
  /// Returns the value of the `Proxy-Authorization` field, which is secret; empty if the URL has no user.
  const std::string& authorization() const noexcept { return authorization_; }

 private:
  std::string host_;
  std::string authorization_;
  std::uint16_t port_ = 80;
};

/// Rules that choose between a proxy and a direct connection, usually made from the environment variables HTTPS_PROXY
/// and NO_PROXY. A value type.
///
/// Connections to this machine itself (`localhost`, 127.0.0.0/8, ::1) never use the proxy.
class proxy_rules {
 public:
  /// Constructs rules without a proxy: every connection is direct.
  proxy_rules() = default;

  /// \param proxy       the URL of the proxy, as for `http_proxy::parse`; empty means no proxy.
  /// \param exceptions  hosts to connect to directly, separated by commas or blanks. `example.com` also covers all
  ///                    names that end in `.example.com`, and may be written `.example.com` or `*.example.com`. Other
  ///                    forms: `example.com:8443`, `10.1.2.3`, `10.0.0.0/8`, `::1`, and `*` for every host. An entry of
  ///                    any other form matches no host.
  /// \param setting     the name of the environment variable that contains `proxy`, for the error message.
  /// \throws error{exec_errc::invalid_argument} if `proxy` is not a valid URL.
  explicit proxy_rules(std::string_view proxy, std::string_view exceptions = {},
                       std::string_view setting = "HTTPS_PROXY");

  /// Returns the proxy for connections to this host and port; no value means a direct connection.
  std::optional<http_proxy> on_the_way_to(std::string_view host, std::uint16_t port) const;

 private:
  class exception {
   public:
    std::string name;  // in lower case; "*" matches every host, "" matches none
    std::uint16_t port = 0;
  };

  static std::string plain(std::string_view host);
  static exception exception_of(std::string_view text);

  std::optional<http_proxy> proxy_;
  std::vector<exception> exceptions_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/net/impl/proxy.ipp>
#endif
