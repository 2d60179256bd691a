// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <chrono>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The times in a row at which a warden has not answered between two pings.
class warden_silence {
 public:
  /// The number of pings in one lease, the maximum time without contact after which the warden ends all commands.
  static constexpr int in_lease = 3;

  /// Counts one time. Returns true if the warden has been silent for a whole lease, so that it has ended everything,
  /// and the session is lost.
  /// \param beat  the time between two pings.
  bool is_too_long(std::chrono::milliseconds beat) {
    const auto now = std::chrono::steady_clock::now();
    count_ = now - last_ < beat + beat / 2 ? count_ + 1 : 1;
    last_ = now;
    return count_ >= in_lease;
  }

 private:
  std::chrono::steady_clock::time_point last_;
  int count_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
