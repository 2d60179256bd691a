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

/// Receives signals. A signal that repeats the last one within 200 ms is dropped: timeout(1) and some supervisors send
/// a signal to their child and then to its process group, so the child gets it twice.
class user_signals {
 public:
  explicit user_signals(asio::io_context& loop) : signals_(loop) {}

  /// Adds a signal to those that are received.
  void add(int number) { signals_.add(number); }
  /// Calls `on_signal` with the number of each signal from now on.
  void start(std::function<void(int)> on_signal);
  /// Receives no more signals, so that the event loop can end.
  void stop();

 private:
  void wait();
  bool is_copy(int number);

  asio::signal_set signals_;
  std::function<void(int)> on_signal_;
  int last_ = 0;
  std::chrono::steady_clock::time_point at_;
  bool has_stopped_ = false;
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
  void on_signal();

  user_signals signals_;
  asio::steady_timer last_moment_;
  std::function<void()> stop_;
  bool has_stopped_ = false;
};

}  // namespace program
