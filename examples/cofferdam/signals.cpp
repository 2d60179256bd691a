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

bool signal_filter::is_copy(int number) {
  const auto now = std::chrono::steady_clock::now();
  if (number == last_ && now - at_ <= std::chrono::milliseconds(200)) return true;
  last_ = number;
  at_ = now;
  return false;
}

stop_signals::stop_signals(asio::io_context& loop) : signals_(loop, SIGINT, SIGTERM), last_moment_(loop) {}

void stop_signals::start(std::function<void()> stop) {
  stop_ = std::move(stop);
  wait();
}

void stop_signals::cancel() {
  has_ended_ = true;
  signals_.cancel();
  last_moment_.cancel();
}

void stop_signals::wait() {
  signals_.async_wait([this](const std::error_code& cancelled, int number) {
    if (cancelled || has_ended_) return;
    wait();
    on_signal(number);
  });
}

void stop_signals::on_signal(int number) {
  if (filter_.is_copy(number)) return;
  if (has_stopped_) give_up("stopped by a second signal before all environments were closed");
  has_stopped_ = true;
  last_moment_.expires_after(longest_end);
  last_moment_.async_wait([](const std::error_code& in_time) {
    if (!in_time) give_up("the open environments did not close in time");
  });
  stop_();
}

}  // namespace program
