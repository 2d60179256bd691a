// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/output_collector.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/os/command_ends.hpp>
#include <cofferdam/os/command_pipes.hpp>
#include <cofferdam/os/terminal.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::detail {

/// Why a command is being ended by us.
enum class end_reason { none, timeout, cancelled, closed };

class running_command;

/// The commands of one environment: who they are, and a buffer they share, since one thread at a time reads.
class command_registry {
 public:
  static constexpr std::size_t scratch_size = 64 * 1024;

  command_registry() : scratch_(std::make_unique<std::byte[]>(scratch_size)) {}

  std::byte* scratch() noexcept { return scratch_.get(); }
  const std::vector<running_command*>& commands() const noexcept { return commands_; }
  void add(running_command* one) { commands_.push_back(one); }
  void remove(running_command* one) noexcept { std::erase(commands_, one); }

 private:
  std::unique_ptr<std::byte[]> scratch_;
  std::vector<running_command*> commands_;
};

/// What a command is given and held to.
class command_limits {
 public:
  /// No value: no limit.
  std::optional<std::chrono::milliseconds> timeout;
  /// From SIGTERM to SIGKILL.
  std::chrono::milliseconds grace{500};
  /// How long what a command has left behind may go on holding the output once it has ended.
  std::chrono::milliseconds linger{100};
  std::size_t kept_output = command::default_kept_output;
  /// It has a terminal.
  bool terminal = false;
  /// Keep the input open after the first content.
  bool open_input = false;
  /// What it leaves running goes on.
  bool keeps_background = false;
};

/// A command that runs, as all who start commands see it: its streams, those who await it, its result. How it is
/// signalled and how its end is learned is for the derived class. Driven by handlers, not by whoever awaits it: the limit
/// holds and the end is seen even where nobody reads or waits. Every handler keeps it alive; it goes when they are done.
class running_command : public std::enable_shared_from_this<running_command>, public end_listener {
 public:
  running_command(const asio::any_io_executor& executor, std::shared_ptr<command_registry> registry,
                  const command_limits& limits, std::chrono::steady_clock::time_point started)
      : registry_(std::move(registry)),
        limits_(limits),
        started_(started),
        sources_{source(limits.kept_output), source(limits.kept_output)},
        changed_(executor, std::chrono::steady_clock::time_point::max()) {
    registry_->add(this);
  }
  running_command(const running_command&) = delete;
  running_command& operator=(const running_command&) = delete;
  virtual ~running_command() { registry_->remove(this); }

  /// Sends a signal to the command and its process group.
  virtual void send(int number) noexcept = 0;
  /// Ends the command: SIGTERM, the grace, SIGKILL. Only the first reason counts.
  virtual void end(end_reason reason) = 0;
  /// SIGKILL, now.
  virtual void kill() noexcept = 0;

  /// From now on takes all output as it comes, for the result only.
  void drain() {
    if (draining_) return;
    draining_ = true;
    for (std::size_t index = 0; index < 2; ++index) pump(index);
    outputs_changed();
  }

  /// Nobody awaits it any more: ends it like `abandon`, unless its result is there.
  void let_go() noexcept {
    if (!finished_) abandon();
  }

  /// For destructors: SIGKILL now, and nobody will read. The handlers see to the rest.
  void abandon() noexcept {
    if (settled()) return;
    if (!finished_ && ended_by_ == end_reason::none) ended_by_ = end_reason::closed;
    try {
      kill();
      close_input();
      drain();
    } catch (...) {  // no memory: what it had printed is lost, and whoever awaits it hears of that
      if (!finished_) failure_ = std::current_exception();
      for (source& each : sources_) close(each);
    }
  }

  /// The result is there.
  bool finished() const noexcept { return finished_; }
  /// And nothing of it is left.
  bool settled() const noexcept { return over_ && outputs_ended(); }
  end_reason ended_by() const noexcept { return ended_by_; }
  const command_result& result() const noexcept { return result_; }
  command_result take_result() { return std::move(result_); }

  /// What is known so far.
  std::shared_ptr<const command_result> partial() const {
    if (finished_) return std::make_shared<const command_result>(result_);
    auto sofar = std::make_shared<command_result>();
    sofar->out(sources_[0].collected.snapshot()).err(sources_[1].collected.snapshot());
    sofar->duration(std::chrono::steady_clock::now() - started_);
    return sofar;
  }

