// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>
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

/// Ends a running command and waits for its end. Throws no `error`.
template <class = void>
awaitable<void> kill_and_wait(process& running) {
  try {
    co_await running.signal(SIGKILL);
    co_await running.wait();
  } catch (const error&) {  // the caller already receives an earlier failure
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
    // The message of a cancelled `read()` reports that the command continues. But `kills` has ended the command by now,
    // so another message is needed.
    if (!running || is_of_listener || reason.code() != exec_errc::cancelled) throw;
    throw error(exec_errc::cancelled, cancelled, reason.cause());
  } catch (const std::system_error& reason) {
    if (!running) throw;
    rethrow_cancellation(reason, cancelled);
  }
  co_return result;
}

}  // namespace detail

/// Runs a command and calls `on_output` with each piece of its output as the piece arrives.
///
/// While `on_output` runs, nothing reads the output, so the command waits when its pipe is full. If `on_output` throws,
/// the command is ended and the exception is thrown to the caller.
/// \param environment  the environment that runs the command; the caller keeps it alive until the awaitable completes.
/// \param c            the command.
/// \param on_output    a callable that takes a `const output_chunk&`; it is never called with an empty piece. A named
///                     callable is copied. With g++ before 13, a lambda that captures by value must be stored in a
///                     variable first.
/// \return             the result that `run_command` would return.
/// \par Cancellation   terminal: the command is ended, then `error{exec_errc::cancelled}` is thrown.
template <streaming_environment E, class OnOutput>
  requires std::invocable<std::decay_t<OnOutput>&, const output_chunk&>
awaitable<command_result> stream_output(E& environment, command c, OnOutput&& on_output) {
  detail::require_safe_callable<OnOutput>();
  return detail::stream_to(environment, std::move(c), std::decay_t<OnOutput>(std::forward<OnOutput>(on_output)));
}

/// Stops the compilation, with an error message for an environment that cannot stream. Code that works with and without
/// streaming tests `streaming_environment<E>`.
template <code_exec_environment E, class OnOutput>
  requires(!streaming_environment<E>)
awaitable<command_result> stream_output(E&, command, OnOutput&&) {
  static_assert(streaming_environment<E>,
                "cofferdam: stream_output needs an environment with awaitable<process> start(command). A layer with a "
                "run_command of its own needs a start of its own too. For a backend without start, await run_command "
                "instead");
  return {};
}

}  // namespace cofferdam::inline COFFERDAM_ABI
