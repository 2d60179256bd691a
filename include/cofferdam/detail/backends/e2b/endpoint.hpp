// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/tls_connector.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/tls.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// A parsed base URL: the address of a server, and the prefix of the paths of all requests to it.
class endpoint {
 public:
  endpoint() = default;

  /// Parses a base URL.
  /// \param url      such as `https://api.example.com` or `http://localhost:3000/prefix`. It must not contain a query,
  ///                 a fragment, a user or a password.
  /// \param setting  the name of the option or environment variable that contains the URL, for the error message.
  /// \throws error{exec_errc::invalid_argument} for any other text. The message does not contain the URL, because a
  ///     password may be in it.
  static endpoint parse(std::string_view url, std::string_view setting);

  bool is_tls() const noexcept { return tls_; }
  /// Returns the host name or the IP address. An IPv6 address has no brackets.
  const std::string& host() const noexcept { return host_; }
  std::uint16_t port() const noexcept { return port_; }
  /// Returns the prefix of the path of every request: empty, or of the form `/something`.
  const std::string& prefix() const noexcept { return prefix_; }
  /// Returns true if the host is this machine.
  bool is_loopback() const {
    return host_ == "localhost" || host_ == "::1" || host_.starts_with("127.") || host_.ends_with(".localhost");
  }

  /// Returns `https://host:port/prefix`, for error messages and signed URLs.
  std::string text() const {
    std::string result = tls_ ? "https://" : "http://";
    result += host_.find(':') == std::string::npos ? host_ : "[" + host_ + "]";
    if (port_ != (tls_ ? 443 : 80)) result += ":" + std::to_string(port_);
    return result + prefix_;
  }

  /// Returns a connector that opens connections to this address.
  /// \param settings  the TLS settings; not used for `http://`.
  cofferdam::detail::connector reach(const tls_settings& settings) const {
    if (tls_) return cofferdam::detail::tls_connector(host_, port_, settings);
    return cofferdam::detail::tcp_connector(host_, port_);
  }

 private:
  std::string host_;
  std::string prefix_;
  std::uint16_t port_ = 443;
  bool tls_ = true;
};

/// Returns true if the id of a sandbox has 1 to 100 letters, digits, `-` and `_`. Other characters are not allowed,
/// because the id becomes a part of a host name and of a path.
inline bool is_sandbox_id(std::string_view id) {
  return !id.empty() && id.size() <= 100 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

/// \throws error{exec_errc::invalid_argument} for an id that is not valid.
inline void check_sandbox_id(std::string_view id) {
  if (!is_sandbox_id(id))
    throw error(exec_errc::invalid_argument, "e2b: \"" + one_line(id, 100) + "\" is not a valid id of a sandbox");
}

/// Returns the address of a port of a sandbox.
/// \param pattern  the setting `sandbox_url`, in which `{port}`, `{id}` and `{domain}` are replaced. If it is empty,
///                 the address is `https://PORT-ID.DOMAIN`, as E2B defines it.
/// \param domain   a host name, with an optional port.
/// \throws error{exec_errc::invalid_argument} for the reasons of `check_sandbox_id` and `endpoint::parse`.
/// \par Source  E2B's SDKs, ConnectionConfig.
inline endpoint sandbox_endpoint(std::string_view pattern, std::uint16_t port, const std::string& id,
                                 const std::string& domain) {
  check_sandbox_id(id);
  std::string url = pattern.empty() ? "https://{port}-{id}.{domain}" : std::string(pattern);
  const auto fill = [&url](std::string_view name, const std::string& value) {
    for (std::size_t at = url.find(name); at != std::string::npos; at = url.find(name, at + value.size()))
      url.replace(at, name.size(), value);
  };
  fill("{port}", std::to_string(port));
  fill("{id}", id);
  fill("{domain}", domain);
  return endpoint::parse(url, pattern.empty() ? "domain" : "sandbox_url (E2B_SANDBOX_URL)");
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/backends/e2b/impl/endpoint.ipp>
#endif
