// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/network/detail/host_name.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {
class rule_reader;
}  // namespace detail

/// One place that an `egress_policy` allows: a host, its ports, and what may be requested there.
///
///     host_rule("packages.example.org")
///     host_rule("*.files.example.org")
///     host_rule("api.example.com:8443").methods({"GET", "POST"}).paths({"/v1/"}).header("Authorization", secret)
///
/// TLS that a command speaks with the host passes through unread, and only its server name is compared. A rule with
/// `methods`, `paths` or `header` needs more: TLS ends on the host, and the requests in it are read.
class host_rule {
 public:
  /// Makes a rule from `HOST` or `HOST:PORT`. Without a port, the rule allows the ports 443 and 80.
  /// \param place  a DNS name; `*.` and a DNS name, for all names that end in `.NAME`, but not for the name itself; an
  ///               IPv4 address; or an IPv6 address, in brackets if a port follows. Names in other alphabets are
  ///               written in their ASCII form (`xn--...`).
  /// \throws error{exec_errc::invalid_argument} if `place` is anything else or is too wide, such as `*`, `*.com` or
  ///     `*.co.uk`. The message contains the reason and a correct form.
  host_rule(std::string_view place);
  /// Makes a rule from a text, as the other constructors do.
  host_rule(const char* place) : host_rule(std::string_view(place)) {}
  /// Makes a rule from a text, as the other constructors do.
  host_rule(const std::string& place) : host_rule(std::string_view(place)) {}

  /// Allows only these methods. Default: every method.
  /// \param names  names of methods, such as "GET"; not empty.
  /// \throws error{exec_errc::invalid_argument} if the list is empty or contains an invalid name.
  host_rule& methods(std::vector<std::string> names);
  /// Allows only targets that begin with one of these paths. A target that a server could read as another path is then
  /// refused: one with `.` or `..` as a segment, an empty segment, a backslash, or a percent-encoded `.`, `/`, `\` or
  /// `%`.
  /// \param prefixes  paths that begin with `/`, without a query. `/v1/` covers `/v1/users`; `/v1` covers `/v1`,
  ///                  `/v1/users` and `/v1?page=2`, but not `/v10`.
  /// \throws error{exec_errc::invalid_argument} if the list is empty or contains an invalid path.
  host_rule& paths(std::vector<std::string> prefixes);
  /// Adds a header field to each request that a command sends to this host by TLS. Fields of this name in the command's
  /// own request are removed. The commands never receive the value. A request without TLS never has the field. The
  /// method TRACE is refused, because its answer shows the request.
  /// \param name   the name of the field, such as "Authorization".
  /// \param value  the secret value, such as "Bearer ...".
  /// \throws error{exec_errc::invalid_argument} if the name or the value is invalid, if the name is one that describes
  ///     the connection or the length of the request, or if the rule covers more than one host by `*.`. The message
  ///     does not show the value.
  host_rule& header(std::string name, secret_string value);
  /// Connects to this address instead of resolving the name of the host, for servers in private networks and for tests.
  /// The address may be any address, also one that is refused otherwise. The name stays what TLS must prove.
  /// \param address  an IPv4 or IPv6 address without brackets.
  /// \param port     the port to connect to, for each port of the rule; not 0.
  /// \throws error{exec_errc::invalid_argument} if the address or the port is invalid.
  host_rule& at(std::string_view address, std::uint16_t port);

  /// Returns the text of the rule: its host, and its port unless the rule has the default ports.
  const std::string& place() const noexcept { return place_; }

  /// Returns true if the rule covers this host and port.
  /// \param host  a DNS name or an IP address. A text that is neither is covered by no rule.
  /// \param port  the port that is requested.
  bool covers(std::string_view host, std::uint16_t port) const;

 private:
  friend class egress_policy;
  friend class detail::rule_reader;

  bool covers_host(const detail::host_name& host) const;
  bool covers_port(std::uint16_t port) const noexcept;
  [[noreturn]] void fail(const std::string& why) const;

  std::string place_;
  detail::host_name host_;  // without the `*.`
  bool is_wildcard_ = false;
  std::vector<std::uint16_t> ports_{443, 80};
  std::vector<std::string> methods_;
  std::vector<std::string> paths_;
  std::vector<std::pair<std::string, secret_string>> headers_;
  std::optional<detail::host_and_number> fixed_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/network/impl/host_rule.ipp>
#endif
