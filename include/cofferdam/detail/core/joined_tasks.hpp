// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/async_event.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <list>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Coroutines that run in the background until they end or are cancelled; `join` waits for them. Objects of this class
/// are owned by shared pointers, because they may outlive the coroutine that has started the tasks.
class joined_tasks : public std::enable_shared_from_this<joined_tasks> {
 public:
  explicit joined_tasks(asio::any_io_executor executor) : executor_(std::move(executor)), ended_(executor_) {}

  /// Starts a coroutine in the background.
  /// \param work  a coroutine that keeps the objects it uses alive.
  void spawn(awaitable<void> work) {
    std::erase_if(tasks_, [](const std::shared_ptr<task>& entry) { return entry->ended; });
    const auto mine = std::make_shared<task>();
    tasks_.push_back(mine);
    ++running_;
    auto done = [self = shared_from_this(), mine](const std::exception_ptr& failure) {
      mine->ended = true;
      --self->running_;
      if (failure && !self->cancelled_ && !self->failure_) self->failure_ = failure;
      self->ended_.notify();
    };
    asio::co_spawn(executor_, std::move(work), asio::bind_cancellation_slot(mine->cancel.slot(), std::move(done)));
  }

  /// Cancels all tasks (terminal), and ignores their exceptions from now on.
  void cancel() {
    cancelled_ = true;
    const std::list<std::shared_ptr<task>> snapshot = tasks_;
    for (const std::shared_ptr<task>& entry : snapshot)
      if (!entry->ended) entry->cancel.emit(asio::cancellation_type::terminal);
  }

  /// Waits until all tasks have ended, at most for the time `limit`.
  template <class = void>
  static awaitable<void> wait(std::shared_ptr<joined_tasks> self, std::chrono::milliseconds limit) {
    const auto until = async_event::clock::now() + limit;
    while (self->running_ != 0 && async_event::clock::now() < until) co_await self->ended_.wait(until);
  }

  /// Waits until all tasks have ended. Rethrows the first exception that a task threw before `cancel` was called. Must
  /// not be cancelled.
  template <class = void>
  static awaitable<void> join(std::shared_ptr<joined_tasks> self) {
    while (self->running_ != 0) co_await self->ended_.wait();
    self->tasks_.clear();
    if (const std::exception_ptr failure = std::exchange(self->failure_, nullptr)) std::rethrow_exception(failure);
  }

 private:
  struct task {
    asio::cancellation_signal cancel;
    bool ended = false;
  };
  asio::any_io_executor executor_;
  async_event ended_;
  std::list<std::shared_ptr<task>> tasks_;
  std::size_t running_ = 0;
  std::exception_ptr failure_;
  bool cancelled_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
