// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/network/detail/egress_state.hpp>
#include <cofferdam/network/detail/guest_connection.hpp>
#include <cofferdam/network/egress_policy.hpp>
#include <cofferdam/network/egress_proxy.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

COFFERDAM_DECL egress_proxy::egress_proxy(egress_policy policy)
    : state_(std::make_shared<detail::egress_state>(std::move(policy))) {}
COFFERDAM_DECL std::string egress_proxy::authority_pem() const { return state_->authority_pem(); }
COFFERDAM_DECL std::size_t egress_proxy::connections() const noexcept { return state_->open(); }

template <class>
awaitable<void> egress_proxy::serve_guest(byte_stream guest, std::shared_ptr<detail::egress_state> state) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  detail::guest_connection connection(executor, std::move(guest), *state);
  co_await connection.serve();
}

COFFERDAM_INSTANTIATE(awaitable<void> egress_proxy::serve_guest<void>(byte_stream,
                                                                      std::shared_ptr<detail::egress_state>))

}  // namespace cofferdam::inline COFFERDAM_ABI
