// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/listener.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/network/detail/served_listener.hpp>
#include <cofferdam/network/egress_policy.hpp>
#include <cofferdam/network/egress_proxy.hpp>
#include <cofferdam/network/host_rule.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// Begins a proxy for the programs of an environment that has no other way out, and makes it known to them.
/// \throws error{exec_errc::unsupported} if the environment has network interfaces besides the loopback interface.
template <class = void>
awaitable<served_listener_handle> begin_egress(guest_network network, egress_policy policy);

/// Ends the proxy, and waits until its connections have ended. Does nothing if there is none.
template <class = void>
awaitable<void> end_egress(std::shared_ptr<served_listener> served);

}  // namespace detail

/// The layer that `allow_hosts` adds.
template <tunnelling_environment Inner>
class allow_hosts_layer : public layer<allow_hosts_layer<Inner>, Inner> {
 public:
  /// Makes a layer without an environment.
  allow_hosts_layer()
    requires std::default_initializable<Inner>
  = default;
  /// Wraps an open environment, which the layer then owns. `prepare` begins the proxy.
  allow_hosts_layer(Inner inner, egress_policy policy)
      : layer<allow_hosts_layer<Inner>, Inner>(std::move(inner)),
        policy_(std::move(policy)),
        numbers_(std::make_shared<std::atomic<std::uint64_t>>(0)) {}

  /// Begins the proxy. `open()` of the provider calls this.
  /// \throws error{exec_errc::unsupported} if the environment has another way out; error{exec_errc::io_error} if the
  ///     proxy cannot be made known to programs.
  awaitable<void> prepare() { return begin(*this); }

  /// Labels a command that has no label by its number, so that the events of its connections name it.
  std::optional<command_result> admit(command& c) {
    if (c.label().empty() && numbers_) c.label(std::to_string(++*numbers_));
    return std::nullopt;
  }

  /// Ends the connections, and closes the wrapped environment.
  awaitable<void> close() { return end(*this); }

 private:
  static awaitable<void> begin(allow_hosts_layer& self) {
    detail::served_listener_handle begun = co_await detail::begin_egress<>(self.inner().network(), self.policy_);
    self.served_ = std::move(begun);
  }
  static awaitable<void> end(allow_hosts_layer& self) {
    co_await detail::end_egress<>(self.served_.get());
    co_await self.inner().close();
  }

  egress_policy policy_;
  std::shared_ptr<std::atomic<std::uint64_t>> numbers_;  // of the last command without a label
  detail::served_listener_handle served_;
};

/// Lets the programs of an environment without a network reach some hosts, and nothing else:
///
///     jail() | allow_hosts("packages.example.org", "*.files.example.org", "api.example.com:8443")
///
/// `open()` checks from inside that the environment has no network interface but the loopback interface, or that a
/// policy stops all packets of the others (`guest_network::enforced_policy`). The warden, the helper program in the
/// sandbox, then listens there, and passes each connection to this program, where an `egress_proxy` decides by the
/// rules. The proxy's variables are set for all commands, below all layers (`guest_network::use_proxy`). A program that
/// ignores them reaches nothing.
///
/// Each command has its label as the user name in the URL of the proxy, and `network_event::label()` returns it. The
/// layer labels a command that has none by its number: "1" for the first one, and so on.
///
/// A refused request is answered with status 403 and a sentence that a model can act on. `egress_policy` has more
/// settings, which can be added here: `.header(place, name, secret)` for credentials that never enter the environment,
/// `.log(listener)` for a record of each connection, limits, and rules with methods and paths (`.allow(rule)`).
///
/// Works for environments with a `guest_network`: `jail` and `docker` without a network, and pods of
/// `kubernetes::from_image` without a network, if their cluster enforces NetworkPolicies. For such a pod, `open()`
/// makes a second pod for some seconds, and throws unless the comparison of both shows that the policy is enforced for
/// each kind of address (`guest_network::enforced_policy`; packaging/docs/security.md has the limits). On others it
/// does not compile (`local`), or `open()` throws. E2B has rules of its own (`e2b::network_rules`).
/// \param rules  the allowed places, as `host_rule` describes.
/// \throws error{exec_errc::invalid_argument} for an invalid rule; from `open()`, error{exec_errc::unsupported} if the
///     environment has another way out.
template <std::convertible_to<host_rule>... Rules>
egress_policy allow_hosts(const Rules&... rules) {
  return egress_policy(rules...);
}

template <tunnelling_environment Inner>
allow_hosts_layer<Inner> egress_policy::attach(Inner inner) const {
  return allow_hosts_layer<Inner>(std::move(inner), *this);
}

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/network/impl/allow_hosts.ipp>
#endif
