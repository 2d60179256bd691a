// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// Limits how fast one program creates pods, so that many environments at once do not use up the API server's share of
/// others: at most 20 pods at once, and 10 per second after that, in each cluster. May be used from several threads.
class creation_rate {
 public:
  using clock = std::chrono::steady_clock;

  static constexpr std::chrono::milliseconds interval{100};
  static constexpr int burst = 20;

  /// Reserves the creation of one pod. Returns the time to wait before it.
  /// \param cluster  the URL of the API server.
  clock::duration reserve(const std::string& cluster, clock::time_point now) {
    const std::lock_guard lock(mutex_);
    clock::time_point& next = next_[cluster];  // the time at which the reserved pods are all within the rate
    next = std::max(next, now);
    const clock::duration wait = std::max(clock::duration::zero(), next - now - (burst - 1) * interval);
    next += interval;
    return wait;
  }

  /// Gives back a reservation that was not used.
  void give_back(const std::string& cluster) {
    const std::lock_guard lock(mutex_);
    next_[cluster] -= interval;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, clock::time_point> next_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
