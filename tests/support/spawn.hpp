// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/callbacks.hpp>

#include "support/run.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>

#include <exception>
#include <type_traits>
#include <utility>

// `asio::co_spawn` for tests. Asio compiles a hundred functions for each type of coroutine function and each type of
// completion handler. These functions give all of them one type.

namespace cofferdam_test {

/// Starts a coroutine that runs in the background.
/// \param where   an executor, or an `io_context`.
/// \param at_end  is called with the exception of the coroutine, or null, and also with its result if it takes two
///                arguments. It captures at most 48 bytes.
/// \param stop    cancels the coroutine.
template <class Where, class T, class Handler>
void spawn(Where&& where, asio::awaitable<T> work, Handler at_end, asio::cancellation_slot stop = {}) {
  if constexpr (requires { where.get_executor(); }) {
    spawn(where.get_executor(), std::move(work), std::move(at_end), stop);
  } else if constexpr (std::is_void_v<T>) {
    cofferdam::detail::spawn_coroutine(where, std::move(work), std::move(at_end), stop);
  } else if constexpr (std::is_invocable_v<Handler&, std::exception_ptr>) {
    spawn(
        where, std::move(work), [at_end](std::exception_ptr failure, const T&) mutable { at_end(failure); }, stop);
  } else {
    cofferdam::detail::inplace_callback<std::exception_ptr, T> handler(std::move(at_end));
    asio::co_spawn(asio::any_io_executor(where), std::move(work),
                   asio::bind_cancellation_slot(stop, std::move(handler)));
  }
}

/// Calls `work`, and keeps it until its coroutine has ended.
template <coroutine_factory F>
asio::awaitable<yield_of<F>> called(F work) {
  co_return co_await work();
}

/// The same, for a function that returns the coroutine. It is called on the executor.
template <class Where, coroutine_factory F, class Handler>
void spawn(Where&& where, F work, Handler at_end, asio::cancellation_slot stop = {}) {
  spawn(where, called(std::move(work)), std::move(at_end), stop);
}

}  // namespace cofferdam_test
