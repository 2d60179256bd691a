// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace cofferdam::inline v0::detail {

/// Awaits `work()` to its end even where the awaiting coroutine has been, or is being, cancelled, and leaves that
/// coroutine's own cancellation state as it was. (Asio keeps that state per spawned coroutine, not per frame: resetting
/// it would reset the caller's.) A coroutine that has been cancelled cannot even begin to await this, so:
///
///     const bool throws = co_await asio::this_coro::throw_if_cancelled();
///     co_await asio::this_coro::throw_if_cancelled(false);
///     co_await detail::shielded(std::move(work));
///     co_await asio::this_coro::throw_if_cancelled(throws);
template <class Work>
  requires std::same_as<std::invoke_result_t<Work&>, awaitable<void>>
awaitable<void> shielded(Work work) {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  co_await asio::co_spawn(executor, std::move(work),
                          asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
}

}  // namespace cofferdam::inline v0::detail
