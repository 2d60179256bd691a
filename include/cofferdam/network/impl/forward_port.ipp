// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/listener.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/join_all.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/network/detail/served_listener.hpp>
#include <cofferdam/network/forward_port.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// Copies one direction of two joined streams to its end. A failure closes both.
template <class = void>
awaitable<void> copy_stream(byte_stream& from, byte_stream& to) {
  bytes piece(std::size_t{64} * 1024);
  try {
    for (;;) {
      const std::size_t count = co_await from.read_some(piece);
      if (count == 0) break;
      const bytes_view content = bytes_view(piece).first(count);
      co_await to.write(content);
    }
    co_await to.shutdown_send();
  } catch (const error&) {
    from.close();
    to.close();
    throw;
  }
}

template <class = void>
awaitable<void> join_to_port(guest_network network, std::uint16_t port, byte_stream outside) {
  byte_stream inside = co_await network.connect(port);
  const auto copies = [&](std::size_t number) {
    return number == 0 ? copy_stream<>(outside, inside) : copy_stream<>(inside, outside);
  };
  co_await join_all(2, 2, copies);
}

}  // namespace detail

template <class>
awaitable<void> forward_port(guest_network network, std::uint16_t port, listener at) {
  if (port == 0) throw error(exec_errc::invalid_argument, "forward_port: 0 is no port of a server");
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const detail::home_strand home(executor);
  const auto joins = [network, port](byte_stream outside) {
    return detail::join_to_port<>(network, port, std::move(outside));
  };
  const auto served = std::make_shared<detail::served_listener>(home, std::move(at), joins);
  const auto runs = [&]() -> awaitable<void> {
    const auto serves = [served]() -> awaitable<void> {
      detail::served_listener::begin(served);
      co_await detail::served_listener::until_stopped(served,
                                                      "forward_port: cancelled; the port is not forwarded any more");
    };
    co_await home.run(serves);
  };
  const auto ends = [&]() -> awaitable<void> {
    const auto stops = [served] { return detail::served_listener::end(served); };
    return home.run(stops);
  };
  co_await detail::with_cleanup(runs, ends);
}

COFFERDAM_INSTANTIATE(awaitable<void> forward_port<void>(guest_network, std::uint16_t, listener))

}  // namespace cofferdam::inline COFFERDAM_ABI
