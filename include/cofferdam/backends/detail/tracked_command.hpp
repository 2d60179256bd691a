// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/carried_ends.hpp>
#include <cofferdam/backends/detail/tracked_script.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/os/memory_kill.hpp>
#include <cofferdam/detail/os/running_command.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/spawn.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/steady_timer.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A command that runs inside `exec_script`. The script writes marks (short texts) into the command's outputs, which
/// report the start and the end of the command. Three coroutines serve the command: one receives its output, one sends
/// its input, and one ends it. The derived class provides the streams and the calls of its backend, such as Docker or
/// E2B.
class tracked_command : public command_transport {
 public:
  static constexpr paced_by pace = paced_by::transport;

  running_command& command() noexcept { return command_; }

  /// Starts the command and its coroutines.
  /// \param content  the first bytes of the input.
  void begin(bytes content) {
    const auto self = kept();
    if (limits().timeout) {
      limit_.expires_after(*limits().timeout);
      on_expiry(limit_, [self](std::error_code failure) {
        if (!failure && !self->command_.finished()) self->command_.end(end_reason::timeout);
      });
    }
    auto ended = [self](std::exception_ptr failure) { self->carried(failure); };
    spawn_coroutine(executor_, live(), std::move(ended));
    command_.begin_input(std::move(content));
  }

  void send(int number) noexcept override {
    if (!begun_) return;
    try {
      const auto self = kept();
      auto sent = [self](std::exception_ptr) {};  // a failure is ignored, as if the command had already ended
      spawn_coroutine(executor_, signal(number, limits().terminal ? 't' : 'g'), std::move(sent));
    } catch (const std::exception&) {
    }
  }

  void end(end_reason) override { begin_end(); }

  void kill() noexcept override {
    try {
      begin_end_at_once();
    } catch (const std::exception&) {  // the command then ends at its time limit, or when the environment is closed
    }
    moved_.notify();
  }

  void conclude() override {
    stream_over_ = true;
    limit_.cancel();
    stop_stream();
    moved_.notify();
    room_.notify();
    command_.close_input();
    on_over();
    for (carried_output* each : outputs_)
      if (each != nullptr) each->end();
  }

 protected:
  using clock = std::chrono::steady_clock;
  enum class ender { none, works, done };

  /// The limit of the number of buffered output bytes. While at least this number is buffered, no further output is
  /// received from the backend.
  static constexpr std::size_t window = 64 * 1024;

  /// Makes a command that has not been started.
  /// \param mark     the text with which each mark of the script begins.
  /// \param program  the program's name for error messages.
  tracked_command(running_command& command, const asio::any_io_executor& executor, const std::string& mark,
                  std::string program, bool has_input)
      : fed_(executor),
        room_(executor),
        moved_(executor),
        command_(command),
        executor_(executor),
        program_(std::move(program)),
        has_input_(has_input || command.limits().terminal),
        filters_{marked_output(mark), marked_output(mark)},
        limit_(executor) {
    auto in = std::make_unique<carried_input>(fed_, has_input_);
    auto out = std::make_unique<carried_output>(executor, room_);
    std::unique_ptr<carried_output> err;  // stays null for a terminal, which has only one output
    if (!limits().terminal) err = std::make_unique<carried_output>(executor, room_);
    in_ = in.get();
    outputs_[0] = out.get();
    outputs_[1] = err.get();
    command_.connect(std::move(in), std::move(out), std::move(err));
  }
  ~tracked_command() = default;

  /// Starts the command and delivers its output. Completes when the command and its remaining processes have ended.
  virtual awaitable<void> live() = 0;
  /// Ends the command: sends SIGTERM, waits for the grace period, and sends SIGKILL to all processes of the command.
  virtual awaitable<void> finish_off() = 0;
  /// Sends a signal to processes of the command.
  /// \param scope  the processes: the argument $3 of `signal_script`.
  virtual awaitable<void> signal(int number, char scope) = 0;
  /// Writes to the command's input. Waits while the command does not read.
  virtual awaitable<void> write(bytes_view data) = 0;
  /// Closes the command's input.
  virtual awaitable<void> end_input() = 0;
  /// Ends the stream from which the output is received. May be called more than once.
  virtual void stop_stream() = 0;
  /// Called before `finish_off`.
  virtual void on_ending() {}
  /// Called after `finish_off`, with its exception or null.
  virtual void on_end_over(const std::exception_ptr& /*failure*/) {}
  /// Called when the marks that report the command's end have been received in both outputs.
  virtual void on_end_marked() {}
  /// Called when the command has ended and its result is complete.
  virtual void on_over() {}
  /// Returns the error that coroutines awaiting the command get after a failure of `live`.
  virtual error lost_by(const std::exception_ptr& failure) const = 0;
  /// Returns the advice that is added to the result of a command that has exceeded its memory limit.
  virtual std::string more_memory() const = 0;

