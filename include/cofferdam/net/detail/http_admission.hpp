// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/http_origin.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/http_server_settings.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Checks the head of a request before a handler gets it. RFC 9112, 3.2 describes targets and `Host`; RFC 9110, 10.1.1
// describes `Expect`.

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline bool is_everything(const std::vector<std::string>& list) { return list.size() == 1 && list.front() == "*"; }

/// Checks the allowed hosts and origins in the settings.
/// \throws error{exec_errc::invalid_argument} for an entry that is not a valid host or origin.
inline void check_lists(const http_server_settings& settings) {
  if (const auto& hosts = settings.allowed_hosts(); hosts && !is_everything(*hosts)) {
    for (const std::string& host : *hosts) {
      const std::optional<http_authority> each = parse_authority(host);
      if (!each || each->host.empty())
        throw error(exec_errc::invalid_argument, "allowed_hosts: \"" + one_line(host) +
                                                     "\" is not a host name or address, with or without a port; write "
                                                     "IPv6 addresses in brackets, and * only as the single entry");
    }
  }
  if (const auto& origins = settings.allowed_origins(); origins && !is_everything(*origins)) {
    for (const std::string& origin : *origins)
      if (require_origin("allowed_origins", origin) != origin)
        throw error(exec_errc::invalid_argument, "allowed_origins: leave out the usual port of the scheme in \"" +
                                                     one_line(origin) + "\": browsers do not send it");
  }
}

/// Returns true if the host is in `allowed`. An entry without a port allows every port.
/// \param any_port  true to ignore the ports in `allowed`.
inline bool is_allowed_host(const http_authority& asked, const std::vector<std::string>& allowed, bool any_port) {
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& entry) {
    const std::optional<http_authority> each = parse_authority(entry);
    return each && !each->host.empty() && each->host == asked.host &&
           (any_port || each->port.empty() || each->port == asked.port);
  });
}

/// Returns the allowed hosts of the settings or their default; no value if every host is allowed.
inline std::optional<std::vector<std::string>> believed_hosts(const http_server_settings& settings, bool loopback) {
  if (settings.allowed_hosts()) {
    if (is_everything(*settings.allowed_hosts())) return std::nullopt;
    return settings.allowed_hosts();
  }
  if (!loopback) return std::nullopt;
  return std::vector<std::string>{"localhost", "127.0.0.1", "[::1]"};
}

inline bool is_allowed_origin(std::string_view text, const http_authority& host,
                              const std::optional<std::vector<std::string>>& hosts,
                              const http_server_settings& settings) {
  if (is_listed_origin(text, settings.origins())) return true;
  if (const auto& allowed = settings.allowed_origins())
    return is_everything(*allowed) || is_listed_origin(text, *allowed);
  const std::optional<http_authority> origin = parse_origin(text);
  if (!origin) return false;
  return origin->host == host.host || (hosts && is_allowed_host(*origin, *hosts, true));
}

/// Replaces an absolute target such as `http://host/path` by `/path`.
/// \return 0, or the status code for an invalid target.
inline int normalise_target(http_request_head& head) {
  if (head.method == "CONNECT") return 501;
  if (head.target == "*") return head.method == "OPTIONS" ? 0 : 400;
  if (head.target.front() == '/') return 0;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!same_ignoring_case(std::string_view(head.target).substr(0, scheme.size()), scheme)) continue;
    const std::string_view rest = std::string_view(head.target).substr(scheme.size());
    const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    // A handler may use the target or the Host field, so both must name the same host.
    if (const auto host = head.fields.find("Host"); !host || !same_ignoring_case(*host, rest.substr(0, end)))
      return 400;
    std::string path(rest.substr(end));
    if (path.empty() || path.front() != '/') path.insert(path.begin(), '/');
    head.target = std::move(path);
    return 0;
  }
  return 400;
}

/// Decides about a request by its head.
/// \param loopback  true if the listener is on a loopback address, which only this machine can reach.
/// \return          0 if a handler may get the request; otherwise the status code of the refusal.
inline int admit(http_request_head& head, const http_server_settings& settings, bool loopback) {
  if (const int status = normalise_target(head); status != 0) return status;
  for (const http_field& field : head.fields)
    if (same_ignoring_case(field.name(), "Expect") && !same_ignoring_case(field.value(), "100-continue")) return 417;
  const auto named = head.fields.find("Host");
  const std::optional<http_authority> host = parse_authority(named.value_or(""));
  if (!host) return 400;
  const bool carries = head.method == "POST" || head.method == "PUT" || head.method == "PATCH";
  if (head.minor_version == 0 && carries && head.fields.count("Content-Length") == 0) return 411;
  const std::optional<std::vector<std::string>> hosts = believed_hosts(settings, loopback);
  if (hosts && !is_allowed_host(*host, *hosts, false)) return 421;
  for (const http_field& field : head.fields)
    if (same_ignoring_case(field.name(), "Origin") && !is_allowed_origin(field.value(), *host, hosts, settings))
      return 403;
  return 0;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
