// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/carried_ends.hpp>
#include <cofferdam/backends/detail/marked_script.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/running_command.hpp>
#include <cofferdam/os/spawn.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0::detail {

/// A command inside `exec_script`, whose marks say when it has begun and how it has ended. One coroutine carries its output,
/// one its input, one ends it. By which streams and calls they do is for the derived class.
class marked_command : public running_command {
 public:
  /// Begins all of it.
  /// \param content  what the input is to hold first.
  void begin(bytes content) {
    const auto self = kept();
    if (limits().timeout) {
      limit_.expires_after(*limits().timeout);
      limit_.async_wait([self](std::error_code failure) {
        if (!failure && !self->finished()) self->end(end_reason::timeout);
      });
    }
    auto ended = [self](std::exception_ptr failure) { self->carried(failure); };
    asio::co_spawn(executor_, live(), std::move(ended));
    begin_input(std::move(content));
  }

  void send(int number) noexcept override {
    if (concluded_ || !begun_) return;
    try {
      const auto self = kept();
      auto sent = [self](std::exception_ptr) {};  // as a signal that came too late
      asio::co_spawn(executor_, signal(number, limits().terminal ? 't' : 'g'), std::move(sent));
    } catch (const std::exception&) {
    }
  }

  void end(end_reason reason) override {
    if (concluded_ || ended_by() != end_reason::none) return;
    if (!finished()) ended_by(reason);
    begin_end();
  }

  void kill() noexcept override {
    if (concluded_) return;
    try {
      begin_end_at_once();
    } catch (const std::exception&) {  // its limit ends it, or the end of its place
    }
    moved_.cancel();
  }

  /// The place is gone, or about to go.
  void lose(const error& reason) {
    if (concluded_) return;
    take_what_is_there();
    fail(reason.with_partial(partial()));
    stop_stream();
    room_.cancel();
    moved_.cancel();
    conclude_all();
  }

 protected:
  using clock = std::chrono::steady_clock;
  enum class ender { none, works, done };

  static constexpr clock::time_point never = clock::time_point::max();
  /// Bytes of output that wait to be read before no more is taken in.
  static constexpr std::size_t window = 64 * 1024;

  /// \param mark     the script's.
  /// \param program  for sentences.
  marked_command(const asio::any_io_executor& executor, std::shared_ptr<command_registry> registry,
                 const command_limits& limits, const std::string& mark, std::string program, bool has_input)
      : running_command(executor, std::move(registry), limits, clock::now()),
        fed_(executor, never),
        room_(executor, never),
        moved_(executor, never),
        executor_(executor),
        program_(std::move(program)),
        has_input_(has_input || limits.terminal),
        filters_{marked_output(mark), marked_output(mark)},
        limit_(executor) {
    auto in = std::make_unique<carried_input>(fed_, has_input_);
    auto out = std::make_unique<carried_output>(executor, room_);
    std::unique_ptr<carried_output> err;  // a terminal has one output
    if (!limits.terminal) err = std::make_unique<carried_output>(executor, room_);
    in_ = in.get();
    outputs_[0] = out.get();
    outputs_[1] = err.get();
    connect(std::move(in), std::move(out), std::move(err));
  }

  /// Starts it and carries its output, until nothing of it is left.
  virtual awaitable<void> live() = 0;
  /// SIGTERM, the grace, and then everything that is left.
  virtual awaitable<void> finish_off() = 0;
  /// \param scope  as `signal_script` has it.
  virtual awaitable<void> signal(int number, char scope) = 0;
  /// Gives input to it, as fast as it reads.
  virtual awaitable<void> write(bytes_view data) = 0;
  virtual awaitable<void> end_input() = 0;
  /// No output is taken any more. May be called more than once.
  virtual void stop_stream() = 0;
  /// Before `finish_off`, and after it.
  virtual void on_ending() {}
  virtual void on_end_over(const std::exception_ptr& /*failure*/) {}
  /// Both outputs have said how it has ended.
  virtual void on_end_marked() {}
  /// Nothing of it is left.
  virtual void on_over() {}
  /// What those who await it are told of a failure of `live`.
  virtual error lost_by(const std::exception_ptr& failure) const = 0;
  /// Where it has used too much memory.
  virtual std::string more_memory() const = 0;

