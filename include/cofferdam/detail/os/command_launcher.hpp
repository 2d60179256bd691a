// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/detail/os/running_command.hpp>
#include <cofferdam/os/command_settings.hpp>
#include <cofferdam/os/spawn.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class = void>
class basic_command_launcher;
using command_launcher = basic_command_launcher<>;

/// The part of a session (`command_session`, the commands of one environment) that does not depend on where the
/// commands run: it starts commands, awaits them and ends them. Derived classes implement `launch`.
template <class Unused>
class basic_command_launcher : public std::enable_shared_from_this<command_launcher> {
 public:
  basic_command_launcher(asio::any_io_executor executor, command_settings settings)
      : executor_(std::move(executor)),
        settings_(std::move(settings)),
        registry_(std::make_shared<command_registry>()),
        turn_(timer_of(executor_)),
        turn_over_(executor_) {}
  basic_command_launcher(const basic_command_launcher&) = delete;
  basic_command_launcher& operator=(const basic_command_launcher&) = delete;
  virtual ~basic_command_launcher() = default;

  static awaitable<command_result> run(std::shared_ptr<basic_command_launcher> self, command c, spawn_request request) {
    if (c.has_open_input())
      throw error(exec_errc::invalid_argument,
                  "run_command: open_input() needs start(); give the whole input with input()");
    if (!self->take_turn()) co_await next_turn(self, "run_command");
    launched started = self->launch_checked(c, request);
    if (!started.running) co_return std::move(started.refusal);
    const abandon_at_end guard(started.running);
    co_await running_command::complete(started.running, "run_command");
    command_result result = started.running->take_result();
    result.isolation(self->settings_.isolation);
    co_return result;
  }

  static awaitable<process> start(std::shared_ptr<basic_command_launcher> self, command c, spawn_request request) {
    if (!self->take_turn()) co_await next_turn(self, "start");
    launched started = self->launch_checked(c, request);
    if (!started.running) co_return process::finished(std::move(started.refusal));
    std::unique_ptr<handle> result;
    try {
      result = std::make_unique<handle>(std::move(self), started.running);
    } catch (...) {
      started.running->abandon();
      throw;
    }
    co_return process(std::move(result));
  }

  /// Ends every command and waits until all have ended. The caller keeps this object until the awaitable completes.
  virtual awaitable<void> close() { return end_commands(shared_from_this()); }

  /// Ends every command without waiting. No further command can be started. Only the first call does anything. So the
  /// destructor of the session may call it on any thread, if it was called on the strand before.
  virtual void abandon() noexcept {
    if (abandoned_) return;
    abandoned_ = true;
    closing_ = true;
    const std::vector<running_command*>& commands = registry_->commands();
    for (std::size_t i = commands.size(); i-- > 0;)  // backwards: a finished command leaves the list
      if (const std::shared_ptr<running_command> kept = commands[i]->kept()) kept->abandon();
  }

  /// Ends the session because its connection or sandbox is lost. Pending operations throw `reason`. No further command
  /// can be started.
  virtual void lose(const error& reason) noexcept {
    set_lost();
    fail_unfinished(reason);
    abandon();
  }

  /// Returns true after `lose` was called. Any thread may call this function.
  bool is_lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  /// Returns true if a command runs, or has left processes running.
  bool is_busy() const { return !living().empty() || !background().empty(); }

  /// Returns true if a command runs. Commands that have ended, and have left processes running, do not count.
  bool has_unfinished() const {
    for (const std::shared_ptr<running_command>& each : living())
      if (!each->finished()) return true;
    return false;
  }

  /// Returns the commands that have ended, but left processes running, oldest first.
  virtual std::vector<background_command> background() const { return {}; }

  /// Returns the network of the place where the commands run; null if this program cannot reach it.
  virtual std::shared_ptr<guest_network::implementation> network() { return nullptr; }

  /// Ends the processes that a command has left running, and waits until they have ended.
  virtual awaitable<void> end_background(std::uint32_t number) { return find_nothing(shared_from_this(), number); }

 protected:
  /// The result of a launch: a running command, or, if `running` is null, a result with the reason of the failure.
  class launched {
   public:
    std::shared_ptr<running_command> running;
    command_result refusal;
  };

  virtual launched launch(command& c, spawn_request& request) = 0;

  /// Returns true if `launch` starts a command as the user of `command::user`.
  virtual bool has_users() const noexcept { return false; }

  static awaitable<void> end_commands(std::shared_ptr<basic_command_launcher> self) {
    self->closing_ = true;
    const std::vector<std::shared_ptr<running_command>> running = self->living();
    for (const std::shared_ptr<running_command>& each : running) {
      each->end(end_reason::closed);
      each->drain();
    }
    for (const std::shared_ptr<running_command>& each : running) co_await each->until_settled_shielded();
    reaper::instance().sweep();
  }

  /// Ends every command with the error `reason`. Called if no more messages about the commands will arrive.
  void lose_commands(const error& reason) noexcept {
    for_each_living([&reason](running_command& each) {
      try {
        each.lose(reason);
      } catch (const std::bad_alloc&) {  // without memory, the output that had arrived is lost
        each.lose_quietly(reason);
      }
    });
  }

  /// Makes operations that wait for a command throw `reason`, for every command that has no result yet.
  void fail_unfinished(const error& reason) noexcept {
    for_each_living([&reason](running_command& each) {
      if (!each.finished()) each.fail(reason.with_partial(each.partial()));
    });
  }

