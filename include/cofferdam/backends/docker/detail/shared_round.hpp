// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::docker::detail {

/// Something that one does for all who want it at the same time: pulling an image, building one. In this process, also
/// across executors and threads.
class shared_round {
 public:
  /// Whoever does it, or somebody who waited for that.
  class turn {
   public:
    /// Nobody's: it was waited for.
    explicit turn(bool was_done) : done_(was_done) {}
    explicit turn(std::string key) : key_(std::move(key)) {}
    turn(turn&& other) noexcept
        : key_(std::exchange(other.key_, std::nullopt)), done_(other.done_), failure_(std::move(other.failure_)) {}
    turn& operator=(turn&&) = delete;
    ~turn() {
      if (key_) end(*key_, done_, failure_);
    }
    /// It is this one's to do; then it says how that went, or else the next one gets the turn.
    bool is_mine() const noexcept { return key_.has_value(); }
    void done() noexcept { done_ = true; }
    /// Those who wait get this, too, unless it is only this one who gives up.
    void failed(const error& reason) {
      if (reason.code() != errc::cancelled) failure_ = reason;
    }
    /// Somebody else has done it.
    bool was_done() const noexcept { return done_; }

   private:
    std::optional<std::string> key_;
    bool done_ = false;
    std::optional<error> failure_;
  };

  /// The turn, where nobody has it; else waits until that is over.
  /// \param doing  the operation, for the sentence.
  /// \throws error{errc::cancelled}; what the one who had the turn failed with.
  static awaitable<turn> join(std::string key, const char* doing) {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    const std::shared_ptr<waiter> mine = enter(key, executor);
    if (!mine) co_return turn(key);
    for (;;) {
      std::error_code woken;
      co_await mine->timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      if (mine->over) break;
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none)
        throw error(errc::cancelled, std::string("docker: ") + doing + " was cancelled");
    }
    if (mine->failure) throw *mine->failure;
    co_return turn(mine->done);
  }

 private:
  struct waiter {
    explicit waiter(const asio::any_io_executor& executor)
        : timer(executor, std::chrono::steady_clock::time_point::max()) {}
    asio::steady_timer timer;
    bool over = false;  // this and the rest is of its own executor
    bool done = false;
    std::optional<error> failure;
  };

  struct table {
    std::mutex mutex;
    std::map<std::string, std::vector<std::weak_ptr<waiter>>> rounds;
  };
  static table& all() {
    static table one;
    return one;
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
      const std::shared_ptr<waiter> one = each.lock();
      if (!one) continue;
      asio::post(one->timer.get_executor(), [one, done, failure] {
        one->over = true;
        one->done = done;
        one->failure = failure;
        one->timer.cancel();
      });
    }
  }
};

}  // namespace cofferdam::inline v0::docker::detail
