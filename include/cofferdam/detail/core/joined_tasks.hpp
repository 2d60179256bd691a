// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/callbacks.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>

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
  template <class = void>
  void spawn(awaitable<void> work) {
    std::erase_if(tasks_, [](const std::shared_ptr<task>& entry) { return entry->ended; });
    const auto mine = std::make_shared<task>();
    tasks_.push_back(mine);
    ++running_;
    auto done = [last = running_task(shared_from_this(), mine)](const std::exception_ptr& failure) {
      last.ended(failure);
    };
    spawn_coroutine(executor_, std::move(work), std::move(done), mine->cancel.slot());
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

  /// A task that has not ended. When an event loop is destroyed, it destroys its coroutines without a call of their
  /// completion handlers. The task counts as ended then, because a signal to it would reach destroyed objects.
  class running_task {
   public:
    running_task(std::shared_ptr<joined_tasks> all, std::shared_ptr<task> mine) noexcept
        : all_(std::move(all)), mine_(std::move(mine)) {}
    running_task(running_task&&) noexcept = default;
    running_task& operator=(running_task&&) = delete;
    ~running_task() {
      if (mine_ && !mine_->ended) count();
    }

    void ended(const std::exception_ptr& failure) const {
      count();
      if (failure && !all_->cancelled_ && !all_->failure_) all_->failure_ = failure;
      all_->ended_.notify();
    }

   private:
    void count() const noexcept {
      mine_->ended = true;
      --all_->running_;
    }

    std::shared_ptr<joined_tasks> all_;
    std::shared_ptr<task> mine_;
  };

  asio::any_io_executor executor_;
  async_event ended_;
  std::list<std::shared_ptr<task>> tasks_;
  std::size_t running_ = 0;
  std::exception_ptr failure_;
  bool cancelled_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
