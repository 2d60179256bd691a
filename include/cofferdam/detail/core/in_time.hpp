// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <tuple>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Awaits work until a timer expires. If another coroutine cancels the timer, the work is cancelled.
/// \param limit  the caller keeps the timer until the awaitable completes.
/// \return true if the work was done; false if it was stopped because the timer has expired.
/// \throws the exceptions of `work`.
inline awaitable<bool> arrived_before(asio::steady_timer& limit, awaitable<void> work) {
  auto both = asio::experimental::make_parallel_group(
      asio::co_spawn(limit.get_executor(), std::move(work), detail::deferred), limit.async_wait(detail::deferred));
  auto result = co_await both.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  const std::exception_ptr failure = std::get<1>(result);
  const bool is_late = std::get<0>(result)[0] != 0 && !std::get<2>(result);
  if (failure && is_late) co_return false;
  if (failure) std::rethrow_exception(failure);
  co_return true;
}

/// Awaits work, up to a time limit. Otherwise like `arrived_before`.
inline awaitable<bool> arrived_in_time(asio::any_io_executor executor, std::chrono::milliseconds time,
                                       awaitable<void> work) {
  asio::steady_timer limit(executor, time);
  const bool is_in_time = co_await arrived_before(limit, std::move(work));
  co_return is_in_time;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
