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

/// The end of a program's coroutine.
class run_outcome {
 public:
  std::exception_ptr failure;
  bool has_ended = false;
  int signal = 0;  ///< SIGINT or SIGTERM if one has cancelled it, or 0
};

/// Runs a loop until it has no work left.
run_outcome run_loop(awaitable<void> work);

/// Returns the exit status of a program: 1 after a failure, 128 and the signal's number if that ended it. Prints one
/// sentence on standard error after a failure.
int exit_status(const run_outcome& end, int value) noexcept;

/// Stores what a coroutine returns.
template <class T>
awaitable<void> store(awaitable<T> work, std::optional<T>& into) {
  T value = co_await std::move(work);
  into.emplace(std::move(value));
}

}  // namespace detail

/// Runs a coroutine as the whole of a program, on a loop of its own, and returns the exit status for `main`:
///
///     int main() { return cofferdam::run(hello()); }
///
/// The status is 0, or 1 after an exception, of which one sentence is printed on standard error. SIGINT and SIGTERM
/// cancel the coroutine once: environments close in order, and the status is 130 or 143. A second signal has its
/// default action, so it ends the program at once. A signal that the program ignores stays ignored, and the actions for
/// both are restored at the end. SIGCHLD is not touched.
///
/// Returns when the loop has no work left. Once the coroutine has ended, both signals have their default actions. Must
/// not be called inside a coroutine, nor twice at a time in a program.
int run(awaitable<void> work);

/// Runs a coroutine as the whole of a program; its value is the exit status. Otherwise as above.
int run(awaitable<int> work);

/// Runs a coroutine on a loop of its own and returns its value, which must not refer to the loop, as environments and
/// runners do.
/// \throws what the coroutine throws; SIGINT and SIGTERM cancel it, as above.
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
