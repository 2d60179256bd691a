// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "signals.hpp"

#include "serving.hpp"

#include <asio/io_context.hpp>

#include <chrono>
#include <csignal>
#include <functional>
#include <system_error>
#include <utility>

namespace program {

void user_signals::start(std::function<void(int)> on_signal) {
  on_signal_ = std::move(on_signal);
  wait();
}

void user_signals::stop() {
  has_stopped_ = true;
  signals_.cancel();
}

void user_signals::wait() {
  signals_.async_wait([this](const std::error_code& cancelled, int number) {
    if (cancelled || has_stopped_) return;
    wait();
    if (!is_copy(number)) on_signal_(number);
  });
}

bool user_signals::is_copy(int number) {
  const auto now = std::chrono::steady_clock::now();
  if (number == last_ && now - at_ <= std::chrono::milliseconds(200)) return true;
  last_ = number;
  at_ = now;
  return false;
}

stop_signals::stop_signals(asio::io_context& loop) : signals_(loop), last_moment_(loop) {
  signals_.add(SIGINT);
  signals_.add(SIGTERM);
}

void stop_signals::start(std::function<void()> stop) {
  stop_ = std::move(stop);
  signals_.start([this](int) { on_signal(); });
}

void stop_signals::cancel() {
  signals_.stop();
  last_moment_.cancel();
}

void stop_signals::on_signal() {
  if (has_stopped_) give_up("stopped by a second signal before all environments were closed");
  has_stopped_ = true;
  last_moment_.expires_after(longest_end);
  last_moment_.async_wait([](const std::error_code& in_time) {
    if (!in_time) give_up("the open environments did not close in time");
  });
  stop_();
}

}  // namespace program
