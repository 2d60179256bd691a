// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Runs some work, and cancels it after a time limit.
/// \param work  returns an awaitable<void>. The work is awaited to its end, even after the limit.
/// \param late  the error for work that the limit has ended.
/// \throws `late` if the limit has ended the work; otherwise what the work throws.
inline awaitable<void> within(asio::any_io_executor executor, std::chrono::milliseconds limit,
                              std::function<awaitable<void>()> work, error late) {
  asio::steady_timer timer(executor, limit);
  auto both = asio::experimental::make_parallel_group(asio::co_spawn(executor, work(), detail::deferred),
                                                      timer.async_wait(detail::deferred));
  auto result = co_await both.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  const auto& [order, failure, woken] = result;
  if (order[0] == 1 && !woken && failure) throw late;
  if (failure) std::rethrow_exception(failure);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
