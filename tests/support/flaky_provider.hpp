// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/testing/fake_provider.hpp>

#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

namespace cofferdam_test {

/// A provider that opens environments of a `cofferdam::testing::fake_provider`, after the failures that the test has
/// listed. Copies share the list.
class flaky_provider {
 public:
  explicit flaky_provider(cofferdam::testing::fake_provider fake) : fake_(std::move(fake)) {}

  /// Lets the next attempts to open fail, in this order.
  flaky_provider& fail(std::vector<cofferdam::error> failures) {
    state_->failures = std::move(failures);
    return *this;
  }
  /// Delays each attempt to open.
  flaky_provider& delay(std::chrono::milliseconds time) {
    state_->delay = time;
    return *this;
  }
  /// Returns the number of attempts to open.
  std::size_t attempts() const noexcept { return state_->attempts; }

  cofferdam::awaitable<cofferdam::testing::fake_environment> open() const { return open_with(state_, fake_); }

 private:
  struct state {
    std::vector<cofferdam::error> failures;
    std::chrono::milliseconds delay{0};
    std::size_t attempts = 0;
  };

  static cofferdam::awaitable<cofferdam::testing::fake_environment> open_with(std::shared_ptr<state> from,
                                                                              cofferdam::testing::fake_provider fake) {
    const std::size_t number = from->attempts++;
    if (from->delay.count() != 0) {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      asio::steady_timer timer(executor, from->delay);
      co_await timer.async_wait(asio::use_awaitable);
    }
    if (number < from->failures.size()) throw from->failures[number];
    cofferdam::testing::fake_environment opened = co_await fake.open();
    co_return opened;
  }

  std::shared_ptr<state> state_ = std::make_shared<state>();
  cofferdam::testing::fake_provider fake_;
};

}  // namespace cofferdam_test
