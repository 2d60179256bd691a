// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/testing/detail/conformance_base.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::testing::detail {

/// A coroutine that runs beside a check. It may outlive the check, which ends early if it throws. Therefore the
/// coroutine shares its state with this object, and owns what it uses or refers only to the environment.
class side_task {
 public:
  /// Starts the coroutine.
  /// \param work  a callable that returns the coroutine. An `error` that it throws is stored; any other exception fails
  ///              the test.
  template <class Work>
  side_task(const asio::any_io_executor& executor, Work work) : state_(std::make_shared<state>()) {
    auto ended = [kept = state_](const std::exception_ptr& failure) {
      expect_nothing_thrown(failure, "a coroutine beside the check");
      kept->has_ended = true;
    };
    asio::co_spawn(executor, record(state_, std::move(work)),
                   asio::bind_cancellation_slot(state_->cancel.slot(), std::move(ended)));
  }

  void cancel() { state_->cancel.emit(asio::cancellation_type::terminal); }
  bool has_ended() const noexcept { return state_->has_ended; }

  awaitable<void> end() const {
    const std::shared_ptr<const state> kept = state_;
    while (!kept->has_ended) co_await sleep_for(std::chrono::milliseconds(1));
  }

  /// Returns the code of the stored error; a code without an error if the coroutine threw none.
  std::error_code code() const noexcept { return state_->code; }
  /// Returns the standard output in the partial result of the stored error.
  const std::string& partial() const noexcept { return state_->partial; }

 private:
  struct state {
    asio::cancellation_signal cancel;
    bool has_ended = false;
    std::error_code code;
    std::string partial;
  };

  template <class Work>
  static awaitable<void> record(std::shared_ptr<state> kept, Work work) {
    try {
      co_await work();
    } catch (const error& failure) {
      kept->code = failure.code();
      if (failure.partial() != nullptr) kept->partial = failure.partial()->out().text();
    }
  }

  std::shared_ptr<state> state_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::testing::detail
