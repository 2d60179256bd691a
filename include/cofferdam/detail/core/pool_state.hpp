// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/shielded.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

struct pool_settings {
  std::size_t size = 1;
  std::size_t opens_at_once = 4;
  std::chrono::milliseconds open_interval{0};
  std::chrono::milliseconds wait_limit{60'000};
  std::chrono::milliseconds max_idle{0};  // zero: no limit
  bool waits_for_first = true;
};

struct pool_numbers {
  std::size_t idle = 0;
  std::size_t opening = 0;
  std::size_t waiting = 0;
  std::size_t handed_out = 0;
  std::size_t failed = 0;
  std::size_t discarded = 0;
};

/// The state of a pool: the idle objects, which are open and were not handed out, and the coroutines that open more.
/// `Opened` is an environment or a runner. All members are used on the strand `home()`.
template <class Opened>
class pool_state : public std::enable_shared_from_this<pool_state<Opened>> {
 public:
  using clock = std::chrono::steady_clock;
  using shared = std::shared_ptr<pool_state>;

  pool_state(asio::any_io_executor executor, std::function<awaitable<Opened>()> opener, pool_settings settings)
      : home_(executor),
        executor_(std::move(executor)),
        opener_(std::move(opener)),
        settings_(settings),
        changed_(home_.executor()),
        ready_(home_.executor()),
        joined_(home_.executor()) {}
  pool_state(const pool_state&) = delete;
  pool_state& operator=(const pool_state&) = delete;

  const home_strand& home() const noexcept { return home_; }

  /// Starts the coroutine that opens objects, and waits until the first object is open, unless the settings say not to.
  /// \throws the exception of the provider if no object could be opened.
  static awaitable<void> begin(shared self) {
    self->spawn(keep_filled(self), true);
    if (!self->settings_.waits_for_first) co_return;
    while (self->idle_.empty()) {
      if (self->first_failure_) std::rethrow_exception(self->first_failure_);
      const wait_result result = co_await self->ready_.wait();
      if (result == wait_result::cancelled)
        throw error(exec_errc::cancelled, "pool: cancelled while the first environment was opening");
    }
  }

  /// Takes an open object out of the pool, or waits for one.
  static awaitable<Opened> take(shared self) {
    self->require_open();
    if (self->unserved() == 0) {
      if (std::optional<Opened> ready = self->next_idle()) {
        ++self->handed_out_;
        // The start of a process keeps the event loop busy for milliseconds. So the next one begins a little later, and
        // the caller continues first.
        self->not_before_ = std::max(self->not_before_, clock::now() + std::chrono::milliseconds(1));
        self->changed_.notify();
        co_return std::move(*ready);
      }
    }
    place mine(*self);
    const clock::time_point until = clock::now() + self->settings_.wait_limit;
    self->changed_.notify();
    while (!mine->given && !mine->failure) {
      const wait_result result = co_await mine->changed.wait(until);
      if (result == wait_result::cancelled)
        throw error(exec_errc::cancelled, "pool: cancelled while waiting for an environment");
      if (result == wait_result::timed_out && !mine->given && !mine->failure) throw self->nothing_in_time();
    }
    if (mine->failure) std::rethrow_exception(mine->failure);
    ++self->handed_out_;
    std::optional<Opened> taken = std::exchange(mine->given, std::nullopt);
    co_return std::move(*taken);
  }

  /// Stops opening, closes all idle objects, and waits until all this has ended.
  /// \throws the first exception of closing an object that was not lost.
  static awaitable<void> close(shared self) {
    self->stop();
    while (!self->running_.empty()) co_await self->joined_.wait();
    self->discard_lost();
    self->close_lost();
    while (!self->idle_.empty()) {
      Opened last = std::move(self->idle_.front().opened);
      self->idle_.pop_front();
      self->spawn(close_one(self, std::move(last), true), false);
    }
    while (!self->running_.empty()) co_await self->joined_.wait();
    if (self->close_failure_) std::rethrow_exception(std::exchange(self->close_failure_, nullptr));
  }

  /// Stops opening, and destroys all idle objects, without waiting.
  void abandon() {
    stop();
    abandoned_ = true;
    idle_.clear();
    lost_.clear();
  }

  pool_numbers numbers() const {
    return {.idle = idle_.size(),
            .opening = opening_,
            .waiting = unserved(),
            .handed_out = handed_out_,
            .failed = failed_,
            .discarded = discarded_};
  }

 private:
  /// An object that is ready to be handed out.
  struct idle_object {
    Opened opened;
    clock::time_point since;
  };

  /// An entry in the queue of coroutines that wait for an object.
  struct waiter {
    explicit waiter(const asio::any_io_executor& executor) : changed(executor) {}
    async_event changed;
    std::optional<Opened> given;
    std::exception_ptr failure;
  };

