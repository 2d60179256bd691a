// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/callbacks.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A timer that calls a function when a time limit expires, usually to close the stream that is being awaited. Moving
/// the limit to a later time is cheap: the running timer is not restarted, but compares the clock with the new limit
/// when it fires.
class deadline_timer {
 public:
  using clock = std::chrono::steady_clock;

  deadline_timer() = default;
  deadline_timer(const asio::any_io_executor& executor, std::function<void()> expire)
      : state_(std::make_shared<state>(executor, std::move(expire))) {}
  deadline_timer(deadline_timer&&) = default;
  deadline_timer& operator=(deadline_timer&& other) noexcept {
    stop();
    state_ = std::move(other.state_);
    return *this;
  }
  ~deadline_timer() { stop(); }

  /// Sets the limit, counted from now.
  /// \param limit  no value removes the limit, and so does a value of more than 365 days.
  void arm(std::optional<std::chrono::milliseconds> limit) {
    if (!limit || *limit > std::chrono::hours(24 * 365)) return disarm();
    arm_until(clock::now() + *limit);
  }
  /// Sets the limit to a point in time. Does nothing after the limit has expired.
  void arm_until(clock::time_point due) {
    if (!state_ || state_->expired) return;
    state_->due = due;
    if (!state_->running || state_->timer.expiry() > due) wait(state_);
  }
  /// Removes the limit, but leaves the timer running.
  void disarm() noexcept {
    if (state_) state_->due = clock::time_point::max();
  }
  /// Removes the limit and cancels the timer. A running timer would keep `io_context::run` from returning.
  void rest() noexcept {
    if (!state_) return;
    disarm();
    state_->running = false;
    try {
      state_->timer.cancel();
    } catch (const std::system_error&) {  // if the timer cannot be cancelled, it fires without an effect
    }
  }
  /// Ends the use of this object: the function will not be called any more.
  void stop() noexcept {
    if (!state_) return;
    state_->expire = nullptr;
    rest();
  }
  bool expired() const noexcept { return state_ && state_->expired; }

 private:
  struct state {
    state(const asio::any_io_executor& executor, std::function<void()> call)
        : timer(executor), expire(std::move(call)) {}
    asio::steady_timer timer;
    std::function<void()> expire;
    clock::time_point due = clock::time_point::max();
    bool running = false;
    bool expired = false;
  };

  static void wait(const std::shared_ptr<state>& self) {
    self->running = true;
    self->timer.expires_at(self->due);
    on_expiry(self->timer, [self](std::error_code failure) {
      if (failure) return;  // the timer was cancelled or moved to an earlier time
      self->running = false;
      if (self->due == clock::time_point::max() || !self->expire) return;
      if (clock::now() < self->due) return wait(self);
      self->expired = true;
      std::exchange(self->expire, nullptr)();
    });
  }

  std::shared_ptr<state> state_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
