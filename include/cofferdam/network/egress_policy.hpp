// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/network/host_rule.hpp>
#include <cofferdam/network/network_event.hpp>

#include <asio/ip/address.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {
class egress_state;
}  // namespace detail

template <tunnelling_environment Inner>
class allow_hosts_layer;

/// The policy for the connections that commands may make: the allowed places, limits, and where to report. A value
/// type. A policy without rules allows nothing. It is also the recipe of a layer: `provider | policy`, allow_hosts.hpp.
///
///     egress_policy("packages.example.org", "*.files.example.org")
///         .header("api.example.com", "Authorization", secret_string(std::move(key)))
///         .log([](const network_event& event) { ... });
///
/// A request is allowed if one rule allows its host, its port, its method and its path. If several do, the rule with
/// the exact name counts before rules with `*.`, and of these the longest. Of rules with the exact name, those with
/// `header` count first.
///
/// A name is resolved for each connection, on the host. The addresses are checked, and exactly a checked address is
/// connected to. Loopback, link-local, private, shared, multicast, reserved and metadata addresses are refused, and so
/// are all addresses of this machine, unless a rule names the address itself, without `methods`, `paths` and `header`,
/// or the rule of the name has `at`.
class egress_policy : public pipeable {
 public:
  /// A function that receives the record of a connection. It must not throw. It is called on the executor that serves
  /// the connection.
  using listener_function = std::function<void(const network_event&)>;
  /// A function that returns the addresses of a name. It throws if the name has none.
  using resolver_function = std::function<awaitable<std::vector<asio::ip::address>>(std::string host)>;

  /// Makes a policy that allows the places of these rules, and nothing else.
  template <std::convertible_to<host_rule>... Rules>
  explicit egress_policy(const Rules&... rules) {
    (allow(rules), ...);
  }

  /// Allows the place of one more rule.
  egress_policy& allow(host_rule rule);
  /// Adds a header field with a secret value to the requests for one place, as `host_rule::header` does. The place is
  /// allowed, with the methods and paths of its rule if the policy has a rule for exactly this place.
  egress_policy& header(std::string_view place, std::string name, secret_string value);

  /// Sets the function that receives an event for each connection and each refusal. Default: none.
  egress_policy& log(listener_function listener);
  /// Sets the function that resolves names. It is called only for names that a rule allows, and its time is not
  /// limited. Default: the system's resolver, within `opening_time`.
  egress_policy& resolver(resolver_function resolve);

  /// Sets the maximum number of connections at the same time. More are closed at once, with a sentence. At least 1;
  /// default 256.
  egress_policy& connections(std::size_t most);
  /// Sets the maximum number of bytes of one connection, both directions together. Default: no limit.
  egress_policy& connection_bytes(std::uint64_t most);
  /// Sets the time until a request must be complete, its host connected, and TLS begun. More than zero; default 30 s.
  egress_policy& opening_time(std::chrono::milliseconds limit);
  /// Sets the time after which a connection without traffic is closed. More than zero; default 5 minutes.
  egress_policy& idle_time(std::chrono::milliseconds limit);
  /// Sets the time after which every connection is closed. More than zero; default 4 hours.
  egress_policy& total_time(std::chrono::milliseconds limit);

  /// Trusts these certificates instead of the system's root certificates, for the servers of rules with `header`,
  /// `methods` or `paths`. The certificates of all other servers are verified by the commands themselves, which
  /// trust these certificates too, in addition to the roots of their environment, if `allow_hosts` adds the policy.
  /// \param pem  one or more certificates, in PEM form.
  egress_policy& trust(std::string pem);
  /// Returns the certificates of `trust`, in PEM form; empty by default.
  const std::string& trusted() const noexcept { return trusted_; }

  /// Wraps an environment whose programs may then make these connections, and no others; defined in allow_hosts.hpp.
  template <tunnelling_environment Inner>
  allow_hosts_layer<Inner> attach(Inner inner) const;

  /// Returns the rules in the order in which they count.
  const std::vector<host_rule>& rules() const noexcept { return rules_; }

 private:
  friend class detail::egress_state;

  static bool counts_before(const host_rule& a, const host_rule& b) noexcept;

  std::vector<host_rule> rules_;
  listener_function log_;
  resolver_function resolve_;
  std::string trusted_;
  std::size_t connections_ = 256;
  std::uint64_t bytes_ = std::numeric_limits<std::uint64_t>::max();
  std::chrono::milliseconds opening_{std::chrono::seconds(30)};
  std::chrono::milliseconds idle_{std::chrono::minutes(5)};
  std::chrono::milliseconds total_{std::chrono::hours(4)};
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/network/impl/egress_policy.ipp>
#endif
