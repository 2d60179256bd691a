// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/callbacks.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// An operation that is done once for all coroutines that want it at the same time: pulling or building an image. Works
/// across executors and threads of this process.
class shared_round {
 public:
  /// The turn of the coroutine that does the work, or of one that waited for it.
  class turn {
   public:
    /// The turn of a coroutine that waited.
    explicit turn(bool was_done) : done_(was_done) {}
    explicit turn(std::string key) : key_(std::move(key)) {}
    turn(turn&& other) noexcept
        : key_(std::exchange(other.key_, std::nullopt)), done_(other.done_), failure_(std::move(other.failure_)) {}
    turn& operator=(turn&&) = delete;
    ~turn() {
      if (key_) end(*key_, done_, failure_);
    }
    /// Returns true if this coroutine must do the work. It must then report the result; otherwise the next coroutine
    /// gets the turn.
    bool is_mine() const noexcept { return key_.has_value(); }
    void done() noexcept { done_ = true; }
    /// Passes the failure on to the waiting coroutines, unless only this coroutine was cancelled.
    void failed(const error& reason) {
      if (reason.code() != exec_errc::cancelled) failure_ = reason;
    }
    /// Returns true if another coroutine has done the work.
    bool was_done() const noexcept { return done_; }

   private:
    std::optional<std::string> key_;
    bool done_ = false;
    std::optional<error> failure_;
  };

  /// Takes the turn if it is free; otherwise waits for the end of the current one.
  /// \param doing  the operation, for the error message.
  /// \throws error{exec_errc::cancelled}; the failure of the coroutine that had the turn.
  static awaitable<turn> join(std::string key, const char* doing) {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    const std::shared_ptr<waiter> mine = enter(key, executor);
    if (!mine) co_return turn(key);
    for (;;) {
      const cofferdam::detail::wait_result result = co_await mine->ended.wait();
      if (mine->over) break;
      if (result == cofferdam::detail::wait_result::cancelled)
        throw error(exec_errc::cancelled, std::string("docker: ") + doing + " was cancelled");
    }
    if (mine->failure) throw *mine->failure;
    co_return turn(mine->done);
  }

 private:
  struct waiter {
    explicit waiter(const asio::any_io_executor& executor) : ended(executor) {}
    cofferdam::detail::async_event ended;
    bool over = false;  // this and the following members belong to its own executor
    bool done = false;
    std::optional<error> failure;
  };

  struct table {
    std::mutex mutex;
    std::map<std::string, std::vector<std::weak_ptr<waiter>>> rounds;
  };
  static table& all() {
    static table instance;
    return instance;
  }

  static std::shared_ptr<waiter> enter(const std::string& key, const asio::any_io_executor& executor) {
    const std::lock_guard lock(all().mutex);
    const auto [at, is_first] = all().rounds.try_emplace(key);
    if (is_first) return nullptr;
    auto mine = std::make_shared<waiter>(executor);
    at->second.push_back(mine);
    return mine;
  }

  static void end(const std::string& key, bool done, const std::optional<error>& failure) {
    std::vector<std::weak_ptr<waiter>> waiting;
    {
      const std::lock_guard lock(all().mutex);
      const auto found = all().rounds.find(key);
      waiting = std::move(found->second);
      all().rounds.erase(found);
    }
    for (const std::weak_ptr<waiter>& each : waiting) {
      const std::shared_ptr<waiter> live_waiter = each.lock();
      if (!live_waiter) continue;
      cofferdam::detail::post_callback(live_waiter->ended.executor(), [live_waiter, done, failure] {
        live_waiter->over = true;
        live_waiter->done = done;
        live_waiter->failure = failure;
        live_waiter->ended.notify();
      });
    }
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
