// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/post.hpp>
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

/// An operation that one coroutine executes for all coroutines that need it at the same time, such as pulling an image.
/// The coroutines may run on different executors and threads of this process.
class shared_round {
 public:
  /// The result of `join`: either the right to execute the operation, or the outcome of another coroutine that has
  /// executed it.
  class turn {
   public:
    /// Makes the result for a coroutine that has waited for another.
    /// \param was_done  true if the other coroutine has succeeded.
    explicit turn(bool was_done) : done_(was_done) {}
    /// Makes the result for the coroutine that must execute the operation.
    explicit turn(std::string key) : key_(std::move(key)) {}
    turn(turn&& other) noexcept
        : key_(std::exchange(other.key_, std::nullopt)), done_(other.done_), failure_(std::move(other.failure_)) {}
    turn& operator=(turn&&) = delete;
    ~turn() {
      if (key_) end(*key_, done_, failure_);
    }
    /// Returns true if this coroutine must execute the operation. It must then call `done` or `failed`. If it calls
    /// neither, the waiting coroutines continue, and one of them may execute the operation.
    bool is_mine() const noexcept { return key_.has_value(); }
    /// Records that the operation has succeeded.
    void done() noexcept { done_ = true; }
    /// Records that the operation has failed. The waiting coroutines get the same error, unless this coroutine was
    /// cancelled.
    void failed(const error& reason) {
      if (reason.code() != exec_errc::cancelled) failure_ = reason;
    }
    /// Returns true if another coroutine has executed the operation successfully.
    bool was_done() const noexcept { return done_; }

   private:
    std::optional<std::string> key_;
    bool done_ = false;
    std::optional<error> failure_;
  };

  /// Returns the right to execute the operation if no other coroutine is executing it. Otherwise waits until the other
  /// coroutine has finished, and returns whether it succeeded (`turn::was_done`).
  /// \param key    identifies the operation: coroutines with the same key share one.
  /// \param doing  the name of the operation, such as `pulling an image`, for the error message.
  /// \throws error{exec_errc::cancelled}; the error of the other coroutine if it has failed.
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
    bool over = false;  // this and the following members are used on the waiting coroutine's executor only
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
      asio::post(live_waiter->ended.executor(), [live_waiter, done, failure] {
        live_waiter->over = true;
        live_waiter->done = done;
        live_waiter->failure = failure;
        live_waiter->ended.notify();
      });
    }
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
