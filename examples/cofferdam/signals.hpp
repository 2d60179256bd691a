// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <functional>

// Signals of the user.

namespace program {

/// A filter that counts copies of one signal as one. timeout(1) and some supervisors send a signal to their child and
/// then to its process group, so the child gets it twice.
class signal_filter {
 public:
  /// Returns true if the signal is a copy of the last one: the same signal, at most 200 ms later.
  bool is_copy(int number);

 private:
  int last_ = 0;
  std::chrono::steady_clock::time_point at_;
};

/// The signals that end a server, SIGINT and SIGTERM.
class stop_signals {
 public:
  explicit stop_signals(asio::io_context& loop);

  /// Calls `stop` at the first signal. If the server has not ended 9 s later, or at a second signal, the program ends
  /// at once with status 125.
  void start(std::function<void()> stop);
  /// Waits no longer. Called when the server has ended.
  void cancel();
  /// Returns true if a signal has arrived.
  bool has_stopped() const { return has_stopped_; }

 private:
  void wait();
  void on_signal(int number);

  asio::signal_set signals_;
  asio::steady_timer last_moment_;
  std::function<void()> stop_;
  signal_filter filter_;
  bool has_stopped_ = false;
  bool has_ended_ = false;
};

}  // namespace program