  /// A coroutine of the pool that has not ended.
  struct running {
    explicit running(bool is_stopped) : stops(is_stopped) {}
    asio::cancellation_signal signal;
    const bool stops;
  };

  /// Removes the entry of a coroutine from the queue when the coroutine stops waiting. An object that the entry has
  /// received and the coroutine has not taken goes back into the pool; it is still unused.
  class place {
   public:
    explicit place(pool_state& of) : of_(of), at_(of.waiting_.emplace(of.waiting_.end(), of.home_.executor())) {}
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    ~place() {
      std::optional<Opened> unused = std::exchange(at_->given, std::nullopt);
      of_.waiting_.erase(at_);
      if (!unused) return;
      try {
        of_.add(std::move(*unused));
      } catch (const std::bad_alloc&) {  // its destructor ends it
      }
      of_.changed_.notify();
    }
    waiter* operator->() const noexcept { return &*at_; }

   private:
    pool_state& of_;
    typename std::list<waiter>::iterator at_;
  };

  /// Opens objects whenever the pool has too few, and closes those that are lost or have waited too long.
  static awaitable<void> keep_filled(shared self) {
    while (!self->closing_) {
      self->discard_lost();
      self->close_lost();
      clock::time_point until = self->next_expiry();
      while (self->missing() && self->opening_ < self->opens_at_once()) {
        const clock::time_point now = clock::now();
        const clock::time_point begin = self->next_attempt();
        if (now < begin) {
          until = std::min(until, begin);
          break;
        }
        self->not_before_ = now + self->settings_.open_interval;
        ++self->opening_;
        self->spawn(open_one(self), true);
      }
      const wait_result result = co_await self->changed_.wait(until);
      if (result == wait_result::cancelled) break;
    }
  }

  static awaitable<void> open_one(shared self) {
    const clock::time_point begun = clock::now();
    std::optional<Opened> fresh;
    std::exception_ptr failure;
    try {
      // A strand for each object: an object that is opened on a strand uses it for all its work, so that objects of one
      // pool do not wait for each other.
      const home_strand own(self->executor_);
      const auto opens = [&self] { return self->opener_(); };
      Opened opened = co_await run_on(own.executor(), opens);
      fresh.emplace(std::move(opened));
    } catch (...) {
      failure = std::current_exception();
    }
    --self->opening_;
    if (fresh) {
      self->delay_ = {};
      self->first_failure_ = nullptr;
      self->last_failure_ = nullptr;
      self->add(std::move(*fresh));
    } else {
      self->note_failure(failure, begun);
    }
    self->ready_.notify();
    self->changed_.notify();
  }

  /// \param reports  true if `close` throws the exception. The failure to close an object that is lost is only counted:
  ///                 the object is unusable anyway, and its destructor releases what is left of it.
  static awaitable<void> close_one(shared self, Opened opened, bool reports) {
    const auto closes = [&opened] { return opened.close(); };
    try {
      co_await shielded(closes);
    } catch (...) {
      ++self->failed_;
      if (reports && !self->close_failure_) self->close_failure_ = std::current_exception();
    }
  }

  /// Starts a coroutine that `close` waits for.
  /// \param stops  true if `stop` cancels it.
  void spawn(awaitable<void> work, bool stops) {
    const auto entry = running_.emplace(running_.end(), stops);
    const auto ended = [self = this->shared_from_this(), entry](const std::exception_ptr&) {
      self->running_.erase(entry);
      self->joined_.notify();
    };
    spawn_coroutine(home_.executor(), std::move(work), ended, entry->signal.slot());
  }

  void stop() {
    if (std::exchange(closing_, true)) return;
    for (waiter& each : waiting_) fail(each, std::make_exception_ptr(closed()));
    for (auto at = running_.begin(); at != running_.end();) {
      running& each = *at++;  // the coroutine may end, and leave the list, inside emit()
      if (each.stops) each.signal.emit(asio::cancellation_type::terminal);
    }
    changed_.notify();
    ready_.notify();
  }

  void add(Opened opened) {
    if (abandoned_) return;  // nobody closes it, so its destructor ends it
    if (!closing_) {
      for (waiter& each : waiting_) {
        if (each.given || each.failure) continue;
        each.given.emplace(std::move(opened));
        each.changed.notify();
        return;
      }
    }
    idle_.push_back({std::move(opened), clock::now()});
  }

  /// Waits before the next attempt, longer after each failure in a row. Attempts that fail together count as one
  /// failure. If nothing else is opening, the coroutines that wait get the failure now.
  /// \param begun  the time at which the attempt began.
  void note_failure(std::exception_ptr failure, clock::time_point begun) {
    using namespace std::chrono_literals;
    if (closing_) return;
    ++failed_;
    if (begun >= failed_at_) delay_ *= 2;
    delay_ = std::clamp(delay_, clock::duration(100ms), clock::duration(30s));
    failed_at_ = clock::now();
    last_failure_ = failure;
    if (opening_ != 0) return;
    first_failure_ = failure;
    for (waiter& each : waiting_) fail(each, failure);
  }

