// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/listener.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The loopback network of an environment, reached from this program. The bytes go through the warden, the helper
/// program in the sandbox, so that the sandbox needs no network. A `guest_network` is a value; copies refer to the same
/// environment. It stays valid when the environment is moved. After the environment was closed or destroyed, operations
/// throw `error{exec_errc::environment_closed}`, and those on open streams fail.
///
///     process server = co_await environment.start("python3 -m http.server 8000");
///     byte_stream stream = co_await environment.network().connect(8000);
///
/// At most 511 connections and listeners are open at once in one environment; further connections to a listener wait.
/// \par Threads  streams and listeners may be used on any executor, by the rules of the environment.
class guest_network {
 public:
  template <class = void>
  class basic_implementation;
  /// The interface that a backend implements.
  using implementation = basic_implementation<>;

  /// The interface `implementation`. Each member does what the member of the same name in `guest_network` does.
  template <class Unused>
  class basic_implementation {
   public:
    basic_implementation() = default;
    basic_implementation(const basic_implementation&) = delete;
    basic_implementation& operator=(const basic_implementation&) = delete;
    virtual ~basic_implementation() = default;
    virtual awaitable<byte_stream> connect(std::uint16_t port) = 0;
    virtual awaitable<listener> listen(std::uint16_t port) = 0;
    virtual awaitable<std::uint32_t> other_interfaces() = 0;
    virtual awaitable<std::string> enforced_policy() = 0;
    virtual awaitable<void> use_proxy(std::uint16_t port, std::string authority) {
      static_cast<void>(port);
      static_cast<void>(authority);
      throw error(exec_errc::unsupported, "network: variables for programs cannot be set here");
      co_return;
    }
  };

  /// Makes an object without an environment. Operations throw `error{exec_errc::environment_closed}`.
  guest_network() = default;
  /// Makes an object from the implementation of a backend.
  explicit guest_network(std::shared_ptr<implementation> network) noexcept : network_(std::move(network)) {}

  /// Connects to a TCP server in the environment that listens on 127.0.0.1 or ::1, or on all addresses.
  /// \param port  the port of the server, not 0.
  /// \return  the connection. A slow reader stops only its own connection.
  /// \throws error{exec_errc::io_error} with the cause ECONNREFUSED if nothing listens there; error{
  ///     exec_errc::invalid_argument} for the port 0; error{exec_errc::unsupported} if no warden runs in the
  ///     environment; error{exec_errc::provider_lost}.
  /// \par Cancellation  ends the attempt.
  awaitable<byte_stream> connect(std::uint16_t port) const { return get().connect(port); }

  /// Listens on 127.0.0.1 in the environment. Programs there can connect to the port; this program accepts the
  /// connections.
  /// \param port  the port; 0 chooses a free one, which `listener::port()` returns.
  /// \throws error{exec_errc::io_error} with the cause EADDRINUSE if a program listens there, or EACCES for a port that
  ///     the warden's user may not use; error{exec_errc::unsupported} if no warden runs in the environment;
  ///     error{exec_errc::provider_lost}.
  awaitable<listener> listen(std::uint16_t port = 0) const { return get().listen(port); }

  /// Returns the number of network interfaces of the environment that are up, without the loopback interface, as the
  /// warden sees them. 0 means that no packet can leave. If the number cannot be read, it is 0xffffffff.
  /// \throws error{exec_errc::unsupported} if no warden runs in the environment; error{exec_errc::provider_lost}.
  awaitable<std::uint32_t> other_interfaces() const { return get().other_interfaces(); }

  /// Shows that a policy stops all packets on the network interfaces of the environment: the NetworkPolicy of a pod of
  /// `kubernetes::from_image` without a network, which some network plugins do not enforce, or only for IPv4. Takes
  /// some seconds, and makes a second pod, a control without the policy, which runs only the attempts of this function
  /// and is then deleted. For each kind of address that the pod has (IPv4, IPv6, IPv6 link-local), the control must
  /// connect to the node or the API server by TCP, before and after the pod has failed to; packets between both pods
  /// must not arrive; and no other policy may allow connections. The result holds for now: whoever may change policies
  /// or pods of the namespace can open the wall later, and nobody notices.
  /// \return  a description of the policy and of the attempts; results of commands then report it, too. Empty if the
  ///     environment has no such policy.
  /// \throws error{exec_errc::unsupported}, whose message names the address, or the other policy, and advice, if the
  ///     policy does not stop all packets, or if this cannot be shown; error{exec_errc::permission_denied} without the
  ///     right to list the policies; the errors of opening a pod; error{exec_errc::provider_lost}.
  awaitable<std::string> enforced_policy() const { return get().enforced_policy(); }

  /// Sets variables by which programs use a proxy on 127.0.0.1, for all commands that begin after this call:
  /// HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in upper and lower case, and NODE_USE_ENV_PROXY. They are
  /// variables of the environment, so that no layer sees them in a command. A command may replace them. If a command
  /// has a label (`command::label`), the label is the user name in the URL of the proxy, with the password "x", and
  /// GIT_HTTP_PROXY_AUTHMETHOD is `basic`, so that git sends it.
  /// \param port  the port of the proxy, usually that of a `listener` from `listen`.
  /// \param authority  certificates of authorities, as PEM, which programs must trust in addition; empty: none. A
  ///     file outside the workspace then has it and the roots of the environment (or, if it has none, those of this
  ///     machine), and SSL_CERT_FILE, REQUESTS_CA_BUNDLE, NODE_EXTRA_CA_CERTS, GIT_SSL_CAINFO, CURL_CA_BUNDLE,
  ///     PIP_CERT, NPM_CONFIG_CAFILE, CARGO_HTTP_CAINFO, AWS_CA_BUNDLE and DENO_CERT name it.
  /// \throws error{exec_errc::io_error} if the file cannot be written.
  template <class = void>
  awaitable<void> use_proxy(std::uint16_t port, std::string authority = std::string()) const {
    return get().use_proxy(port, std::move(authority));
  }

 private:
  implementation& get() const {
    if (!network_)
      throw error(exec_errc::environment_closed,
                  "guest_network: empty (default-constructed or moved from); call network() on an open environment");
    return *network_;
  }

  std::shared_ptr<implementation> network_;
};

/// An environment whose loopback network this program can reach: a member `network()` returns its `guest_network`.
/// `local` is none, because its loopback network is that of this machine.
template <class E>
concept tunnelling_environment = code_exec_environment<E> && requires(E& e) {
  { e.network() } -> std::same_as<guest_network>;
};

/// Returns true if `network()` works in this environment. Some types, such as `any_environment`, support it only in
/// some environments. Such a type has a member `bool can_tunnel() const`. If `can_tunnel()` returns false, `network()`
/// throws `error{exec_errc::unsupported}`.
template <code_exec_environment E>
bool can_tunnel(const E& environment) noexcept {
  if constexpr (!tunnelling_environment<E>) {
    return false;
  } else if constexpr (requires { environment.can_tunnel(); }) {
    return environment.can_tunnel();
  } else {
    return true;
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI
