// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/port_number.hpp>
#include <cofferdam/net/http_message.hpp>

#include <asio/ip/address.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

// The strict reader of host names. Two programs that read one text must not see two hosts in it, so every form that
// some resolver or client reads in its own way is refused: octal, hexadecimal and short addresses, percent-encoding,
// userinfo, zones, NUL bytes, and characters outside ASCII, whose look-alikes a person cannot distinguish.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A host in its only form: a DNS name in lower case without a dot at its end, or an IP address. An IPv6 address that
/// contains an IPv4 address (`::ffff:1.2.3.4`) is that IPv4 address.
class host_name {
 public:
  host_name() = default;
  explicit host_name(std::string name) : text_(std::move(name)) {}
  explicit host_name(const asio::ip::address& address) : text_(address.to_string()), address_(address) {}

  const std::string& text() const noexcept { return text_; }
  const std::optional<asio::ip::address>& address() const noexcept { return address_; }
  bool operator==(const host_name& other) const noexcept { return text_ == other.text_; }

 private:
  std::string text_;
  std::optional<asio::ip::address> address_;
};

/// Returns the address in its only form: an IPv4 address in place of an IPv6 address that is mapped to it.
inline asio::ip::address plain_address(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  return address;
}

/// Returns true for a label of a DNS name: 1 to 63 letters in lower case, digits, hyphens and underscores, without a
/// hyphen at either end.
constexpr bool is_host_label(std::string_view label) noexcept {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  return !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
         std::all_of(label.begin(), label.end(), allowed);
}

/// Returns true if a resolver could read a name with this last label as a number, and so as an IPv4 address.
constexpr bool is_number_label(std::string_view label) noexcept {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_hexadecimal = [&](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  if (std::all_of(label.begin(), label.end(), is_digit)) return true;
  return label.starts_with("0x") && std::all_of(label.begin() + 2, label.end(), is_hexadecimal);
}

/// Parses a host name or an IP address. Returns no value for every other text.
/// \param text  a DNS name with at most one dot at its end, an IPv4 address of four decimal numbers, or an IPv6 address
///              with or without brackets.
inline std::optional<host_name> parse_host(std::string_view text) {
  std::error_code failure;
  if (text.find(':') != std::string_view::npos) {
    if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
    if (text.size() > 45 || text.find('%') != std::string_view::npos) return std::nullopt;
    const asio::ip::address_v6 address = asio::ip::make_address_v6(std::string(text), failure);
    if (failure) return std::nullopt;
    return host_name(plain_address(asio::ip::address(address)));
  }
  if (text.empty() || text.size() > 254) return std::nullopt;
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(), lowered);
  const asio::ip::address_v4 address = asio::ip::make_address_v4(name, failure);
  if (!failure && address.to_string() == name) return host_name(asio::ip::address(address));
  if (name.ends_with('.')) name.pop_back();
  if (name.size() > 253) return std::nullopt;
  std::string_view rest = name;
  while (true) {
    const std::size_t dot = rest.find('.');
    const std::string_view label = rest.substr(0, dot);
    if (!is_host_label(label)) return std::nullopt;
    if (dot != std::string_view::npos) {
      rest.remove_prefix(dot + 1);
      continue;
    }
    if (is_number_label(label)) return std::nullopt;
    return host_name(std::move(name));
  }
}

/// A host and a port.
class host_and_number {
 public:
  host_and_number() = default;
  host_and_number(host_name name, std::uint16_t number) : host(std::move(name)), port(number) {}
  bool operator==(const host_and_number&) const = default;

  host_name host;
  std::uint16_t port = 0;
};

/// Parses `HOST:PORT`, with brackets around an IPv6 address. Returns no value for every other text.
/// \param usual  the port if the text has none; 0 if the text must have one.
/// \par Source   RFC 3986, 3.2, without userinfo and without percent-encoding.
inline std::optional<host_and_number> parse_authority(std::string_view text, std::uint16_t usual) {
  std::size_t end = text.find(':');
  if (text.starts_with('[')) {
    end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    ++end;
  }
  const std::string_view name = text.substr(0, end);
  const bool bracketed = name.starts_with('[');
  std::uint16_t port = usual;
  if (end < text.size()) {
    const std::optional<std::uint16_t> number =
        text[end] == ':' ? port_number(text.substr(end + 1)) : std::optional<std::uint16_t>();
    if (!number) return std::nullopt;
    port = *number;
  }
  std::optional<host_name> host = parse_host(name);
  // Only an IPv6 address has brackets, so a bracketed text without a colon is none.
  if (!host || port == 0 || (bracketed && name.find(':') == std::string_view::npos)) return std::nullopt;
  return host_and_number(std::move(*host), port);
}

/// Returns `HOST:PORT`, with brackets around an IPv6 address.
/// \param usual  if the port is equal to it, the text has no port.
inline std::string authority_text(const host_and_number& where, std::uint16_t usual = 0) {
  const bool is_v6 = where.host.address() && where.host.address()->is_v6();
  std::string text = is_v6 ? "[" + where.host.text() + "]" : where.host.text();
  if (where.port != usual) text += ":" + std::to_string(where.port);
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
