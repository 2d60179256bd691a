// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/net/resolve_host.hpp>
#include <cofferdam/net/detail/connect.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL awaitable<std::vector<asio::ip::address>> resolve_host(std::string host,
                                                                      std::chrono::steady_clock::time_point due) {
  constexpr std::uint16_t any_port = 1;  // the resolver wants one, and the result does not contain it
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  std::string name = host;
  const std::vector<asio::ip::tcp::endpoint> found =
      co_await resolve(std::move(host), any_port, std::move(name), std::move(executor), due);
  std::vector<asio::ip::address> addresses;
  for (const asio::ip::tcp::endpoint& each : found)
    if (std::find(addresses.begin(), addresses.end(), each.address()) == addresses.end())
      addresses.push_back(each.address());
  co_return addresses;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
