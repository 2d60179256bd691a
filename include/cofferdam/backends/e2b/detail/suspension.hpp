// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/detail/sandbox.hpp>
#include <cofferdam/backends/e2b/sandbox_info.hpp>
#include <cofferdam/backends/e2b/suspend_options.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <asio/cancellation_state.hpp>
#include <asio/this_coro.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// The operations that pause, copy and give up a whole sandbox. Commands and file operations that begin meanwhile wait.
/// The connection to the warden does not survive any of these operations, so they first end the warden. The next
/// command starts another one.
class suspension {
 public:
  using pointer = std::shared_ptr<sandbox>;
  using copy = std::variant<pointer, error>;
  /// The sandbox of a copy, or the reason why the service has not made it.
  using outcome = std::variant<sandbox_info, error>;

  static awaitable<void> pause(pointer self, pause_options options) {
    hold held(self);
    co_await settle(self, "paused");
    self->prolongs_.cancel();
    co_await self->service_->pause(self->id(), options);
    held.keep();
  }

  static awaitable<void> resume(pointer self, stored_state stored) {
    self->require_open();
    const sandbox::clock::time_point now = sandbox::clock::now();
    sandbox_info info = co_await self->service_->connect(self->id(), self->settings_->create.seconds(), stored);
    self->service_->hide(info);
    self->daemon_->renew(info);
    self->end_at_ = now + self->life();
    self->paused_ = false;
    self->changed_.notify();
    self->watch_life();
  }

  static awaitable<std::string> snapshot(pointer self, snapshot_options options) {
    const hold held(self);
    co_await settle(self, "copied");
    std::string name = co_await self->service_->snapshot(self->id(), std::move(options));
    co_return name;
  }

  /// Creates copies of the sandbox, and opens an environment in each.
  static awaitable<std::vector<copy>> fork(pointer self, std::size_t count) {
    constexpr std::size_t max_count = 20;
    if (count == 0 || count > max_count)
      throw error(exec_errc::invalid_argument,
                  "e2b: fork makes 1 to " + std::to_string(max_count) + " copies, not " + std::to_string(count));
    std::vector<outcome> made;
    std::vector<copy> copies;
    const auto makes = [&self, count, &made, &copies]() -> awaitable<void> {
      made = co_await ask_for_copies(self, count);
      for (const outcome& each : made) {
        const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none) throw cancelled();
        copy opened = co_await open_copy(self, each);
        copies.push_back(std::move(opened));
      }
    };
    const auto discards = [&self, &made] { return end_copies(self, made); };
    co_await cofferdam::detail::with_cleanup_after_failure(makes, discards);
    co_return copies;
  }

  /// Closes the environment, but leaves the sandbox and the processes in it.
  static awaitable<void> detach(pointer self) {
    {
      hold held(self);
      co_await settle(self, "left");
      held.keep();
    }
    self->is_ours_ = false;
    co_await sandbox::close(self);
  }

 private:
  /// Makes commands and file operations wait, until its destruction or `resume`.
  class hold {
   public:
    explicit hold(pointer of) : of_(std::move(of)) {
      of_->require_open();
      was_paused_ = std::exchange(of_->paused_, true);
    }
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    ~hold() {
      if (was_paused_ || keeps_) return;
      of_->paused_ = false;
      of_->changed_.notify();
      of_->watch_life();
    }
    /// Leaves the sandbox marked as paused.
    void keep() noexcept { keeps_ = true; }

   private:
    pointer of_;
    bool was_paused_ = false;
    bool keeps_ = false;
  };

  /// Ends the warden, so that nothing of this library is in the stored state. Processes that commands have left running
  /// continue.
  /// \throws error{exec_errc::busy} if a command runs.
  static awaitable<void> settle(pointer self, const char* what) {
    while (self->starting_) {
      co_await self->changed_.wait();
      self->require_open();
    }
    if (self->session_.has_unfinished() || (self->warden_ && self->warden_->session().has_unfinished()))
      throw error(exec_errc::busy, std::string("e2b: the sandbox cannot be ") + what +
                                       " while commands run; end them or wait for them, or leave processes running in "
                                       "the background, by a command with background(background_policy::keep)");
    if (!self->warden_ || !self->warden_->is_open()) co_return;
    const error reason(exec_errc::provider_lost, std::string("e2b: the sandbox was ") + what);
    co_await self->warden_->release(reason);
  }

  static awaitable<std::vector<outcome>> ask_for_copies(pointer self, std::size_t count) {
    const hold held(self);
    co_await settle(self, "copied");
    // Not cancelled, because the service might make the copies nevertheless, and their ids would be lost.
    std::vector<outcome> made;
    const auto forks = [&self, count, &made]() -> awaitable<void> {
      made = co_await self->service_->fork(self->id(), count, self->settings_->create.seconds());
    };
    co_await cofferdam::detail::shielded(std::ref(forks));
    co_return made;
  }

  /// Opens an environment in one copy.
  /// \param made  the report of the service about the copy. The caller keeps it until the awaitable completes.
  static awaitable<copy> open_copy(pointer self, const outcome& made) {
    if (const error* const failure = std::get_if<error>(&made)) co_return *failure;
    auto service = std::make_shared<api>(self->executor_, self->service_->who());
    auto opened = std::make_shared<sandbox>(self->executor_, std::move(service), self->settings_);
    std::optional<error> failure;
    try {
      co_await sandbox::open(opened, &std::get<sandbox_info>(made));
    } catch (const error& reason) {
      if (reason.code() == exec_errc::cancelled) throw;
      failure = reason;
    }
    if (failure) co_return std::move(*failure);
    co_return std::move(opened);
  }

  static error cancelled() {
    return error(exec_errc::cancelled, "e2b: cancelled while copies of the sandbox were made; they are ended");
  }

  static awaitable<void> end_copies(pointer self, const std::vector<outcome>& made) {
    for (const outcome& each : made) {
      const sandbox_info* const info = std::get_if<sandbox_info>(&each);
      if (info == nullptr) continue;
      try {
        co_await self->service_->kill(info->id());
      } catch (const error&) {  // the copy ends at the end of its lifetime
      }
    }
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
