// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <exception>
#include <functional>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The condition under which a cleanup runs.
enum class cleanup_when { always, after_failure };

/// Chooses which of two failures is reported; either may be null.
using failure_choice = std::exception_ptr (*)(std::exception_ptr of_body, std::exception_ptr of_cleanup);

/// Chooses the body's failure, if it has one.
inline std::exception_ptr earlier_failure(std::exception_ptr of_body, std::exception_ptr of_cleanup) {
  return of_body ? of_body : of_cleanup;
}

/// Runs a body and a cleanup; with_cleanup() and with_cleanup_after_failure() describe it.
template <class = void>
awaitable<void> run_with_cleanup(std::function<awaitable<void>()> body, std::function<awaitable<void>()> cleanup,
                                 cleanup_when when, failure_choice choose);

/// Runs `body()`, then the awaitable that `cleanup()` returns, and rethrows the exception of the body. The cleanup runs
/// to its end, even if the awaiting coroutine was or is cancelled. The cancellation state of that coroutine is
/// unchanged. If a cancelled body reports this by a value (`wait_result`), the cleanup runs too.
///
/// Resources that need the cleanup must be acquired inside the body: a cancelled coroutine throws when it awaits
/// anything, this function included, and then neither body nor cleanup runs.
/// \param body     a named callable without parameters that returns `awaitable<void>`, usually a lambda that captures
///                 by reference; kept by the caller until the awaitable completes.
/// \param cleanup  the same. It is called as soon as the body has ended, so its synchronous part is done at once. If it
///                 has nothing to await, it returns `{}`.
/// \param choose   selects the failure to report if both fail.
template <class Body, class Cleanup>
awaitable<void> with_cleanup(Body& body, Cleanup& cleanup, failure_choice choose = earlier_failure) {
  return run_with_cleanup(std::ref(body), std::ref(cleanup), cleanup_when::always, choose);
}

/// Runs `body()`, and if it throws, runs the cleanup; see with_cleanup().
template <class Body, class Cleanup>
awaitable<void> with_cleanup_after_failure(Body& body, Cleanup& cleanup) {
  return run_with_cleanup(std::ref(body), std::ref(cleanup), cleanup_when::after_failure, earlier_failure);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/core/impl/with_cleanup.ipp>
#endif
