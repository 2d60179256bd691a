// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// A rate limit for the creation of sandboxes: a token bucket. Copies share it, so one gate can serve several
/// providers, because E2B counts by account (5 per second for most accounts).
/// \par Threads  any.
class rate_limiter {
 public:
  using clock = std::chrono::steady_clock;

  /// \param burst     number of creations that may follow each other without a pause; at least 1.
  /// \param interval  time for one more creation; zero or more.
  /// \throws error{errc::invalid_argument} for another number or interval.
  rate_limiter(std::size_t burst, std::chrono::milliseconds interval) {
    if (burst == 0) throw error(exec_errc::invalid_argument, "e2b: a rate_limiter lets at least one through");
    if (interval < std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, "e2b: a rate_limiter's interval must not be negative");
    state_ = std::make_shared<state>();
    state_->interval = interval;
    state_->room = interval * static_cast<std::chrono::milliseconds::rep>(burst - 1);
  }

  /// Takes a token.
  /// \return  the time from which it may be used: now, or later.
  clock::time_point reserve(clock::time_point now = clock::now()) const {
    const std::lock_guard lock(state_->mutex);
    const clock::time_point mine = std::max(state_->next, now - state_->room);
    state_->next = mine + state_->interval;
    return std::max(mine, now);
  }

 private:
  struct state {
    std::mutex mutex;
    std::chrono::milliseconds interval{};
    std::chrono::milliseconds room{};
    clock::time_point next{};
  };
  std::shared_ptr<state> state_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
