// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/listener.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/network/allow_hosts.hpp>
#include <cofferdam/network/detail/served_listener.hpp>
#include <cofferdam/network/egress_policy.hpp>
#include <cofferdam/network/egress_proxy.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Throws if programs of the environment could reach the network without the proxy.
template <class = void>
awaitable<void> require_no_way_out(guest_network network) {
  const std::uint32_t others = co_await network.other_interfaces();
  if (others == 0) co_return;
  const std::string policy = co_await network.enforced_policy();
  if (!policy.empty()) co_return;
  const bool is_unknown = others == 0xffffffff;
  throw error(
      exec_errc::unsupported,
      "allow_hosts: " +
          (is_unknown
               ? std::string("the network interfaces of the environment cannot be counted")
               : "the environment has " + std::to_string(others) +
                     (others == 1 ? " network interface" : " network interfaces") + " besides the loopback interface") +
          ", so that programs could reach the network without the proxy; open it without a network: jail(), "
          "docker's network(\"none\"), or a pod whose cluster enforces its NetworkPolicy, which is found out by "
          "bash or nc of its image");
}

template <class>
awaitable<served_listener_handle> begin_egress(guest_network network, egress_policy policy) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  co_await require_no_way_out<>(network);
  std::string authorities = policy.trusted();
  if (!authorities.empty()) authorities += "\n";
  const egress_proxy proxy(std::move(policy));
  authorities += proxy.authority_pem();
  listener open = co_await network.listen();
  const std::uint16_t port = open.port();
  const home_strand home(executor);
  const auto serves = [proxy](byte_stream guest) { return proxy.serve(std::move(guest)); };
  const auto served = std::make_shared<served_listener>(home, std::move(open), serves);
  served_listener_handle begun(served);
  const auto begins = [served]() -> awaitable<void> {
    served_listener::begin(served);
    co_return;
  };
  co_await home.run(begins);
  co_await network.use_proxy(port, std::move(authorities));
  co_return begun;
}

template <class>
awaitable<void> end_egress(std::shared_ptr<served_listener> served) {
  if (!served) return shielded([]() -> awaitable<void> { co_return; });
  return shielded([served] { return served->home().run([served] { return served_listener::end(served); }); });
}

COFFERDAM_INSTANTIATE(awaitable<served_listener_handle> begin_egress<void>(guest_network, egress_policy))
COFFERDAM_INSTANTIATE(awaitable<void> end_egress<void>(std::shared_ptr<served_listener>))

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