  /// Takes all output and waits until everything is over. Where the awaiting coroutine is cancelled, ends the command,
  /// waits for that, and throws error{errc::cancelled}; where the environment is closed, error{errc::environment_closed}.
  /// \param doing  the operation, for sentences.
  static awaitable<void> complete(std::shared_ptr<running_command> self, std::string doing) {
    self->drain();
    bool cancelled = false;
    while (!self->finished_ && !cancelled) {
      const bool seen = co_await self->changed();
      cancelled = seen;
    }
    if (cancelled && !self->finished_) {
      const bool throws = co_await asio::this_coro::throw_if_cancelled();
      co_await asio::this_coro::throw_if_cancelled(false);
      self->end(end_reason::cancelled);
      co_await self->until_settled_shielded();
      co_await asio::this_coro::throw_if_cancelled(throws);
      throw error(errc::cancelled, doing + ": cancelled; the command was ended").with_partial(self->partial());
    }
    if (self->failure_) std::rethrow_exception(self->failure_);
    if (self->ended_by_ == end_reason::closed)
      throw error(errc::environment_closed, doing + ": the environment was closed; the command was ended")
          .with_partial(self->partial());
  }

  /// Waits until nothing of it is left, whatever is cancelled; see `shielded` for how to await it.
  awaitable<void> until_settled_shielded() {
    return shielded([self = shared_from_this()] { return self->settle_quietly(); });
  }

  /// The next piece of output; empty at the end.
  awaitable<chunk> read() {
    for (;;) {
      // Turn about, so that a busy stream does not hide the other one.
      for (std::size_t turn = 0; turn < 2; ++turn) {
        const std::size_t index = (last_read_ + 1 + turn) % 2;
        bytes data = take_piece(index);
        if (data.empty()) continue;
        last_read_ = index;
        co_return chunk(index == 0 ? output_stream::out : output_stream::err, std::move(data));
      }
      outputs_changed();
      if (outputs_complete()) co_return chunk();
      arm(0);
      arm(1);
      const bool cancelled = co_await changed();
      if (cancelled) throw error(errc::cancelled, "read: cancelled; the command runs on").with_partial(partial());
    }
  }

  awaitable<void> write_input(bytes_view data) {
    if (!limits_.open_input)
      throw error(errc::unsupported,
                  "write_input: the command's input was not left open; say open_input() on the command");
    while (!feeding_.empty() && input_->is_open()) {
      const bool cancelled = co_await changed();
      if (cancelled) throw error(errc::cancelled, "write_input: cancelled; nothing was written");
    }
    while (!data.empty()) {
      if (!input_->is_open())
        throw error(errc::io_error, "write_input: the command no longer reads its input",
                    std::make_error_code(std::errc::broken_pipe));
      const ssize_t written = input_->write(data);
      if (written >= 0) {
        data = data.subspan(static_cast<std::size_t>(written));
        continue;
      }
      if (written != -1) {
        close_input();
        continue;
      }
      arm_input();
      const bool cancelled = co_await changed();
      if (cancelled) throw error(errc::cancelled, "write_input: cancelled; part of the data may have been written");
    }
  }

  void resize(terminal_size size) {
    if (!limits_.terminal)
      throw error(errc::unsupported, "resize: the command has no terminal; say terminal() on the command");
    if (over_) return;
    if (terminal_)
      set_terminal_size(terminal_, size);
    else
      send_size(size);
  }

  void close_input() noexcept {
    feeding_.clear();
    if (input_) input_->close();
    wake();
  }

  void output_ready(std::size_t index, std::error_code failure) override {
    sources_[index].armed = false;
    if (failure) {
      cannot_watch(failure);
      close(sources_[index]);
    }
    if (draining_ || finished_) {
      pump(index);
      outputs_changed();
    } else {
      wake();
    }
  }

  void input_ready(std::error_code failure) override {
    input_armed_ = false;
    if (failure) close_input();
    feed();
  }

 protected:
  /// Where somebody else holds the terminal.
  virtual void send_size(terminal_size) {}

  /// Streams over pipes, or a terminal, whose other ends the command is given.
  void connect_pipes(const asio::any_io_executor& executor, command_pipes& pipes) {
    auto in = std::make_unique<descriptor_input>(executor, pipes.input, static_cast<bool>(pipes.terminal));
    auto out = std::make_unique<descriptor_output>(executor, pipes.output);
    std::unique_ptr<descriptor_output> err;
    if (pipes.error) err = std::make_unique<descriptor_output>(executor, pipes.error);
    connect(std::move(in), std::move(out), std::move(err));
    terminal_ = std::move(pipes.terminal);
  }