  static awaitable<void> woken(asio::steady_timer& by) {
    std::error_code ignored;
    co_await by.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  awaitable<void> until(clock::time_point limit) {
    moved_.expires_at(limit);
    co_await woken(moved_);
    moved_.expires_at(never);
  }
  awaitable<void> until_ended() {
    while (ender_ == ender::works && !concluded_) co_await woken(moved_);
  }
  /// Its output is still on its way after its end. Not for long.
  awaitable<void> until_stream_over(clock::duration longest) {
    const auto limit = clock::now() + longest;
    while (!stream_over_ && !concluded_ && held() < window && clock::now() < limit) co_await until(limit);
  }
  /// The time between SIGTERM and SIGKILL, or until that is not needed.
  awaitable<void> until_grace_over() {
    const auto limit = clock::now() + limits().grace;
    while (!at_once_ && !stream_over_ && !concluded_ && clock::now() < limit) co_await until(limit);
  }

  /// What its output holds that nobody has read.
  std::size_t held() const {
    std::size_t all = outputs_[0]->waiting();
    if (outputs_[1] != nullptr) all += outputs_[1]->waiting();
    return all;
  }

  /// Output with marks in it.
  void filter(std::size_t index, std::string_view content) {
    filters_[index].feed(
        content, [&](std::string_view own) { take(index, own); }, [&](const exec_mark& mark) { noted(index, mark); });
  }
  void stream_ended() {
    stream_over_ = true;
    moved_.cancel();
    for (std::size_t index = 0; index < 2; ++index)
      filters_[index].finish([&](std::string_view own) { take(index, own); });
    close_input();
  }

  /// All input, until there is no more. \param self  keeps it.
  static awaitable<void> feed(std::shared_ptr<marked_command> self) {
    bool line_start = true;
    for (;;) {
      const bytes going = self->in_->take();
      if (self->concluded_ || self->stream_over_) co_return;
      if (!going.empty()) {
        co_await self->write(going);
        line_start = going.back() == std::byte{'\n'};
        continue;
      }
      if (!self->in_->empty()) continue;
      if (!self->in_->is_open()) break;
      co_await woken(self->fed_);
    }
    if (!self->limits().terminal) {
      co_await self->end_input();
      co_return;
    }
    // In the middle of a line the first ^D only hands the line over.
    std::string_view ends = "\x04\x04";
    if (line_start) ends.remove_prefix(1);
    co_await self->write(as_bytes(ends));
  }

  void begin_end() {
    if (ender_ != ender::none) return;
    ender_ = ender::works;
    on_ending();
    const auto self = kept();
    auto finished = [self](std::exception_ptr failure) {
      self->ender_ = ender::done;
      self->on_end_over(failure);
      if (!self->stream_over_) self->stop_stream();
      self->room_.cancel();
      self->moved_.cancel();
    };
    asio::co_spawn(executor_, finish_off(), std::move(finished));
  }

  void conclude_all() {
    if (std::exchange(concluded_, true)) return;
    stream_over_ = true;
    limit_.cancel();
    moved_.cancel();
    room_.cancel();
    close_input();
    on_over();
    for (carried_output* each : outputs_)
      if (each != nullptr) each->end();
    conclude();
  }

  void set_status(int number, bool signaled, bool out_of_memory) {
    status_known_ = true;
    command_result& all = mutable_result();
    if (signaled)
      all.term_signal(number - 128);
    else
      all.exit_code(number);
    if (out_of_memory) {
      all.kind(error_kind::out_of_memory);
      all.reason("The command was ended because it used more memory than there is for it");
      all.advice(more_memory());
    }
  }

  /// \param reason  as the script has it; "l": its words are too long.
  void unstarted(std::string_view reason) {
    status_known_ = true;
    int number = EACCES;
    if (reason == "n" || reason == "dn") number = ENOENT;
    if (reason == "g") number = ENOEXEC;
    if (reason == "l") number = E2BIG;
    const spawn_stage stage = reason.starts_with('d') ? spawn_stage::directory : spawn_stage::exec;
    mutable_result() = refuse_unstarted(program_, stage, std::error_code(number, std::system_category()));
  }
  /// There was not even a script: `said()` tells why.
  void unstarted_by(std::string reason, std::string advice) {
    status_known_ = true;
    mutable_result() = command_result::refused(error_kind::execution_error, std::move(reason), std::move(advice));
  }

  const asio::any_io_executor& executor() const noexcept { return executor_; }
  const std::string& program() const noexcept { return program_; }
  bool has_input() const noexcept { return has_input_; }
  /// The script's process; 0 before it has begun.
  long script() const noexcept { return script_; }
  bool has_begun() const noexcept { return begun_; }
  /// And its end is known.
  bool has_ended() const noexcept { return has_ended_; }
  /// What was in its output before it had begun: words of whoever starts it.
  const std::string& said() const noexcept { return said_; }
  /// No output comes any more.
  bool stream_over() const noexcept { return stream_over_; }
  /// Nobody waits for a grace.
  bool at_once() const noexcept { return at_once_; }
  /// The end without a grace.
  void begin_end_at_once() {
    at_once_ = true;
    begin_end();
  }
  bool concluded() const noexcept { return concluded_; }
  ender ending() const noexcept { return ender_; }

  // They never expire; cancelling them wakes whoever waits.
  asio::steady_timer fed_;    // there is input
  asio::steady_timer room_;   // output was read
  asio::steady_timer moved_;  // anything else

 private:
  static constexpr std::size_t most_said = 4096;

  std::shared_ptr<marked_command> kept() { return std::static_pointer_cast<marked_command>(shared_from_this()); }

  void take(std::size_t index, std::string_view own) {
    if (!seen_begin_[index]) {
      if (said_.size() < most_said) said_.append(own.substr(0, most_said - said_.size()));
    } else if (!seen_end_[index] && outputs_[index] != nullptr) {
      outputs_[index]->arrived(as_bytes(own));
    }
  }

  void noted(std::size_t index, const exec_mark& mark) {
    if (mark.what == exec_mark::kind::begun) {
      seen_begin_[index] = true;
      if (!std::exchange(begun_, true)) script_ = mark.number;
      moved_.cancel();
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

  /// `live` has ended.
  void carried(const std::exception_ptr& failure) {
    if (concluded_) return;
    if (failure) {
      const error reason = lost_by(failure);
      take_what_is_there();
      fail(reason.with_partial(partial()));
    }
    conclude_all();
  }

  void outputs_changed() override {
    if (concluded_ && outputs_ended()) conclude();
  }
  void on_finished() noexcept override {}

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
  bool concluded_ = false;
};

}  // namespace cofferdam::inline v0::detail
