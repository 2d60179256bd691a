// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/process.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/core/streaming_environment.hpp>

#include <asio/this_coro.hpp>

#include <concepts>
#include <csignal>
#include <exception>
#include <utility>

namespace cofferdam::inline v0 {

namespace detail {

inline awaitable<void> kill_and_wait(process& running) {
  co_await running.signal(SIGKILL);
  co_await running.wait();
}

}  // namespace detail

/// Runs a command and hands over each piece of its output as it comes.
///
/// While `on_output` works, the command waits once its pipe is full. Where `on_output` throws, the command is ended and
/// the exception arrives here.
/// \param environment  kept by the caller until the awaitable completes.
/// \param on_output    called with `const chunk&`, never with an empty one.
/// \return             what `run_command` would return.
/// \par Cancellation   terminal: the command is ended, then `error{errc::cancelled}`.
template <streaming_environment E, std::invocable<const chunk&> OnOutput>
awaitable<command_result> stream_output(E& environment, command c, OnOutput on_output) {
  process running = co_await environment.start(std::move(c));
  std::exception_ptr failure;
  try {
    for (;;) {
      chunk piece = co_await running.read();
      if (piece.end()) break;
      on_output(std::as_const(piece));
    }
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) {
    command_result result = co_await running.wait();
    co_return result;
  }
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await detail::shielded([&running] { return detail::kill_and_wait(running); });
  co_await asio::this_coro::throw_if_cancelled(throws);
  std::rethrow_exception(failure);
}

}  // namespace cofferdam::inline v0
