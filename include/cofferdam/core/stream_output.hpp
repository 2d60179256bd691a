// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/rethrow_cancellation.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/core/streaming_environment.hpp>

#include <asio/this_coro.hpp>

#include <concepts>
#include <csignal>
#include <exception>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0 {

namespace detail {

inline awaitable<void> kill_and_wait(process& running) {
  try {
    co_await running.signal(SIGKILL);
    co_await running.wait();
  } catch (const error&) {  // it ended otherwise, or was lost: why we are here is what the caller is to know
  }
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
  command_result result;
  try {
    for (;;) {
      chunk piece = co_await running.read();
      if (piece.end()) break;
      on_output(std::as_const(piece));
    }
    result = co_await running.wait();
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return result;
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await detail::shielded([&running] { return detail::kill_and_wait(running); });
  co_await asio::this_coro::throw_if_cancelled(throws);
  try {
    std::rethrow_exception(failure);
  } catch (const error&) {
    throw;
  } catch (const std::system_error& reason) {
    detail::rethrow_cancellation(reason, "stream_output: cancelled; the command was ended");
  }
}

}  // namespace cofferdam::inline v0
