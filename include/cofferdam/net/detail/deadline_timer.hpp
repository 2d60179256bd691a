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

/// Calls a function when a time limit expires, usually to close the object that is awaited. Moving the limit costs only
/// a reading of the clock: the timer runs on and checks again when it expires.
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
  /// \param limit  no value: no limit.
  void arm(std::optional<std::chrono::milliseconds> limit) {
    if (!limit || *limit > std::chrono::hours(24 * 365)) return disarm();
    arm_until(clock::now() + *limit);
  }
  void arm_until(clock::time_point due) {
    if (!state_ || state_->expired) return;
    state_->due = due;
    if (!state_->running || state_->timer.expiry() > due) wait(state_);
  }
  void disarm() noexcept {
    if (state_) state_->due = clock::time_point::max();
  }
  /// Removes the limit, and the timer, which would keep the context running.
  void rest() noexcept {
    if (!state_) return;
    disarm();
    state_->running = false;
    try {
      state_->timer.cancel();
    } catch (const std::system_error&) {  // a timer that was not cancelled has no effect
    }
  }
  /// Never calls the function any more.
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
      if (failure) return;  // stopped, or moved to an earlier time
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
