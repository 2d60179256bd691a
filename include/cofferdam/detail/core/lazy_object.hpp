// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/joined_tasks.hpp>

#include <asio/any_io_executor.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The sentences of the errors of a `lazy_object`.
class lazy_sentences {
 public:
  const char* nothing;  ///< there is no action that opens the object
  const char* closed;   ///< the object was closed
};

/// An object that is opened at its first use. All callers share it. If it is lost, the next use opens a new object. If
/// one caller is cancelled while the object is being opened, the opening continues for the other callers.
template <class T>
class lazy_object : public std::enable_shared_from_this<lazy_object<T>> {
 public:
  using open_action = std::function<awaitable<std::shared_ptr<T>>()>;
  using close_action = std::function<awaitable<void>(std::shared_ptr<T>)>;

  /// \param work  runs the coroutines that open and close the object. The owner cancels and joins it before `close`.
  lazy_object(const asio::any_io_executor& executor, std::shared_ptr<joined_tasks> work, lazy_sentences sentences,
              open_action open, close_action close)
      : work_(std::move(work)),
        sentences_(sentences),
        open_(std::move(open)),
        close_(std::move(close)),
        changed_(executor) {}

  bool can_open() const noexcept { return static_cast<bool>(open_); }
  const std::shared_ptr<T>& now() const noexcept { return now_; }
  /// Returns the number of the open object; if none is open, the number that the next object will have.
  std::uint64_t generation() const noexcept { return now_ ? generation_ : generation_ + 1; }

  /// Returns the object, and opens it if necessary.
  /// \throws the exceptions of opening.
  /// \par Cancellation  ends this wait with error{exec_errc::cancelled}; the opening continues.
  /// \throws error{exec_errc::environment_closed} after `refuse` or `close`.
  /// \throws error{exec_errc::unsupported} if the constructor got no action that opens the object.
  static awaitable<std::shared_ptr<T>> get(std::shared_ptr<lazy_object> self) {
    if (!self->open_) throw error(exec_errc::unsupported, self->sentences_.nothing);
    for (;;) {
      if (self->closed_) throw error(exec_errc::environment_closed, self->sentences_.closed);
      if (self->now_) co_return self->now_;
      const std::uint64_t mine = self->attempts_;
      if (!self->is_opening_) {
        self->is_opening_ = true;
        self->work_->spawn(open(self));
      }
      while (self->attempts_ == mine && !self->closed_) {
        const wait_result result = co_await self->changed_.wait();
        if (result == wait_result::cancelled)
          throw error(exec_errc::cancelled, "open: cancelled while the environment was opening");
      }
      if (!self->now_ && self->failure_ && self->attempts_ == mine + 1) std::rethrow_exception(self->failure_);
    }
  }

  /// Drops the object with this number, because it is lost. The next use opens a new object.
  void drop(std::uint64_t generation) {
    if (!now_ || generation != generation_) return;
    std::shared_ptr<T> lost = std::exchange(now_, nullptr);
    work_->spawn(discard(this->shared_from_this(), std::move(lost)));
  }

  /// Closes the object, if it is open. Later uses throw.
  static awaitable<void> close(std::shared_ptr<lazy_object> self) {
    self->closed_ = true;
    self->changed_.notify();
    std::shared_ptr<T> last = std::exchange(self->now_, nullptr);
    if (last) co_await self->close_(std::move(last));
  }
  /// Forgets the object without closing it.
  void forget() noexcept { now_ = nullptr; }
  /// Makes all later uses throw, but does not close the object.
  void refuse() {
    closed_ = true;
    changed_.notify();
  }

 private:
  static awaitable<void> open(std::shared_ptr<lazy_object> self) {
    std::exception_ptr failure;
    try {
      std::shared_ptr<T> opened = co_await self->open_();
      self->now_ = std::move(opened);
      ++self->generation_;
    } catch (...) {
      failure = std::current_exception();
    }
    self->failure_ = failure;
    self->is_opening_ = false;
    ++self->attempts_;
    self->changed_.notify();
  }

  static awaitable<void> discard(std::shared_ptr<lazy_object> self, std::shared_ptr<T> lost) {
    try {
      co_await self->close_(std::move(lost));
    } catch (const std::exception&) {  // expected: the object was lost before
    }
  }

  std::shared_ptr<joined_tasks> work_;
  lazy_sentences sentences_;
  open_action open_;
  close_action close_;
  async_event changed_;
  std::shared_ptr<T> now_;
  std::exception_ptr failure_;
  std::uint64_t attempts_ = 0;
  std::uint64_t generation_ = 0;
  bool is_opening_ = false;
  bool closed_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
