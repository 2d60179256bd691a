// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/protections.hpp>
#include <cofferdam/os/reaper.hpp>
#include <cofferdam/os/running_command.hpp>
#include <cofferdam/os/spawn.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// How the commands of an environment are held.
class command_settings {
 public:
  /// The limit of commands that have none of their own; `no_timeout` for none.
  std::chrono::milliseconds default_timeout{std::chrono::minutes(5)};
  /// From SIGTERM to SIGKILL.
  std::chrono::milliseconds kill_grace{500};
  /// How long what a command has left behind may go on once it has ended.
  std::chrono::milliseconds output_grace{100};
  /// What every result says of the walls; may be null.
  std::shared_ptr<const protections> walls;
};

namespace detail {

/// What every kind of running command has in common, on the side of the environment.
class command_keeper : public std::enable_shared_from_this<command_keeper> {
 public:
  command_keeper(asio::any_io_executor executor, command_settings settings)
      : executor_(std::move(executor)),
        settings_(std::move(settings)),
        registry_(std::make_shared<command_registry>()),
        turn_(timer_of(executor_)) {}
  command_keeper(const command_keeper&) = delete;
  command_keeper& operator=(const command_keeper&) = delete;
  virtual ~command_keeper() = default;

  static awaitable<command_result> run(std::shared_ptr<command_keeper> self, command c, spawn_request request) {
    if (c.has_open_input())
      throw error(errc::invalid_argument, "run_command: open_input() needs start(); give the whole input with input()");
    if (!self->take_turn()) co_await next_turn(self, "run_command");
    launched started = self->launch_checked(c, request);
    if (!started.running) co_return std::move(started.refusal);
    const abandon_at_end guard(started.running);
    co_await running_command::complete(started.running, "run_command");
    command_result result = started.running->take_result();
    result.walls(self->settings_.walls);
    co_return result;
  }

  static awaitable<process> start(std::shared_ptr<command_keeper> self, command c, spawn_request request) {
    if (!self->take_turn()) co_await next_turn(self, "start");
    launched started = self->launch_checked(c, request);
    if (!started.running) co_return process::finished(std::move(started.refusal));
    std::unique_ptr<handle> made;
    try {
      made = std::make_unique<handle>(std::move(self), started.running);
    } catch (...) {
      started.running->abandon();
      throw;
    }
    co_return process(std::move(made));
  }

  /// Ends every command and waits for that.
  static awaitable<void> close(std::shared_ptr<command_keeper> self) {
    self->closing_ = true;
    const std::vector<std::shared_ptr<running_command>> running = self->living();
    for (const std::shared_ptr<running_command>& one : running) {
      one->end(end_reason::closed);
      one->drain();
    }
    for (const std::shared_ptr<running_command>& one : running) co_await one->until_settled_shielded();
    reaper::instance().sweep();
  }

  void abandon() noexcept {
    closing_ = true;
    const std::vector<running_command*>& all = registry_->commands();
    for (std::size_t i = all.size(); i-- > 0;)  // backwards: one that goes takes itself out of the list
      if (const std::shared_ptr<running_command> kept = all[i]->weak_from_this().lock()) kept->abandon();
  }

 protected:
  /// A started command, or the result that says why there is none.
  class launched {
   public:
    std::shared_ptr<running_command> running;
    command_result refusal;
  };

  virtual launched launch(command& c, spawn_request& request) = 0;

  void require_open() const {
    if (closing_) throw error(errc::environment_closed, "the environment is closed; open another one");
  }

  const asio::any_io_executor& executor() const noexcept { return executor_; }
  const std::shared_ptr<command_registry>& registry() const noexcept { return registry_; }
  const command_settings& settings() const noexcept { return settings_; }
  void set_walls(std::shared_ptr<const protections> walls) noexcept { settings_.walls = std::move(walls); }

  command_limits limits_of(const command& c) const {
    command_limits limits;
    limits.timeout = c.timeout().value_or(settings_.default_timeout);
    if (*limits.timeout == no_timeout) limits.timeout.reset();
    limits.grace = settings_.kill_grace;
    limits.linger = settings_.output_grace;
    limits.kept_output = c.kept_output().value_or(command::default_kept_output);
    limits.open_input = c.has_open_input();
    limits.terminal = c.terminal().has_value();
    limits.keeps_background = c.background() == background_policy::keep;
    return limits;
  }