  /// Says where the streams are; the first thing after construction.
  void connect(std::unique_ptr<input_end> input, std::unique_ptr<output_end> output,
               std::unique_ptr<output_end> error) {
    input_ = std::move(input);
    sources_[0].end = std::move(output);
    sources_[1].end = std::move(error);
    for (source& each : sources_) each.ended = each.end == nullptr;
  }

  /// \param content  what the input is to hold first.
  void begin_input(bytes content) {
    feeding_ = std::move(content);
    feed();
  }

  /// Both outputs may have ended, or one of them has been read.
  virtual void outputs_changed() = 0;

  /// The loop refuses to wait for something: what nobody watches must not run.
  void cannot_watch(std::error_code cause) {
    kill();
    fail(error(errc::io_error, "the command was ended: its end or its output cannot be waited for: " + cause.message(),
               cause));
  }

  /// Whoever awaits the command gets this; the first one counts.
  void fail(const error& reason) {
    if (!failure_) failure_ = std::make_exception_ptr(reason);
  }
  bool failed() const noexcept { return failure_ != nullptr; }

  bool outputs_ended() const noexcept { return sources_[0].ended && sources_[1].ended; }
  /// All that belongs to the result has been taken.
  bool outputs_complete() const noexcept {
    return (sources_[0].ended || sources_[0].complete) && (sources_[1].ended || sources_[1].complete);
  }
  bool draining() const noexcept { return draining_; }
  bool over() const noexcept { return over_; }
  const command_limits& limits() const noexcept { return limits_; }
  std::chrono::steady_clock::time_point started() const noexcept { return started_; }
  void ended_by(end_reason reason) noexcept { ended_by_ = reason; }
  command_result& mutable_result() noexcept { return result_; }
  bool status_known_ = false;

  void take_what_is_there() {
    if (!draining_) return;
    for (std::size_t index = 0; index < 2; ++index) pump(index);
  }

  /// The command has ended, and what it has left running goes on. What stands in its outputs now is the last of the result;
  /// what comes later is taken too, so that whoever writes there goes on, and thrown away.
  void part() {
    if (parted_ || over_) return;
    parted_ = true;
    ended_at_ = std::chrono::steady_clock::now();
    for (source& each : sources_)
      if (!each.ended) each.left = each.end->waiting();
    take_what_is_there();
    finish_parted();
    wake();
  }

  void finish_parted() {
    if (!parted_ || finished_ || !outputs_complete()) return;
    finish();
    for (std::size_t index = 0; index < 2; ++index) pump(index);
  }

  /// Nothing of the command is waited for any longer. Somebody who was given one of its pipes may go on writing there;
  /// only what stands in it now is the command's output.
  void conclude() {
    if (!over_) {
      over_ = true;
      if (!parted_) {
        ended_at_ = std::chrono::steady_clock::now();
        for (source& each : sources_)
          if (!each.ended) each.left = each.end->waiting();
      }
    }
    take_what_is_there();
    if (finished_) {
      for (source& each : sources_) close(each);
      terminal_.reset();
    } else if (outputs_ended()) {
      finish();
    }
    wake();
  }

  /// Everything is over: for the derived class.
  virtual void on_finished() noexcept = 0;

  void wake() { changed_.cancel(); }

 private:
  /// One output stream.
  class source {
   public:
    explicit source(std::size_t keep) : collected(keep) {}
    std::unique_ptr<output_end> end;
    output_collector collected;
    std::size_t left = 0;   // once all is over: what had been written by then, and is still to be taken
    bool armed = false;     // a wait for readiness is under way
    bool complete = false;  // nothing more of it belongs to the result
    bool ended = false;     // nothing more will be taken from it
  };

  /// Waits until something has changed; true where the awaiting coroutine was cancelled.
  awaitable<bool> changed() {
    std::error_code woken;
    co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    co_return state.cancelled() != asio::cancellation_type::none;
  }

  awaitable<void> settle_quietly() {
    while (!settled()) co_await changed();
  }

  void arm(std::size_t index) {
    source& from = sources_[index];
    if (from.armed || from.ended || (from.complete && !finished_)) return;
    from.armed = true;
    from.end->wait(shared_from_this(), index);
  }

  void arm_input() {
    if (input_armed_ || !input_->is_open()) return;
    input_armed_ = true;
    input_->wait(shared_from_this());
  }

