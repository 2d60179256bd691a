// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/port_number.hpp>
#include <cofferdam/net/proxy.hpp>

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

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// Returns true if `rule`, an address or a network such as `10.0.0.0/8`, covers this address.
inline bool covers(const std::string& rule, const asio::ip::address& address) {
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
  return !failure && asio::ip::network_v6(address.to_v6(), network.prefix_length()).canonical() == network.canonical();
}

}  // namespace detail

COFFERDAM_DECL http_proxy http_proxy::parse(std::string_view url, std::string_view setting) {
  const auto wrong = [&](const char* why) {
    return error(exec_errc::invalid_argument, std::string(setting) + " is not a valid proxy URL: " + why);
  };
  const std::string whole = url.find("://") == std::string_view::npos ? "http://" + std::string(url) : std::string(url);
  const auto parsed = boost::urls::parse_uri(whole);
  if (!parsed) throw wrong("write it as http://HOST:PORT");
  const boost::urls::url_view& parsed_url = *parsed;
  if (parsed_url.scheme_id() != boost::urls::scheme::http)
    throw wrong("only http:// proxies are supported; traffic through them is still encrypted by TLS");
  if (parsed_url.has_query() || parsed_url.has_fragment() ||
      (!parsed_url.encoded_path().empty() && parsed_url.encoded_path() != "/"))
    throw wrong("it contains more than a host and a port");
  http_proxy result;
  result.host_ = parsed_url.host_address();
  if (result.host_.empty()) throw wrong("it has no host");
  if (parsed_url.has_port() && !parsed_url.port().empty()) {
    const auto port = parsed_url.port();
    const std::optional<std::uint16_t> number = detail::port_number(std::string_view(port.data(), port.size()));
    if (!number) throw wrong("its port is not a number from 1 to 65535");
    result.port_ = *number;
  }
  if (parsed_url.has_userinfo())
    result.authorization_ = "Basic " + detail::base64_encode(as_bytes(parsed_url.user() + ":" + parsed_url.password()));
  return result;
}

COFFERDAM_DECL proxy_rules::proxy_rules(std::string_view proxy, std::string_view exceptions, std::string_view setting) {
  if (proxy.empty()) return;
  proxy_ = http_proxy::parse(proxy, setting);
  while (!exceptions.empty()) {
    const std::size_t end = std::min(exceptions.find_first_of(", \t"), exceptions.size());
    if (end > 0) exceptions_.push_back(exception_of(exceptions.substr(0, end)));
    exceptions.remove_prefix(std::min(end + 1, exceptions.size()));
  }
}

COFFERDAM_DECL std::optional<http_proxy> proxy_rules::on_the_way_to(std::string_view host, std::uint16_t port) const {
  if (!proxy_) return std::nullopt;
  const std::string name = plain(host);
  std::error_code no_address;
  const asio::ip::address address = asio::ip::make_address(name, no_address);
  if (name == "localhost" || name.ends_with(".localhost") || (!no_address && address.is_loopback()))
    return std::nullopt;
  const bool excepted = std::any_of(exceptions_.begin(), exceptions_.end(), [&](const exception& rule) {
    if (rule.port != 0 && rule.port != port) return false;
    if (rule.name.empty()) return false;
    if (rule.name == "*") return true;
    if (!no_address) return detail::covers(rule.name, address);
    return name == rule.name || (name.size() > rule.name.size() && name.ends_with(rule.name) &&
                                 name[name.size() - rule.name.size() - 1] == '.');
  });
  if (excepted) return std::nullopt;
  return proxy_;
}

COFFERDAM_DECL std::string proxy_rules::plain(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string name(host);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return name;
}

COFFERDAM_DECL proxy_rules::exception proxy_rules::exception_of(std::string_view text) {
  exception result;
  const std::size_t colon = text.rfind(':');
  const bool has_port = colon != std::string_view::npos && (text.find(':') == colon || text[colon - 1] == ']');
  if (has_port) {
    const std::optional<std::uint16_t> number = detail::port_number(text.substr(colon + 1));
    if (!number) return result;  // an entry with an invalid port matches no host
    result.port = *number;
    text = text.substr(0, colon);
  }
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  if (text.starts_with("*.")) text.remove_prefix(2);
  if (text.starts_with('.')) text.remove_prefix(1);
  result.name = plain(text);
  return result;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