  awaitable<void> until_ended() {
    while (ender_ == ender::works && !concluded()) co_await moved_.wait();
  }
  /// Waits for output that is still in transit after the end of the command: until the stream has ended, or `window`
  /// bytes are buffered.
  /// \param longest  maximum time to wait.
  awaitable<void> until_stream_over(clock::duration longest) {
    const auto limit = clock::now() + longest;
    while (!stream_over_ && !concluded() && held() < window && clock::now() < limit) co_await moved_.wait(limit);
  }
  /// Waits for the grace period between SIGTERM and SIGKILL. Returns early if the command has ended, or is to be ended
  /// without a grace period.
  awaitable<void> until_grace_over() {
    const auto limit = clock::now() + limits().grace;
    while (!at_once_ && !stream_over_ && !concluded() && clock::now() < limit) co_await moved_.wait(limit);
  }

  /// Returns the number of buffered output bytes that were not read yet.
  std::size_t held() const {
    std::size_t all = outputs_[0]->waiting();
    if (outputs_[1] != nullptr) all += outputs_[1]->waiting();
    return all;
  }

  /// Separates received output into marks and the command's own output, and processes both.
  /// \param index  0 for standard output, 1 for standard error.
  void filter(std::size_t index, std::string_view content) {
    filters_[index].feed(
        content, [&](std::string_view own) { take(index, own); }, [&](const exec_mark& mark) { noted(index, mark); });
  }
  /// Records that the stream has ended, so that no more output arrives.
  void stream_ended() {
    stream_over_ = true;
    moved_.notify();
    for (std::size_t index = 0; index < 2; ++index)
      filters_[index].finish([&](std::string_view own) { take(index, own); });
    command_.close_input();
  }

  /// Sends the input to the command until the input is closed or the command has ended.
  /// \param self  a copy, which keeps this object alive.
  static awaitable<void> feed(std::shared_ptr<tracked_command> self) {
    bool line_start = true;
    for (;;) {
      const bytes going = self->in_->take();
      if (self->concluded() || self->stream_over_) co_return;
      if (!going.empty()) {
        co_await self->write(going);
        line_start = going.back() == std::byte{'\n'};
        continue;
      }
      if (!self->in_->empty()) continue;
      if (!self->in_->is_open()) break;
      co_await self->fed_.wait();
    }
    if (!self->limits().terminal) {
      co_await self->end_input();
      co_return;
    }
    // A terminal reports the end of the input if ^D (0x04) is sent at the start of a line. In the middle of a line, a
    // first ^D only delivers the line, so a second ^D is needed.
    std::string_view ends = "\x04\x04";
    if (line_start) ends.remove_prefix(1);
    co_await self->write(as_bytes(ends));
  }

  /// Starts `finish_off`, unless it was started before.
  void begin_end() {
    if (ender_ != ender::none) return;
    ender_ = ender::works;
    on_ending();
    const auto self = kept();
    auto finished = [self](std::exception_ptr failure) {
      self->ender_ = ender::done;
      self->on_end_over(failure);
      if (!self->stream_over_) self->stop_stream();
      self->room_.notify();
      self->moved_.notify();
    };
    spawn_coroutine(executor_, finish_off(), std::move(finished));
  }

  void set_status(int number, bool signaled, bool out_of_memory) {
    command_.status_known();
    command_result& all = command_.mutable_result();
    if (signaled)
      all.term_signal(number - 128);
    else
      all.exit_code(number);
    if (out_of_memory) note_memory_kill(all, number == 128 + SIGKILL, more_memory());
  }