  /// Reads once into the shared buffer: bytes read, 0 where the stream has ended, -1 where nothing is there now.
  ssize_t read_once(source& from) {
    std::size_t most = command_registry::scratch_size;
    if (over_ || parted_) most = std::min(from.left, most);
    if (parted_ && !over_ && most == 0) {
      from.complete = true;
      return 0;
    }
    const ssize_t got = from.end->read(registry_->scratch(), most);
    if (got > 0) {
      from.collected.append(bytes_view(registry_->scratch(), static_cast<std::size_t>(got)));
      if (over_ || parted_) from.left -= static_cast<std::size_t>(got);
      return got;
    }
    if (got < 0 && !over_) return -1;
    close(from);
    return 0;
  }

  bytes take_piece(std::size_t index) {
    source& from = sources_[index];
    if (from.ended || from.complete) return {};
    const ssize_t got = read_once(from);
    if (got <= 0) return {};
    return {registry_->scratch(), registry_->scratch() + got};
  }

  /// Takes what is there, in bounded turns, and waits for more.
  void pump(std::size_t index) {
    source& from = sources_[index];
    if (finished_) {
      for (int turn = 0; turn < 16 && !from.ended; ++turn) {
        const ssize_t got = from.end->read(registry_->scratch(), command_registry::scratch_size);
        if (got < 0) break;
        if (got == 0) close(from);
      }
      arm(index);
      return;
    }
    try {
      for (int turn = 0; (turn < 16 || over_) && !from.ended; ++turn)
        if (read_once(from) <= 0) break;
    } catch (const std::bad_alloc&) {  // nobody could be given the rest
      failure_ = std::current_exception();
      kill();
      close(from);
    }
    arm(index);
  }

  static void close(source& from) noexcept {
    from.ended = true;
    if (from.end) from.end->close();
  }

  void feed() {
    while (!feeding_.empty() && input_->is_open()) {
      const bytes_view rest = bytes_view(feeding_).subspan(fed_);
      if (rest.empty()) {
        feeding_.clear();
        break;
      }
      const ssize_t written = input_->write(rest);
      if (written >= 0) {
        fed_ += static_cast<std::size_t>(written);
      } else if (written == -1) {
        arm_input();
        return;
      } else {
        close_input();  // the command no longer reads: its right
        return;
      }
    }
    if (!limits_.open_input) close_input();
    wake();
  }

  void finish() {
    finished_ = true;
    if (over_) terminal_.reset();
    on_finished();
    try {
      fill_result();
    } catch (const std::bad_alloc&) {
      failure_ = std::current_exception();
    }
    wake();
  }

  void fill_result() {
    result_.out(sources_[0].collected.take()).err(sources_[1].collected.take());
    result_.duration(ended_at_ - started_);
    if (result_.kind() != error_kind::none) return;  // it never ran: the reason is there
    if (ended_by_ == end_reason::timeout) {
      result_.kind(error_kind::timeout);
      result_.reason("Command timed out after " + seconds_text(*limits_.timeout) + " seconds");
    } else if (!status_known_) {
      describe_unknown_status(result_);
    }
  }

  /// Nobody can say how the command ended; says why. As it stands: it has a process of its own that watches it.
  virtual void describe_unknown_status(command_result& result) {
    result.kind(error_kind::execution_error);
    result.reason("The command killed the process that watched it, so nobody knows how it ended");
    result.advice("Do not kill processes that you have not started.");
  }

  static std::string seconds_text(std::chrono::milliseconds time) {
    std::string text = std::to_string(time.count() / 1000);
    if (const auto rest = time.count() % 1000; rest != 0) {
      std::string digits = std::to_string(1000 + rest).substr(1);
      while (digits.back() == '0') digits.pop_back();
      text += '.' + digits;
    }
    return text;
  }

  std::shared_ptr<command_registry> registry_;
  command_limits limits_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point ended_at_;
  std::unique_ptr<input_end> input_;
  std::array<source, 2> sources_;
  unique_fd terminal_;
  asio::steady_timer changed_;  // never expires; cancelling it wakes whoever waits
  bytes feeding_;
  std::size_t fed_ = 0;
  std::size_t last_read_ = 1;
  end_reason ended_by_ = end_reason::none;
  std::exception_ptr failure_;
  bool input_armed_ = false;
  bool draining_ = false;
  bool parted_ = false;    // it has ended, and left something running
  bool over_ = false;      // nothing of it runs, and the status is taken
  bool finished_ = false;  // and the output is complete
  command_result result_;
};

}  // namespace cofferdam::inline v0::detail
