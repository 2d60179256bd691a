// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/base64.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/net/port_number.hpp>

#include <asio/ip/address.hpp>
#include <asio/ip/network_v4.hpp>
#include <asio/ip/network_v6.hpp>

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// An HTTP proxy that makes tunnels (`CONNECT`): what goes through is TLS, of which it sees only the host's name.
class http_proxy {
 public:
  http_proxy() = default;

  /// \param url      `http://[USER:PASSWORD@]HOST[:PORT]`, or without `http://`; user and password percent-encoded. The port
  ///                 is 80 where none is said.
  /// \param setting  which option or variable it comes from, for the sentence.
  /// \throws error{errc::invalid_argument} for anything else; the sentence does not show the URL: a password may be in it.
  static http_proxy parse(std::string_view url, std::string_view setting) {
    const auto wrong = [&](const char* why) {
      return error(errc::invalid_argument, std::string(setting) + " is no proxy that can be used: " + why);
    };
    const std::string whole =
        url.find("://") == std::string_view::npos ? "http://" + std::string(url) : std::string(url);
    const auto parsed = boost::urls::parse_uri(whole);
    if (!parsed) throw wrong("write it as http://HOST:PORT");
    const boost::urls::url_view& all = *parsed;
    if (all.scheme_id() != boost::urls::scheme::http)
      throw wrong("only http:// proxies are spoken to; what goes through them is encrypted all the same");
    if (all.has_query() || all.has_fragment() || (!all.encoded_path().empty() && all.encoded_path() != "/"))
      throw wrong("there is more in it than a host and a port");
    http_proxy made;
    made.host_ = all.host_address();
    if (made.host_.empty()) throw wrong("it has no host");
    if (all.has_port() && !all.port().empty()) {
      const auto port = all.port();
      const std::optional<std::uint16_t> number = detail::port_number(std::string_view(port.data(), port.size()));
      if (!number) throw wrong("its port is not a number from 1 to 65535");
      made.port_ = *number;
    }
    if (all.has_userinfo())
      made.authorization_ =
          "Basic " + base64_encode(as_bytes(std::string(all.user()) + ":" + std::string(all.password())));
    return made;
  }

  /// A name or an address, without brackets.
  const std::string& host() const noexcept { return host_; }
  std::uint16_t port() const noexcept { return port_; }
  /// What `Proxy-Authorization` has to say: a secret. Empty where there is no user.
  const std::string& authorization() const noexcept { return authorization_; }

 private:
  std::string host_;
  std::string authorization_;
  std::uint16_t port_ = 80;
};

/// Which hosts are reached through a proxy: what the variables HTTPS_PROXY and NO_PROXY say. A value.
///
/// This machine itself (`localhost`, 127.0.0.0/8, ::1) is always reached directly.
class proxy_rules {
 public:
  /// Everything is reached directly.
  proxy_rules() = default;

  /// \param proxy       as `http_proxy::parse` takes it; empty: none.
  /// \param exceptions  what is reached directly, commas or blanks between: `example.com` (and what ends in `.example.com`;
  ///                    a dot or `*.` before it changes nothing), `example.com:8443`, `10.1.2.3`, `10.0.0.0/8`, `::1`, or `*`
  ///                    for everything. What is none of these is matched by nothing.
  /// \throws error{errc::invalid_argument} for a proxy that is none.
  explicit proxy_rules(std::string_view proxy, std::string_view exceptions = {},
                       std::string_view setting = "HTTPS_PROXY") {
    if (proxy.empty()) return;
    proxy_ = http_proxy::parse(proxy, setting);
    while (!exceptions.empty()) {
      const std::size_t end = std::min(exceptions.find_first_of(", \t"), exceptions.size());
      if (end > 0) exceptions_.push_back(exception_of(exceptions.substr(0, end)));
      exceptions.remove_prefix(std::min(end + 1, exceptions.size()));
    }
  }

  /// The proxy to go through to this host; nothing: go there directly.
  std::optional<http_proxy> on_the_way_to(std::string_view host, std::uint16_t port) const {
    if (!proxy_) return std::nullopt;
    const std::string name = plain(host);
    std::error_code no_address;
    const asio::ip::address address = asio::ip::make_address(name, no_address);
    if (name == "localhost" || name.ends_with(".localhost") || (!no_address && address.is_loopback()))
      return std::nullopt;
    const bool excepted = std::any_of(exceptions_.begin(), exceptions_.end(), [&](const exception& one) {
      if (one.port != 0 && one.port != port) return false;
      if (one.name.empty()) return false;
      if (one.name == "*") return true;
      if (!no_address) return contains(one.name, address);
      return name == one.name || (name.size() > one.name.size() && name.ends_with(one.name) &&
                                  name[name.size() - one.name.size() - 1] == '.');
    });
    if (excepted) return std::nullopt;
    return proxy_;
  }

 private:
  class exception {
   public:
    std::string name;  // in small letters
    std::uint16_t port = 0;
  };

  static std::string plain(std::string_view host) {
    if (host.ends_with('.')) host.remove_suffix(1);
    std::string name(host);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return name;
  }

  static exception exception_of(std::string_view text) {
    exception made;
    const std::size_t colon = text.rfind(':');
    const bool has_port = colon != std::string_view::npos && (text.find(':') == colon || text[colon - 1] == ']');
    if (has_port) {
      const std::optional<std::uint16_t> number = detail::port_number(text.substr(colon + 1));
      if (!number) return made;  // matches nothing
      made.port = *number;
      text = text.substr(0, colon);
    }
    if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
    if (text.starts_with("*.")) text.remove_prefix(2);
    if (text.starts_with('.')) text.remove_prefix(1);
    made.name = plain(text);
    return made;
  }

  static bool contains(const std::string& rule, const asio::ip::address& address) {
    std::error_code failure;
    const asio::ip::address same = asio::ip::make_address(rule, failure);
    if (!failure) return same == address;
    failure.clear();
    if (address.is_v4()) {
      const asio::ip::network_v4 network = asio::ip::make_network_v4(rule, failure);
      return !failure &&
             asio::ip::network_v4(address.to_v4(), network.prefix_length()).canonical() == network.canonical();
    }
    const asio::ip::network_v6 network = asio::ip::make_network_v6(rule, failure);
    return !failure &&
           asio::ip::network_v6(address.to_v6(), network.prefix_length()).canonical() == network.canonical();
  }

  std::optional<http_proxy> proxy_;
  std::vector<exception> exceptions_;
};

}  // namespace cofferdam::inline v0