  std::vector<std::shared_ptr<running_command>> living() const {
    std::vector<std::shared_ptr<running_command>> all;
    for (running_command* one : registry_->commands())
      if (std::shared_ptr<running_command> kept = one->weak_from_this().lock()) all.push_back(std::move(kept));
    return all;
  }

 private:
  /// A coroutine that is thrown away while its command runs must not leave it running.
  class abandon_at_end {
   public:
    explicit abandon_at_end(std::shared_ptr<running_command> running) : running_(std::move(running)) {}
    abandon_at_end(const abandon_at_end&) = delete;
    abandon_at_end& operator=(const abandon_at_end&) = delete;
    ~abandon_at_end() { running_->let_go(); }

   private:
    std::shared_ptr<running_command> running_;
  };

  class handle final : public process::implementation {
   public:
    handle(std::shared_ptr<command_keeper> keeper, std::shared_ptr<running_command> running)
        : keeper_(std::move(keeper)), running_(std::move(running)) {}
    ~handle() override { running_->let_go(); }

    awaitable<chunk> read() override { return running_->read(); }
    awaitable<void> write_input(bytes_view data) override { return running_->write_input(data); }
    awaitable<void> close_input() override {
      running_->close_input();
      co_return;
    }
    awaitable<void> signal(int number) override {
      if (number < 1 || number > 64)
        throw error(errc::invalid_argument, "signal: " + std::to_string(number) + " is no signal; they are 1 to 64");
      running_->send(number);
      co_return;
    }
    awaitable<void> resize(std::uint16_t rows, std::uint16_t columns) override {
      running_->resize(terminal_size(rows, columns));
      co_return;
    }
    awaitable<command_result> wait() override {
      co_await running_command::complete(running_, "wait");
      command_result result = running_->result();
      result.walls(keeper_->settings_.walls);
      co_return result;
    }
    std::shared_ptr<const protections> walls() const override { return keeper_->settings_.walls; }

   private:
    std::shared_ptr<command_keeper> keeper_;
    std::shared_ptr<running_command> running_;
  };

  launched launch_checked(command& c, spawn_request& request) {
    require_open();
    try {
      return launch(c, request);
    } catch (const error&) {
      throw;
    } catch (const std::system_error& failure) {  // Asio's
      throw error(errc::io_error, std::string("the command was ended: it cannot be watched: ") + failure.what(),
                  failure.code());
    }
  }

  // A start takes a tenth of a millisecond. Where hundreds come at once, the loop's timers and sockets get their turn after
  // every few.
  static constexpr int most_starts = 32;

  /// The first timer of a loop may need descriptors.
  static asio::steady_timer timer_of(const asio::any_io_executor& executor) {
    try {
      return asio::steady_timer(executor);
    } catch (const std::system_error& failure) {
      throw error(errc::io_error, std::string("commands cannot be watched: ") + failure.what(), failure.code());
    }
  }

  bool take_turn() {
    if (starts_ == most_starts) return false;
    ++starts_;
    if (!turn_ends_) begin_turn();
    return true;
  }

  /// The turn ends when the loop has looked at its timers.
  void begin_turn() {
    turn_ends_ = true;
    turn_.expires_at(std::chrono::steady_clock::time_point());
    turn_.async_wait([kept = weak_from_this()](std::error_code) {
      const std::shared_ptr<command_keeper> self = kept.lock();
      if (!self) return;
      self->starts_ = 0;
      self->turn_ends_ = false;
    });
  }

  static awaitable<void> next_turn(std::shared_ptr<command_keeper> self, const char* doing) {
    do {
      std::error_code woken;
      co_await self->turn_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none)
        throw error(errc::cancelled, std::string(doing) + ": cancelled before the command was started");
    } while (!self->take_turn());
  }

  asio::any_io_executor executor_;
  command_settings settings_;
  std::shared_ptr<command_registry> registry_;
  asio::steady_timer turn_;
  int starts_ = 0;  // in this turn
  bool turn_ends_ = false;
  bool closing_ = false;
};

}  // namespace detail
}  // namespace cofferdam::inline v0
