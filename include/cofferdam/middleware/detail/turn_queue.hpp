// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/home_strand.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/post.hpp>
#include <asio/this_coro.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A limited number of turns, which are given out in the order of the requests. Unlike an `async_semaphore`, it may be
/// used by coroutines on different executors, and a turn may be returned on any thread. A request that need not wait
/// changes no executor.
class turn_queue : public std::enable_shared_from_this<turn_queue> {
 public:
  /// A turn that was taken. The destructor returns it.
  class turn {
   public:
    turn() = default;
    explicit turn(std::shared_ptr<turn_queue> from) noexcept : from_(std::move(from)) {}
    turn(turn&&) noexcept = default;
    turn& operator=(turn&& other) noexcept {
      if (this != &other) {
        give_back();
        from_ = std::move(other.from_);
      }
      return *this;
    }
    ~turn() { give_back(); }

    void give_back() noexcept {
      if (const std::shared_ptr<turn_queue> from = std::move(from_)) from->release();
    }

   private:
    std::shared_ptr<turn_queue> from_;
  };

  explicit turn_queue(std::size_t turns) noexcept : free_(turns) {}
  turn_queue(const turn_queue&) = delete;
  turn_queue& operator=(const turn_queue&) = delete;

  /// Takes a turn, and waits for it if necessary.
  /// \param doing  the name of the layer, for the error message.
  /// \throws error{exec_errc::cancelled} if the coroutine was cancelled; it then has no turn.
  template <class = void>
  static awaitable<turn> take(std::shared_ptr<turn_queue> self, const char* doing) {
    if (self->try_take()) co_return turn(std::move(self));
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto mine = std::make_shared<waiter>(strand_of(std::move(executor)));
    const place in_queue(self, mine);
    const auto waits = [&] { return wait(self, mine, doing); };
    co_await run_on(mine->changed.executor(), waits);
    co_return in_queue.take();
  }

 private:
  struct waiter {
    explicit waiter(asio::any_io_executor strand) : changed(std::move(strand)) {}
    async_event changed;   // used on its executor only
    bool granted = false;  // guarded by the mutex of the queue
  };

  /// An entry in the queue. The destructor removes it, and returns a turn that was granted and not taken.
  class place {
   public:
    place(std::shared_ptr<turn_queue> of, std::shared_ptr<waiter> who) : of_(std::move(of)), who_(std::move(who)) {
      const std::lock_guard lock(of_->mutex_);
      of_->waiting_.push_back(who_);
      of_->serve();  // a turn may have come back since `try_take`
    }
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    ~place() {
      const std::lock_guard lock(of_->mutex_);
      if (who_->granted) ++of_->free_;
      of_->waiting_.remove(who_);
      of_->serve();
    }
    /// Takes the turn that was granted.
    turn take() const {
      const std::lock_guard lock(of_->mutex_);
      who_->granted = false;
      return turn(of_);
    }

   private:
    std::shared_ptr<turn_queue> of_;
    std::shared_ptr<waiter> who_;
  };

  template <class = void>
  static awaitable<void> wait(std::shared_ptr<turn_queue> self, std::shared_ptr<waiter> mine, const char* doing) {
    while (!self->is_granted(*mine)) {
      const wait_result result = co_await mine->changed.wait();
      if (result == wait_result::cancelled)
        throw error(exec_errc::cancelled,
                    std::string(doing) + ": cancelled while the command waited for its turn; it was not started");
    }
  }

  bool is_granted(const waiter& who) {
    const std::lock_guard lock(mutex_);
    return who.granted;
  }

  bool try_take() {
    const std::lock_guard lock(mutex_);
    if (free_ == 0 || !waiting_.empty()) return false;
    --free_;
    return true;
  }

  void release() noexcept {
    const std::lock_guard lock(mutex_);
    ++free_;
    serve();
  }

  /// Grants free turns to those who wait. The caller holds the mutex.
  void serve() noexcept {
    for (const std::shared_ptr<waiter>& each : waiting_) {
      if (free_ == 0) return;
      if (each->granted) continue;
      try {
        asio::post(each->changed.executor(), [each] { each->changed.notify(); });
      } catch (const std::bad_alloc&) {  // the next turn that comes back is granted instead
        return;
      }
      each->granted = true;
      --free_;
    }
  }

  std::mutex mutex_;
  std::size_t free_;
  std::list<std::shared_ptr<waiter>> waiting_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
