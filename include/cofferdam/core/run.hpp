// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// The outcome of the coroutine that `run` or `run_value` ran.
class run_outcome {
 public:
  std::exception_ptr failure;
  bool has_ended = false;
  int signal = 0;  ///< the signal that cancelled the coroutine, SIGINT or SIGTERM; 0 if none did
};

/// Runs `work` on a new event loop until the loop has no work left.
template <class = void>
run_outcome run_loop(awaitable<void> work);

/// Returns the exit status of the program: `value` if the coroutine succeeded, 128 plus the signal's number if a signal
/// ended the coroutine, and 1 after any other failure. Prints the failure on standard error, unless it is the
/// cancellation that the signal caused.
int exit_status(const run_outcome& end, int value) noexcept;

/// Awaits a coroutine and stores its result in `into`.
template <class T>
awaitable<void> store(awaitable<T> work, std::optional<T>& into) {
  T value = co_await std::move(work);
  into.emplace(std::move(value));
}

}  // namespace detail

/// Runs a coroutine as the whole program, on a new event loop. Returns the exit status for `main`:
///
///     int main() { return cofferdam::run(hello()); }
///
/// The status is 0 if the coroutine succeeds. It is 1 if the coroutine throws; the exception's message is then printed
/// on standard error.
///
/// The first SIGINT or SIGTERM cancels the coroutine, so that it can close its environments; the status is then 130 or
/// 143. A second signal has its default action and ends the program at once. If the program ignores one of these
/// signals, `run` leaves it ignored. The program's own handlers for both signals are restored at the end. `run` does
/// not change the handling of SIGCHLD.
///
/// Returns when the event loop has no work left. This can be later than the end of the coroutine; both signals have
/// their default actions in between. Do not call this function inside a coroutine, or twice at the same time in one
/// program.
template <class = void>
int run(awaitable<void> work);

/// Runs a coroutine as the whole program, as `run(awaitable<void>)` does. The value of the coroutine is the exit
/// status.
template <class = void>
int run(awaitable<int> work);

/// Runs a coroutine on a new event loop and returns its value. The value must not refer to the event loop, which no
/// longer exists then. For example, the value must not be an environment or a runner.
/// \throws  the exception of the coroutine. SIGINT and SIGTERM cancel the coroutine, as with `run`.
template <class T>
T run_value(awaitable<T> work) {
  std::optional<T> value;
  const detail::run_outcome end = detail::run_loop(detail::store<T>(std::move(work), value));
  if (end.failure) std::rethrow_exception(end.failure);
  return std::move(*value);
}

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/core/impl/run.ipp>
#endif
