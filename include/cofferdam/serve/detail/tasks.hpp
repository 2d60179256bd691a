// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <list>
#include <memory>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0::detail {

/// Something that happens again and again, and coroutines of one executor that wait for it. Outlives them.
class recurring_event {
 public:
  explicit recurring_event(const asio::any_io_executor& executor)
      : timer_(executor, std::chrono::steady_clock::time_point::max()) {}

  /// Until the next `happened`, or cancellation, which throws at the coroutine's next step.
  awaitable<void> next() {
    std::error_code woken;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  void happened() noexcept {
    try {
      timer_.cancel();
    } catch (const std::system_error&) {  // then nobody waits
    }
  }

 private:
  asio::steady_timer timer_;
};

/// Coroutines that run beside others and have one end: `join`. Held by shared pointers, since they may end later than
/// who has begun them.
class joined_tasks : public std::enable_shared_from_this<joined_tasks> {
 public:
  explicit joined_tasks(asio::any_io_executor executor) : executor_(std::move(executor)), ended_(executor_) {}

  /// \param work  keeps alive what it needs.
  void spawn(awaitable<void> work) {
    std::erase_if(tasks_, [](const std::shared_ptr<task>& one) { return one->ended; });
    const auto mine = std::make_shared<task>();
    tasks_.push_back(mine);
    ++running_;
    auto done = [self = shared_from_this(), mine](const std::exception_ptr& failure) {
      mine->ended = true;
      --self->running_;
      if (failure && !self->cancelled_ && !self->failure_) self->failure_ = failure;
      self->ended_.happened();
    };
    asio::co_spawn(executor_, std::move(work), asio::bind_cancellation_slot(mine->cancel.slot(), std::move(done)));
  }

  void cancel() {
    cancelled_ = true;
    const std::list<std::shared_ptr<task>> all = tasks_;
    for (const std::shared_ptr<task>& one : all)
      if (!one->ended) one->cancel.emit(asio::cancellation_type::terminal);
  }

  /// Waits for all. What the first of them threw before `cancel` is thrown. Not to be cancelled.
  static awaitable<void> join(std::shared_ptr<joined_tasks> self) {
    while (self->running_ != 0) co_await self->ended_.next();
    self->tasks_.clear();
    if (const std::exception_ptr failure = std::exchange(self->failure_, nullptr)) std::rethrow_exception(failure);
  }

 private:
  struct task {
    asio::cancellation_signal cancel;
    bool ended = false;
  };
  asio::any_io_executor executor_;
  recurring_event ended_;
  std::list<std::shared_ptr<task>> tasks_;
  std::size_t running_ = 0;
  std::exception_ptr failure_;
  bool cancelled_ = false;
};

}  // namespace cofferdam::inline v0::detail
