// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/detail/core/rethrow_cancellation.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <concepts>
#include <csignal>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

inline awaitable<void> kill_and_wait(process& running) {
  try {
    co_await running.signal(SIGKILL);
    co_await running.wait();
  } catch (const error&) {  // an earlier failure is already reported to the caller
  }
}

template <streaming_environment E, std::invocable<const output_chunk&> OnOutput>
awaitable<command_result> stream_to(E& environment, command c, OnOutput on_output) {
  std::optional<process> running;
  bool is_of_listener = false;
  command_result result;
  const auto reads = [&]() -> awaitable<void> {
    process started = co_await environment.start(std::move(c));
    running.emplace(std::move(started));
    for (;;) {
      output_chunk piece = co_await running->read();
      if (piece.end()) break;
      is_of_listener = true;
      on_output(std::as_const(piece));
      is_of_listener = false;
    }
    result = co_await std::move(*running).wait();
  };
  const auto kills = [&running]() -> awaitable<void> {
    if (!running) return {};
    return kill_and_wait(*running);
  };
  constexpr const char* cancelled = "stream_output: cancelled; the command was ended";
  try {
    co_await with_cleanup_after_failure(reads, kills);
  } catch (const error& reason) {
    // A cancelled read() leaves the command running. The command has been ended since then.
    if (!running || is_of_listener || reason.code() != exec_errc::cancelled) throw;
    throw error(exec_errc::cancelled, cancelled, reason.cause());
  } catch (const std::system_error& reason) {
    if (!running) throw;
    rethrow_cancellation(reason, cancelled);
  }
  co_return result;
}

}  // namespace detail

/// Runs a command and hands over each piece of its output as it comes.
///
/// While `on_output` works, the command waits once its pipe is full. Where `on_output` throws, the command is ended and
/// the exception arrives here.
/// \param environment  kept by the caller until the awaitable completes.
/// \param on_output    called with `const output_chunk&`, never with an empty one. A named callable is copied; a lambda
///                     that captures by value is named first (g++ before 13 refuses a temporary one).
/// \return             what `run_command` would return.
/// \par Cancellation   terminal: the command is ended, then `error{exec_errc::cancelled}`.
template <streaming_environment E, class OnOutput>
  requires std::invocable<std::decay_t<OnOutput>&, const output_chunk&>
awaitable<command_result> stream_output(E& environment, command c, OnOutput&& on_output) {
  detail::require_safe_callable<OnOutput>();
  return detail::stream_to(environment, std::move(c), std::decay_t<OnOutput>(std::forward<OnOutput>(on_output)));
}

}  // namespace cofferdam::inline COFFERDAM_ABI
