// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The outcome of a wait for an `async_event`.
enum class wait_result { notified, timed_out, cancelled };

/// An event that coroutines of one executor wait for. `notify()` ends the waits under way and has no effect on later
/// waits. So a coroutine tests its condition, waits, and tests again. The executor must be a strand or be run by one
/// thread. The destructor ends the waits under way as cancelled.
class async_event {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr clock::time_point never = clock::time_point::max();

  explicit async_event(asio::any_io_executor executor) noexcept : executor_(std::move(executor)) {}
  async_event(const async_event&) = delete;
  async_event& operator=(const async_event&) = delete;
  ~async_event();

  const asio::any_io_executor& executor() const noexcept { return executor_; }

  /// Ends the waits under way. Their coroutines continue from the event loop, not inside this call.
  void notify() noexcept;

  /// Waits for the next `notify()`.
  /// \param until  the wait ends at this time at the latest.
  /// \return  `cancelled` if the coroutine was cancelled, even if `notify()` was called too: a second wait would throw.
  ///          Otherwise `notified` if `notify()` was called, even if `until` has passed. Otherwise `timed_out`.
  /// \par Cancellation  ends the wait, and throws nothing here.
  template <class = void>
  awaitable<wait_result> wait(clock::time_point until = never);

 private:
  class waiter;

  asio::any_io_executor executor_;
  waiter* first_ = nullptr;  // the waiters are in the frames of their coroutines
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/core/impl/async_event.ipp>
#endif
