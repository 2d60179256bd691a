// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/net/http_message.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Hosts and origins, as `Host` (RFC 9112, 3.2) and `Origin` (RFC 6454, 6.2) name them.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A parsed `host[:port]`, with the host in lower case.
class http_authority {
 public:
  std::string host;
  std::string port;
};

inline std::optional<http_authority> parse_authority(std::string_view text) {
  http_authority found;
  std::size_t end = 0;
  if (text.starts_with('[')) {
    end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    ++end;
  } else {
    end = std::min(text.find(':'), text.size());
  }
  const bool bracketed = text.starts_with('[');
  for (const char c : text.substr(0, end)) {
    const char low = lowered(c);
    const bool word = (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9') || low == '.';
    const bool extra =
        bracketed ? low == ':' || low == '[' || low == ']' : low == '-' || low == '_' || low == '~' || low == '%';
    if (!word && !extra) return std::nullopt;
    found.host += low;
  }
  std::string_view rest = text.substr(end);
  if (rest.empty()) return found;
  if (rest.front() != ':' || rest.size() > 6) return std::nullopt;
  rest.remove_prefix(1);
  if (!std::all_of(rest.begin(), rest.end(), [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  found.port = rest;
  return found;
}

/// Returns the host and port of an origin such as `https://host:port`; no value for `null` or an invalid origin.
inline std::optional<http_authority> parse_origin(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!same_ignoring_case(text.substr(0, scheme.size()), scheme)) continue;
    std::optional<http_authority> found = parse_authority(text.substr(scheme.size()));
    if (found && found->host.empty()) return std::nullopt;
    return found;
  }
  return std::nullopt;
}

/// Returns true if `origins` contains this origin. Ignores the case of letters.
inline bool is_listed_origin(std::string_view origin, const std::vector<std::string>& origins) {
  return std::any_of(origins.begin(), origins.end(),
                     [origin](const std::string& each) { return same_ignoring_case(each, origin); });
}

/// Returns true for the scheme of an origin that pages can have: any valid scheme except those of other transfers.
inline bool is_page_scheme(std::string_view scheme) {
  for (const std::string_view other : {"ftp", "ws", "wss"})
    if (same_ignoring_case(scheme, other)) return false;
  return !scheme.empty() && std::all_of(scheme.begin(), scheme.end(), [](char c) {
    const char low = lowered(c);
    return (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9') || c == '+' || c == '-' || c == '.';
  });
}

/// Returns true if an origin can have this host and port.
inline bool is_page_authority(const http_authority& named) {
  const bool is_host = !named.host.empty() && named.host != "[]" && named.host.find_first_of("%~") == std::string::npos;
  const bool is_port = named.port.empty() || (named.port.front() != '0' && std::stoul(named.port) <= 65535);
  return is_host && is_port;
}

/// Checks the text of an option that names an origin of web pages, and returns it as browsers send it.
///
/// The scheme is `http`, `https`, or that of other pages, such as `chrome-extension`. The usual port of the scheme is
/// removed.
/// \param option  the name of the option, for the message.
/// \throws error{exec_errc::invalid_argument} for a text that is not an origin.
inline std::string require_origin(std::string_view option, std::string text) {
  const std::size_t colon = text.find("://");
  const std::string scheme = text.substr(0, colon);
  std::optional<http_authority> named;
  if (colon != std::string::npos && is_page_scheme(scheme) && !text.ends_with(':'))
    named = parse_authority(std::string_view(text).substr(colon + 3));
  if (!named || !is_page_authority(*named))
    throw error(exec_errc::invalid_argument, std::string(option) + ": \"" + one_line(text) +
                                                 "\" is not an origin such as https://app.example or "
                                                 "http://localhost:5173: a scheme, a host and perhaps a port, no path");
  const bool is_usual = (named->port == "443" && same_ignoring_case(scheme, "https")) ||
                        (named->port == "80" && same_ignoring_case(scheme, "http"));
  if (is_usual) text.resize(text.size() - named->port.size() - 1);
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
