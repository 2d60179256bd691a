// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The reason why a wait for an `async_event` ended.
enum class wait_result { notified, timed_out, cancelled };

/// A notification for coroutines on one executor, similar to a condition variable. `notify()` ends the current waits
/// and has no effect on later waits. So a coroutine tests its condition, waits, and tests the condition again. The
/// executor must be a strand, or be run by one thread only. The destructor ends the current waits with `cancelled`.
class async_event {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr clock::time_point never = clock::time_point::max();

  explicit async_event(asio::any_io_executor executor) noexcept : executor_(std::move(executor)) {}
  async_event(const async_event&) = delete;
  async_event& operator=(const async_event&) = delete;
  ~async_event();

  const asio::any_io_executor& executor() const noexcept { return executor_; }

  /// Ends the current waits. The waiting coroutines continue later, from the event loop, in the order in which they
  /// began to wait, and not inside this call.
  void notify() noexcept;

  /// Waits for the next `notify()`.
  /// \param until  the time at which the wait ends at the latest; the default is no limit.
  /// \return  `cancelled` if the coroutine was cancelled, even if `notify()` was called too. The caller must not wait
  ///          again, because Asio makes the next wait of a cancelled coroutine throw. Otherwise `notified` if
  ///          `notify()` was called, even if `until` has passed. Otherwise `timed_out`.
  /// \par Cancellation  ends the wait; the result is `cancelled`, and this function throws nothing.
  template <class = void>
  awaitable<wait_result> wait(clock::time_point until = never);

 private:
  class waiter;

  asio::any_io_executor executor_;
  // A linked list, the longest wait first. Each waiter is in the frame of its coroutine.
  waiter* first_ = nullptr;
  waiter** end_ = &first_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/core/impl/async_event.ipp>
#endif