  static awaitable<void> find_nothing(std::shared_ptr<basic_command_launcher> self, std::uint32_t number) {
    self->require_open();
    throw nothing_left_of(number);
    co_return;
  }

  static error nothing_left_of(std::uint32_t number) {
    return error(exec_errc::not_found,
                 "end_background: no background processes are left of command " + std::to_string(number));
  }

  void set_lost() noexcept { lost_.store(true, std::memory_order_relaxed); }

  void require_open() const {
    if (closing_) throw error(exec_errc::environment_closed, "the environment is closed; open another one");
  }

  const asio::any_io_executor& executor() const noexcept { return executor_; }
  const std::shared_ptr<command_registry>& registry() const noexcept { return registry_; }
  const command_settings& settings() const noexcept { return settings_; }
  void set_isolation(std::shared_ptr<const isolation_report> isolation) noexcept {
    settings_.isolation = std::move(isolation);
  }

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

  /// Calls `work` for every command. If memory is exhausted, some commands are skipped; they end with their sandbox or
  /// this program.
  template <class Work>
  void for_each_living(Work work) noexcept {
    try {
      for (const std::shared_ptr<running_command>& each : living()) work(*each);
    } catch (const std::exception&) {
    }
  }

  std::vector<std::shared_ptr<running_command>> living() const {
    std::vector<std::shared_ptr<running_command>> result;
    for (running_command* entry : registry_->commands())
      if (std::shared_ptr<running_command> kept = entry->kept()) result.push_back(std::move(kept));
    return result;
  }

 private:
  /// A guard that ends the command if the coroutine that runs it is destroyed before the command has ended.
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
    handle(std::shared_ptr<basic_command_launcher> launcher, std::shared_ptr<running_command> running)
        : launcher_(std::move(launcher)), running_(std::move(running)) {}
    ~handle() override { running_->let_go(); }

    awaitable<output_chunk> read() override { return running_->read(); }
    awaitable<void> write_input(bytes_view data) override { return running_->write_input(data); }
    awaitable<void> close_input() override {
      running_->close_input();
      co_return;
    }
    awaitable<void> signal(int number) override {
      if (number < 1 || number > 64)
        throw error(exec_errc::invalid_argument,
                    "signal: " + std::to_string(number) + " is not a signal number; use 1 to 64");
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
      result.isolation(launcher_->settings_.isolation);
      co_return result;
    }
    awaitable<command_result> take_result() override {
      co_await running_command::complete(running_, "wait");
      command_result result = running_->take_result();
      result.isolation(launcher_->settings_.isolation);
      co_return result;
    }
    std::shared_ptr<const isolation_report> isolation() const override { return launcher_->settings_.isolation; }

   private:
    std::shared_ptr<basic_command_launcher> launcher_;
    std::shared_ptr<running_command> running_;
  };

  launched launch_checked(command& c, spawn_request& request) {
    require_open();
    if (!c.user().empty() && !has_users())
      throw error(exec_errc::unsupported,
                  "command: this environment starts all commands as one user; leave out command::user");
    try {
      return launch(c, request);
    } catch (const error&) {
      throw;
    } catch (const std::system_error& failure) {  // an error from Asio
      throw error(exec_errc::io_error,
                  std::string("the command was ended, because its process cannot be watched: ") + failure.what(),
                  failure.code());
    }
  }

  // The maximum number of commands that start before the event loop handles its timers and sockets. A start takes about
  // a tenth of a millisecond, so hundreds of starts without a break would block the loop.
  static constexpr int max_starts = 32;

  /// Makes a timer. The first timer of an event loop may need descriptors, so this can fail.
  static asio::steady_timer timer_of(const asio::any_io_executor& executor) {
    try {
      return asio::steady_timer(executor);
    } catch (const std::system_error& failure) {
      throw error(exec_errc::io_error, std::string("the processes of commands cannot be watched: ") + failure.what(),
                  failure.code());
    }
  }

  bool take_turn() {
    if (starts_ == max_starts) return false;
    ++starts_;
    if (!turn_ends_) begin_turn();
    return true;
  }

  /// Begins a turn, in which at most `max_starts` commands start. The turn ends when the event loop handles its timers.
  void begin_turn() {
    turn_ends_ = true;
    turn_.expires_at(std::chrono::steady_clock::time_point());
    on_expiry(turn_, [kept = weak_from_this()](std::error_code) {
      const std::shared_ptr<basic_command_launcher> self = kept.lock();
      if (!self) return;
      self->starts_ = 0;
      self->turn_ends_ = false;
      self->turn_over_.notify();
    });
  }

  static awaitable<void> next_turn(std::shared_ptr<basic_command_launcher> self, const char* doing) {
    do {
      const wait_result woken = co_await self->turn_over_.wait();
      if (woken == wait_result::cancelled)
        throw error(exec_errc::cancelled, std::string(doing) + ": cancelled before the command was started");
    } while (!self->take_turn());
  }

  asio::any_io_executor executor_;
  command_settings settings_;
  std::shared_ptr<command_registry> registry_;
  asio::steady_timer turn_;
  async_event turn_over_;
  int starts_ = 0;  // the number of commands started in this turn
  bool turn_ends_ = false;
  std::atomic<bool> lost_ = false;
  bool closing_ = false;
  bool abandoned_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
