// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/callable_ref.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <asio/this_coro.hpp>

#include <exception>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class>
awaitable<void> run_with_cleanup(callable_ref<awaitable<void>()> body, callable_ref<awaitable<void>()> cleanup,
                                 cleanup_when when, failure_choice choose) {
  std::exception_ptr failure;
  try {
    co_await body();
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure && when == cleanup_when::after_failure) co_return;
  // By default, a cancelled coroutine throws at its next co_await; throw_if_cancelled(false) switches this off. Asio
  // keeps this setting and the cancellation state for a whole spawned coroutine, not for one function, and both must be
  // unchanged for the caller. So the setting is changed here and restored below, and the cancellation state is not
  // reset.
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  try {
    awaitable<void> work = cleanup();
    const auto begin = [&work] { return std::move(work); };
    if (work.valid()) co_await shielded(begin);
  } catch (...) {
    failure = choose(failure, std::current_exception());
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (failure) std::rethrow_exception(failure);
}

COFFERDAM_INSTANTIATE(awaitable<void> run_with_cleanup<void>(callable_ref<awaitable<void>()>,
                                                             callable_ref<awaitable<void>()>, cleanup_when,
                                                             failure_choice))

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
