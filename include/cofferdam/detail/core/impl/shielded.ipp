// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/shielded.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/this_coro.hpp>

#include <functional>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class Unused>
awaitable<void> shielded(std::function<awaitable<void>()> work) {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  co_await asio::co_spawn(executor, std::move(work),
                          asio::bind_cancellation_slot(asio::cancellation_slot(), await_in<Unused>));
}

COFFERDAM_INSTANTIATE(awaitable<void> shielded<void>(std::function<awaitable<void>()>))

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
