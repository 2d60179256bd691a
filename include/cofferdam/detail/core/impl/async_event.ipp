// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/async_event.hpp>

#include <asio/cancellation_state.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// One wait. It is an entry in the event's list and has its own timer, so that each wait can have its own deadline.
class async_event::waiter {
 public:
  waiter(async_event& event, clock::time_point until) : timer(event.executor_, until), event_(&event) {
    before_ = event.end_;
    *before_ = this;
    event.end_ = &next_;
  }
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;
  ~waiter() {
    if (event_ == nullptr) return;
    *before_ = next_;
    if (next_ != nullptr)
      next_->before_ = before_;
    else
      event_->end_ = before_;
  }

  /// Ends the wait with this result, unless it has already ended.
  void end(wait_result with) noexcept {
    if (result != wait_result::timed_out) return;
    result = with;
    try {
      timer.cancel();
    } catch (const std::system_error&) {  // Asio documents this exception, but its timers never throw it
    }
  }
  void forget_event() noexcept { event_ = nullptr; }
  waiter* next() const noexcept { return next_; }

  asio::steady_timer timer;
  wait_result result = wait_result::timed_out;  // the result if nothing ends the wait before its deadline

 private:
  async_event* event_;
  waiter** before_ = nullptr;
  waiter* next_ = nullptr;
};

COFFERDAM_DECL async_event::~async_event() {
  for (waiter* each = first_; each != nullptr; each = each->next()) {
    each->end(wait_result::cancelled);
    each->forget_event();
  }
}

COFFERDAM_DECL void async_event::notify() noexcept {
  for (waiter* each = first_; each != nullptr; each = each->next()) each->end(wait_result::notified);
}

template <class Unused>
awaitable<wait_result> async_event::wait(clock::time_point until) {
  waiter mine(*this, until);
  std::error_code woken;
  co_await mine.timer.async_wait(asio::redirect_error(await_in<Unused>, woken));
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() == asio::cancellation_type::none ? mine.result : wait_result::cancelled;
}

COFFERDAM_INSTANTIATE(awaitable<wait_result> async_event::wait<void>(async_event::clock::time_point))

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
