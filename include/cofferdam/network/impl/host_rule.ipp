// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/network/detail/host_name.hpp>
#include <cofferdam/network/detail/request_path.hpp>
#include <cofferdam/network/host_rule.hpp>

#include <asio/ip/address.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// Returns true if names directly below this name belong to many owners: a top-level domain, or a second level such
/// as `co.uk`, by its usual form. The list of all such names changes each week, so this is not the complete list.
inline bool is_registry_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return true;
  if (name.find('.') != dot || name.size() - dot - 1 != 2) return false;
  for (const std::string_view usual : {"ac", "co", "com", "edu", "gob", "gov", "ne", "net", "or", "org"})
    if (name.substr(0, dot) == usual) return true;
  return false;
}

/// Returns true for a header field that a rule may set: none that describes the connection, the host or the length.
inline bool is_settable_field(std::string_view name) {
  for (const std::string_view fixed : {"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "TE", "Trailer",
                                       "Transfer-Encoding", "Upgrade", "Proxy-Authorization", "Proxy-Connection"})
    if (same_ignoring_case(name, fixed)) return false;
  return is_token(name);
}

}  // namespace detail

COFFERDAM_DECL host_rule::host_rule(std::string_view place) : place_(place) {
  if (place.starts_with("*.")) {
    is_wildcard_ = true;
    place.remove_prefix(2);
  }
  if (place.find('*') != std::string_view::npos || place.empty())
    fail("a star may stand only at the beginning, before a dot and a name: \"*.files.example.org\"");
  const bool is_bare_v6 = !place.starts_with('[') && std::count(place.begin(), place.end(), ':') > 1;
  std::optional<detail::host_and_number> parsed;
  bool has_port = false;
  if (is_bare_v6) {
    const std::optional<detail::host_name> host = detail::parse_host(place);
    if (host) parsed = detail::host_and_number(*host, ports_.front());
  } else {
    parsed = detail::parse_authority(place, ports_.front());
    has_port = detail::parse_authority(place, 0).has_value();  // it needs a port then
  }
  if (!parsed)
    fail(
        "write a host name or an IP address, and a port from 1 to 65535 if it is not 443 or 80: "
        "\"api.example.com:8443\"; names in other alphabets need their ASCII form (xn--...)");
  host_ = parsed->host;
  if (place.find("::ffff:") != std::string_view::npos && host_.address() && host_.address()->is_v4())
    fail("write the IPv4 address itself: \"" + host_.text() + "\"");
  if (has_port) ports_ = {parsed->port};
  if (is_wildcard_ && (host_.address() || detail::is_registry_name(host_.text())))
    fail("it would allow names of many owners; name at least one more label: \"*.files.example.org\"");
  place_ = (is_wildcard_ ? "*." : "") + detail::authority_text(*parsed, has_port ? 0 : parsed->port);
}

COFFERDAM_DECL host_rule& host_rule::methods(std::vector<std::string> names) {
  if (names.empty() ||
      !std::all_of(names.begin(), names.end(), [](const auto& name) { return detail::is_token(name); }))
    fail("methods() needs the names of methods, such as \"GET\"");
  methods_ = std::move(names);
  return *this;
}

COFFERDAM_DECL host_rule& host_rule::paths(std::vector<std::string> prefixes) {
  const auto usable = [](const std::string& path) {
    return path.starts_with('/') && path.find('?') == std::string::npos && detail::is_target(path) &&
           detail::is_plain_path(path);
  };
  if (prefixes.empty() || !std::all_of(prefixes.begin(), prefixes.end(), usable))
    fail("paths() needs paths that begin with / and have no query, no \"..\" and no percent-encoded slash: \"/v1/\"");
  paths_ = std::move(prefixes);
  return *this;
}

COFFERDAM_DECL host_rule& host_rule::header(std::string name, secret_string value) {
  if (is_wildcard_) fail("header() needs the name of one host, because every covered host would receive the secret");
  if (!detail::is_settable_field(name) || value.empty() || !detail::is_field_text(value.reveal()))
    fail(
        "header() cannot set the field \"" + one_line(name, 60) +
        "\": either its name describes the connection or is invalid, or its value is empty or has a control character");
  std::erase_if(headers_, [&](const auto& entry) { return detail::same_ignoring_case(entry.first, name); });
  headers_.emplace_back(std::move(name), std::move(value));
  return *this;
}

COFFERDAM_DECL host_rule& host_rule::at(std::string_view address, std::uint16_t port) {
  const std::optional<detail::host_name> host = detail::parse_host(address);
  if (!host || !host->address() || port == 0) fail("at() needs an IP address and a port from 1 to 65535");
  fixed_ = detail::host_and_number(*host, port);
  return *this;
}

COFFERDAM_DECL bool host_rule::covers(std::string_view host, std::uint16_t port) const {
  const std::optional<detail::host_name> name = detail::parse_host(host);
  return name && covers_host(*name) && covers_port(port);
}

COFFERDAM_DECL bool host_rule::covers_host(const detail::host_name& host) const {
  if (!is_wildcard_) return host == host_;
  const std::string& name = host.text();
  const std::string& end = host_.text();
  return !host.address() && name.size() > end.size() + 1 && name.ends_with(end) &&
         name[name.size() - end.size() - 1] == '.';
}

COFFERDAM_DECL bool host_rule::covers_port(std::uint16_t port) const noexcept {
  return std::find(ports_.begin(), ports_.end(), port) != ports_.end();
}

COFFERDAM_DECL void host_rule::fail(const std::string& why) const {
  throw error(exec_errc::invalid_argument, "host_rule \"" + one_line(place_, 100) + "\": " + why);
}

}  // namespace cofferdam::inline COFFERDAM_ABI