  static void fail(waiter& each, std::exception_ptr failure) {
    if (each.given || each.failure) return;
    each.failure = std::move(failure);
    each.changed.notify();
  }

  /// Returns the number of coroutines in the queue that have received neither an object nor a failure.
  std::size_t unserved() const {
    return static_cast<std::size_t>(std::count_if(waiting_.begin(), waiting_.end(),
                                                  [](const waiter& each) { return !each.given && !each.failure; }));
  }

  /// Returns true if the pool needs more objects than it has or opens.
  bool missing() const { return idle_.size() + opening_ < settings_.size + unserved(); }

  /// Returns how many attempts may run at the same time. After a failure this is one, until an attempt succeeds.
  std::size_t opens_at_once() const { return delay_ == clock::duration::zero() ? settings_.opens_at_once : 1; }

  /// Returns the earliest time of the next attempt. A coroutine that waits gets an attempt soon even after many
  /// failures, so that it receives an object, or the current failure.
  clock::time_point next_attempt() const {
    using namespace std::chrono_literals;
    if (delay_ == clock::duration::zero()) return not_before_;
    const clock::duration delay = unserved() == 0 ? delay_ : std::min(delay_, clock::duration(1s));
    return std::max(not_before_, failed_at_ + delay);
  }

  /// Returns the time at which the first idle object has waited too long.
  clock::time_point next_expiry() const {
    clock::time_point first = async_event::never;
    if (settings_.max_idle.count() == 0) return first;
    for (const idle_object& each : idle_) first = std::min(first, each.since + settings_.max_idle);
    return first;
  }

  bool is_usable(const idle_object& object, clock::time_point now) const {
    if (settings_.max_idle.count() != 0 && now - object.since >= settings_.max_idle) return false;
    return !is_lost(object.opened);
  }

  void discard_lost() {
    const clock::time_point now = clock::now();
    for (auto at = idle_.begin(); at != idle_.end();) {
      if (is_usable(*at, now)) {
        ++at;
        continue;
      }
      ++discarded_;
      lost_.push_back(std::move(at->opened));
      at = idle_.erase(at);
    }
  }

  void close_lost() {
    while (!lost_.empty()) {
      Opened lost = std::move(lost_.front());
      lost_.pop_front();
      spawn(close_one(this->shared_from_this(), std::move(lost), false), false);
    }
  }

  std::optional<Opened> next_idle() {
    discard_lost();
    std::optional<Opened> front;
    if (idle_.empty()) return front;
    front.emplace(std::move(idle_.front().opened));
    idle_.pop_front();
    return front;
  }

  static bool is_lost(const Opened& opened) noexcept {
    if constexpr (requires { opened.is_lost(); }) return opened.is_lost();
    return false;
  }

  void require_open() const {
    if (closing_) throw closed();
  }

  static error closed() { return error(exec_errc::environment_closed, "pool: the pool is closed; open another one"); }

  error nothing_in_time() const {
    std::string text = "pool: no environment became ready within " + std::to_string(settings_.wait_limit.count()) +
                       " ms (opening: " + std::to_string(opening_) +
                       ", waiting callers: " + std::to_string(unserved()) + ")";
    try {
      if (last_failure_) std::rethrow_exception(last_failure_);
    } catch (const std::exception& last) {
      text += "; the last failure: " + std::string(last.what());
    } catch (...) {
      text += "; an earlier attempt failed";
    }
    return error(exec_errc::unavailable, std::move(text) + "; try again, or raise wait_limit");
  }

  const home_strand home_;
  const asio::any_io_executor executor_;  // of the coroutine that opened the pool
  const std::function<awaitable<Opened>()> opener_;
  const pool_settings settings_;
  async_event changed_;  // for keep_filled: there is something to do
  async_event ready_;    // for begin: an attempt to open has ended
  async_event joined_;   // for close: a coroutine of the pool has ended
  std::deque<idle_object> idle_;
  std::deque<Opened> lost_;  // no longer usable, and not closed yet
  std::list<waiter> waiting_;
  std::list<running> running_;
  std::size_t opening_ = 0;
  std::size_t handed_out_ = 0;
  std::size_t failed_ = 0;
  std::size_t discarded_ = 0;
  clock::time_point not_before_{};    // the earliest time of the next attempt to open, apart from failures
  clock::time_point failed_at_{};     // the time of the last failed attempt
  clock::duration delay_{};           // from a failure to the next attempt; zero after a success
  std::exception_ptr first_failure_;  // of an attempt while nothing else was opening; null after a success
  std::exception_ptr last_failure_;   // null after a success
  std::exception_ptr close_failure_;
  bool closing_ = false;
  bool abandoned_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
