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

/// An HTTP proxy for tunnels (`CONNECT`). The traffic is TLS, of which the proxy sees only the host's name.
class http_proxy {
 public:
  http_proxy() = default;

  /// \param url      `http://[USER:PASSWORD@]HOST[:PORT]`, or without `http://`; user and password percent-encoded.
  ///                 Default port: 80.
  /// \param setting  the option or variable that it comes from, for the error message.
  /// \throws error{exec_errc::invalid_argument} for anything else. The sentence does not show the URL, which may
  ///     contain a password.
  static http_proxy parse(std::string_view url, std::string_view setting);

  /// Returns a name or an address, without brackets.
  const std::string& host() const noexcept { return host_; }
  std::uint16_t port() const noexcept { return port_; }
  /// Returns the value of `Proxy-Authorization`: a secret. Empty if there is no user.
  const std::string& authorization() const noexcept { return authorization_; }

 private:
  std::string host_;
  std::string authorization_;
  std::uint16_t port_ = 80;
};

/// The rules for the use of a proxy, from the variables HTTPS_PROXY and NO_PROXY. A value type.
///
/// This machine itself (`localhost`, 127.0.0.0/8, ::1) is always reached directly.
class proxy_rules {
 public:
  /// Reaches every host directly.
  proxy_rules() = default;

  /// \param proxy       as `http_proxy::parse` takes it; empty: none.
  /// \param exceptions  hosts to reach directly, separated by commas or blanks: `example.com` (and names that end in
  ///                    `.example.com`; a dot or `*.` before it changes nothing), `example.com:8443`, `10.1.2.3`,
  ///                    `10.0.0.0/8`, `::1`, or `*` for everything. Any other entry matches no host.
  /// \throws error{exec_errc::invalid_argument} for an invalid proxy.
  explicit proxy_rules(std::string_view proxy, std::string_view exceptions = {},
                       std::string_view setting = "HTTPS_PROXY");

  /// Returns the proxy for this host; no value: connect directly.
  std::optional<http_proxy> on_the_way_to(std::string_view host, std::uint16_t port) const;

 private:
  class exception {
   public:
    std::string name;  // in lower case
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
