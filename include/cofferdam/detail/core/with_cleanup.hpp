// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/callable_ref.hpp>

#include <exception>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The condition for running a cleanup.
enum class cleanup_when { always, after_failure };

/// A function that selects the failure to report if the body, the cleanup or both failed. An argument is null if that
/// part did not fail.
using failure_choice = std::exception_ptr (*)(std::exception_ptr of_body, std::exception_ptr of_cleanup);

/// Returns the failure of the body if it failed, and otherwise the failure of the cleanup.
inline std::exception_ptr earlier_failure(std::exception_ptr of_body, std::exception_ptr of_cleanup) {
  return of_body ? of_body : of_cleanup;
}

/// Implements with_cleanup() and with_cleanup_after_failure().
template <class = void>
awaitable<void> run_with_cleanup(callable_ref<awaitable<void>()> body, callable_ref<awaitable<void>()> cleanup,
                                 cleanup_when when, failure_choice choose);

/// Runs `body()`, then the awaitable that `cleanup()` returns, and then rethrows the exception of the body, if there
/// was one. The cleanup runs to its end, even if the awaiting coroutine is cancelled before or meanwhile. The
/// cancellation state of that coroutine stays unchanged. The cleanup also runs if a cancelled body returns normally,
/// for example because it received `wait_result::cancelled`.
///
/// Acquire the resources that need the cleanup inside the body. If the coroutine is cancelled already, awaiting this
/// function throws, and neither body nor cleanup runs.
/// \param body     a named callable without parameters that returns `awaitable<void>`, usually a lambda that captures
///                 by reference. The caller keeps it alive until the awaitable completes.
/// \param cleanup  a callable like `body`. It is called as soon as the body has ended, so its part before the first
///                 await runs at once. If it has nothing to await, it returns `{}`.
/// \param choose   selects the failure to report if both fail; the default selects the failure of the body.
template <class Body, class Cleanup>
awaitable<void> with_cleanup(Body& body, Cleanup& cleanup, failure_choice choose = earlier_failure) {
  return run_with_cleanup(body, cleanup, cleanup_when::always, choose);
}

/// Runs `body()`, and runs the cleanup only if the body throws. Otherwise it works as with_cleanup().
template <class Body, class Cleanup>
awaitable<void> with_cleanup_after_failure(Body& body, Cleanup& cleanup) {
  return run_with_cleanup(body, cleanup, cleanup_when::after_failure, earlier_failure);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/core/impl/with_cleanup.ipp>
#endif
