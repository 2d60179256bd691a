// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>

namespace cofferdam::inline v0::e2b {

/// How often sandboxes may be created: a bucket of tokens. Copies share it, so that one gate serves several providers, as
/// E2B counts by account (5 in a second for most).
/// \par Threads  any.
class create_gate {
 public:
  using clock = std::chrono::steady_clock;

  /// \param burst     how many may come at once after a rest; at least 1.
  /// \param interval  how long one more takes; zero or more.
  /// \throws error{errc::invalid_argument} for another number or interval.
  create_gate(std::size_t burst, std::chrono::milliseconds interval) {
    if (burst == 0) throw error(errc::invalid_argument, "e2b: a create_gate lets at least one through");
    if (interval < std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, "e2b: a create_gate's interval must not be negative");
    state_ = std::make_shared<state>();
    state_->interval = interval;
    state_->room = interval * static_cast<std::chrono::milliseconds::rep>(burst - 1);
  }

  /// Takes a token. \return  when it may be used: now, or later.
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

}  // namespace cofferdam::inline v0::e2b
