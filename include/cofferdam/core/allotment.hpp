// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0::detail {

/// A number of units that coroutines of one executor share, first come, first served: room in a window, places in a table.
/// Outlives whoever waits on it.
class allotment {
 public:
  allotment(asio::any_io_executor executor, std::size_t units) : executor_(std::move(executor)), free_(units) {}
  allotment(const allotment&) = delete;
  allotment& operator=(const allotment&) = delete;

  std::size_t free() const noexcept { return free_; }

  /// Takes so many units at once where nobody waits and they are there.
  bool try_take(std::size_t units) noexcept {
    if (!waiting_.empty() || free_ < units) return false;
    free_ -= units;
    return true;
  }

  /// Waits for so many units; no more than there are in all, or it waits for ever.
  /// \param doing  the operation, for the sentence.
  /// \throws error{errc::cancelled}, then nothing was taken; what `fail` was told.
  awaitable<void> take(std::size_t units, const char* doing) {
    if (failure_) throw *failure_;
    if (try_take(units)) co_return;
    place mine(*this, units);
    while (!mine.granted()) {
      std::error_code woken;
      co_await mine.timer().async_wait(asio::redirect_error(asio::use_awaitable, woken));
      if (failure_) throw *failure_;
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none)
        throw error(errc::cancelled, std::string(doing) + ": cancelled while it waited for its turn");
    }
    mine.keep();
  }

  void give(std::size_t units) noexcept {
    free_ += units;
    serve();
  }

  /// Whoever waits, or comes later, gets this.
  void fail(const error& reason) {
    failure_ = reason;
    for (waiter& each : waiting_) each.timer.cancel();
  }

 private:
  struct waiter {
    waiter(const asio::any_io_executor& executor, std::size_t wanted)
        : timer(executor, std::chrono::steady_clock::time_point::max()), units(wanted) {}
    asio::steady_timer timer;
    std::size_t units;
    bool granted = false;
  };

  /// A place in the queue. Left without `keep`, it gives back what it was granted.
  class place {
   public:
    place(allotment& of, std::size_t units)
        : of_(of), at_(of.waiting_.emplace(of.waiting_.end(), of.executor_, units)) {}
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    ~place() {
      const bool returns = at_->granted && !kept_;
      const std::size_t units = at_->units;
      of_.waiting_.erase(at_);
      if (returns) of_.free_ += units;
      of_.serve();
    }
    bool granted() const noexcept { return at_->granted; }
    asio::steady_timer& timer() noexcept { return at_->timer; }
    void keep() noexcept { kept_ = true; }

   private:
    allotment& of_;
    std::list<waiter>::iterator at_;
    bool kept_ = false;
  };

  void serve() noexcept {
    for (waiter& each : waiting_) {
      if (each.granted) continue;
      if (free_ < each.units) return;
      free_ -= each.units;
      each.granted = true;
      each.timer.cancel();
    }
  }

  asio::any_io_executor executor_;
  std::size_t free_;
  std::list<waiter> waiting_;
  std::optional<error> failure_;
};

/// Units taken from an allotment, given back at the end.
class allotted {
 public:
  allotted() = default;
  allotted(allotment& from, std::size_t units) noexcept : from_(&from), units_(units) {}
  allotted(allotted&& other) noexcept : from_(std::exchange(other.from_, nullptr)), units_(other.units_) {}
  allotted& operator=(allotted&& other) noexcept {
    if (this != &other) {
      give_back();
      from_ = std::exchange(other.from_, nullptr);
      units_ = other.units_;
    }
    return *this;
  }
  ~allotted() { give_back(); }

  void give_back() noexcept {
    if (allotment* from = std::exchange(from_, nullptr)) from->give(units_);
  }

 private:
  allotment* from_ = nullptr;
  std::size_t units_ = 0;
};

}  // namespace cofferdam::inline v0::detail
