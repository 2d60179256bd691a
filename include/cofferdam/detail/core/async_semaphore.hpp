// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A semaphore for coroutines on one executor. Waiting coroutines receive permits in the order of their requests. The
/// semaphore must outlive the coroutines that wait for it.
class async_semaphore {
 public:
  async_semaphore(asio::any_io_executor executor, std::size_t permits)
      : executor_(std::move(executor)), available_(permits) {}
  async_semaphore(const async_semaphore&) = delete;
  async_semaphore& operator=(const async_semaphore&) = delete;

  std::size_t available() const noexcept { return available_; }

  /// Takes permits without waiting. Returns false and takes nothing if other coroutines wait, or if too few permits are
  /// available.
  bool try_acquire(std::size_t permits) noexcept {
    if (!waiting_.empty() || available_ < permits) return false;
    available_ -= permits;
    return true;
  }

  /// Waits until enough permits are available, and takes them.
  /// \param permits  the number of permits. If it exceeds the total number of permits, the wait never ends.
  /// \param doing    the name of the operation, for the error message.
  /// \throws error{exec_errc::cancelled} if the coroutine was cancelled; it then has taken no permit. After `fail()`,
  ///     the error that was given to `fail()`.
  template <class = void>
  awaitable<void> acquire(std::size_t permits, const char* doing) {
    if (failure_) throw *failure_;
    if (try_acquire(permits)) co_return;
    place mine(*this, permits);
    while (!mine.granted()) {
      const wait_result result = co_await mine.changed().wait();
      if (failure_) throw *failure_;
      if (result == wait_result::cancelled)
        throw error(exec_errc::cancelled, std::string(doing) + ": cancelled while waiting for its turn");
    }
    mine.keep();
  }

  void release(std::size_t permits) noexcept {
    available_ += permits;
    serve();
  }

  /// Makes every current and every later call of acquire() throw this error.
  void fail(const error& reason) {
    failure_ = reason;
    for (waiter& each : waiting_) each.changed.notify();
  }

 private:
  struct waiter {
    waiter(const asio::any_io_executor& executor, std::size_t permit_count)
        : changed(executor), permits(permit_count) {}
    async_event changed;
    std::size_t permits;
    bool granted = false;
  };

  /// An entry in the queue of waiting coroutines. The destructor removes it, and returns permits that were granted,
  /// unless `keep` was called.
  class place {
   public:
    place(async_semaphore& of, std::size_t permits)
        : of_(of), at_(of.waiting_.emplace(of.waiting_.end(), of.executor_, permits)) {}
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    ~place() {
      const bool returns = at_->granted && !kept_;
      const std::size_t permits = at_->permits;
      of_.waiting_.erase(at_);
      if (returns) of_.available_ += permits;
      of_.serve();
    }
    bool granted() const noexcept { return at_->granted; }
    async_event& changed() noexcept { return at_->changed; }
    void keep() noexcept { kept_ = true; }

   private:
    async_semaphore& of_;
    std::list<waiter>::iterator at_;
    bool kept_ = false;
  };

  void serve() noexcept {
    for (waiter& each : waiting_) {
      if (each.granted) continue;
      if (available_ < each.permits) return;
      available_ -= each.permits;
      each.granted = true;
      each.changed.notify();
    }
  }

  asio::any_io_executor executor_;
  std::size_t available_;
  std::list<waiter> waiting_;
  std::optional<error> failure_;
};

/// Permits that were taken from a semaphore. The destructor returns them to the semaphore.
class held_permits {
 public:
  held_permits() = default;
  held_permits(async_semaphore& from, std::size_t permits) noexcept : from_(&from), permits_(permits) {}
  held_permits(held_permits&& other) noexcept : from_(std::exchange(other.from_, nullptr)), permits_(other.permits_) {}
  held_permits& operator=(held_permits&& other) noexcept {
    if (this != &other) {
      release();
      from_ = std::exchange(other.from_, nullptr);
      permits_ = other.permits_;
    }
    return *this;
  }
  ~held_permits() { release(); }

  void release() noexcept {
    if (async_semaphore* from = std::exchange(from_, nullptr)) from->release(permits_);
  }

 private:
  async_semaphore* from_ = nullptr;
  std::size_t permits_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