  /// Sets the result of a command that could not be started.
  /// \param reason  the reason in the script's mark (see `exec_script`), or "l" if the command's arguments and
  ///                environment are too long.
  void unstarted(std::string_view reason) {
    command_.status_known();
    int number = EACCES;
    if (reason == "n" || reason == "dn") number = ENOENT;
    if (reason == "g") number = ENOEXEC;
    if (reason == "l") number = E2BIG;
    const spawn_stage stage = reason.starts_with('d') ? spawn_stage::directory : spawn_stage::exec;
    command_.mutable_result() = refuse_unstarted(program_, stage, std::error_code(number, std::system_category()));
  }
  /// Sets the result of a command of which not even the script could be started. `said()` may contain the reason.
  void unstarted_by(std::string reason, std::string advice) {
    command_.status_known();
    command_.mutable_result() =
        command_result::refused(error_kind::execution_error, std::move(reason), std::move(advice));
  }

  const asio::any_io_executor& executor() const noexcept { return executor_; }
  const std::string& program() const noexcept { return program_; }
  bool has_input() const noexcept { return has_input_; }
  /// Returns the process id of the script, or 0 before the script has begun.
  long script() const noexcept { return script_; }
  bool has_begun() const noexcept { return begun_; }
  /// Returns true if the marks that report the command's end have been received.
  bool has_ended() const noexcept { return has_ended_; }
  /// Returns the output that was received before the mark that reports the start of the command. It contains error
  /// messages of the program that should start the command, such as the shell.
  const std::string& said() const noexcept { return said_; }
  /// Returns true if the stream has ended, so that no more output arrives.
  bool stream_over() const noexcept { return stream_over_; }
  /// Returns true if the command is to be ended without a grace period.
  bool at_once() const noexcept { return at_once_; }
  /// Ends the command without a grace period.
  void begin_end_at_once() {
    at_once_ = true;
    begin_end();
  }
  const command_limits& limits() const noexcept { return command_.limits(); }
  bool concluded() const noexcept { return command_.over(); }
  ender ending() const noexcept { return ender_; }

  async_event fed_;    // notified when input was added or closed
  async_event room_;   // notified when buffered output was read
  async_event moved_;  // notified of all other changes of the command's state

 private:
  static constexpr std::size_t max_said = 4096;

  std::shared_ptr<tracked_command> kept() { return {command_.kept(), this}; }

  void take(std::size_t index, std::string_view own) {
    if (!seen_begin_[index]) {
      if (said_.size() < max_said) said_.append(own.substr(0, max_said - said_.size()));
    } else if (!seen_end_[index] && outputs_[index] != nullptr) {
      outputs_[index]->arrived(as_bytes(own));
    }
  }

  void noted(std::size_t index, const exec_mark& mark) {
    if (mark.what == exec_mark::kind::begun) {
      seen_begin_[index] = true;
      if (!std::exchange(begun_, true)) script_ = mark.number;
      moved_.notify();
      return;
    }
    if (std::exchange(seen_end_[index], true)) return;
    if (!last_) last_ = mark;
    if (limits().terminal) seen_end_[1] = true;
    if (!seen_end_[0] || !seen_end_[1] || std::exchange(has_ended_, true)) return;
    if (last_->what == exec_mark::kind::failed)
      unstarted(last_->reason);
    else
      set_status(static_cast<int>(last_->number), last_->signaled, last_->out_of_memory);
    on_end_marked();
  }

  /// Called when `live` has ended, with its exception or null.
  void carried(const std::exception_ptr& failure) {
    if (failure && !concluded())
      command_.lose(lost_by(failure));
    else
      command_.conclude();
  }

  running_command& command_;
  asio::any_io_executor executor_;
  std::string program_;
  bool has_input_;
  std::array<marked_output, 2> filters_;
  asio::steady_timer limit_;
  std::string said_;
  carried_input* in_ = nullptr;
  std::array<carried_output*, 2> outputs_{};
  std::array<bool, 2> seen_begin_{};
  std::array<bool, 2> seen_end_{};
  std::optional<exec_mark> last_;
  long script_ = 0;
  ender ender_ = ender::none;
  bool begun_ = false;
  bool has_ended_ = false;
  bool stream_over_ = false;
  bool at_once_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
