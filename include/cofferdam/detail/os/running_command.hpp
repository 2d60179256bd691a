// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/output_collector.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/os/command_ends.hpp>
#include <cofferdam/detail/os/command_pipes.hpp>
#include <cofferdam/detail/os/terminal.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/detail/command_lifecycle.hpp>
#include <cofferdam/os/detail/command_limits.hpp>
#include <cofferdam/os/detail/command_registry.hpp>
#include <cofferdam/os/detail/command_transport.hpp>
#include <cofferdam/os/detail/privilege_advice.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>

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

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A running command: its streams, the coroutines that await it, and its result. A `command_lifecycle` (a state
/// machine) decides about the next action, and a `command_transport` is the connection to the process.
///
/// Event handlers drive the command, not the awaiting coroutines. Time limits and the end of the command are therefore
/// handled even if no coroutine reads or waits. Each pending handler keeps this object alive. Made by `make_command`.
template <class Unused>
class basic_running_command final : public end_listener {
 public:
  basic_running_command(const asio::any_io_executor& executor, std::shared_ptr<command_registry> registry,
                        const command_limits& limits, std::chrono::steady_clock::time_point started, paced_by pace)
      : registry_(std::move(registry)),
        limits_(limits),
        started_(started),
        lifecycle_(pace),
        sources_{source(limits.kept_output), source(limits.kept_output)},
        changed_(executor) {
    registry_->add(this);
  }
  basic_running_command(const basic_running_command&) = delete;
  basic_running_command& operator=(const basic_running_command&) = delete;
  ~basic_running_command() { registry_->remove(this); }

  /// Completes the construction. Must be called first.
  /// \param whole      a pointer to this object that shares ownership of the `command_with_transport` that contains it.
  /// \param transport  must live as long as this object.
  void attach(std::weak_ptr<basic_running_command> whole, command_transport& transport) noexcept {
    self_ = std::move(whole);
    transport_ = &transport;
  }
  /// Returns a pointer that keeps this object alive; null during destruction.
  std::shared_ptr<basic_running_command> kept() const noexcept { return self_.lock(); }

  // ---- for the code that uses the command ----

  /// Sends a signal to the command and its process group.
  void send(int number) noexcept {
    if (!over()) transport_->send(number);
  }

  /// Ends the command: sends SIGTERM, and after the grace period SIGKILL. Only the first reason counts.
  void end(end_reason reason) {
    lifecycle_.end_asked(reason);
    proceed();
  }

  /// Sends SIGKILL now.
  void kill() noexcept {
    if (lifecycle_.kill_asked()) transport_->kill();
  }

  /// From now on, reads all output as it arrives, and keeps it for the result.
  void drain() {
    lifecycle_.drain();
    proceed();
  }

  /// Called when no coroutine awaits the command any more. Calls `abandon`, unless the command has a result.
  void let_go() noexcept {
    if (!finished()) abandon();
  }

  /// Sends SIGKILL, closes the input and lets event handlers read the rest of the output, without waiting; for
  /// destructors.
  void abandon() noexcept {
    if (settled()) return;
    lifecycle_.note_end(end_reason::closed);
    try {
      kill();
      close_input();
      drain();
    } catch (...) {  // without memory, the output so far is lost, and the awaiting coroutine gets this error
      if (!finished()) failure_ = std::current_exception();
      for (std::size_t index = 0; index < 2; ++index) lose_output(index);
      proceed_quietly();
    }
  }

  /// Returns true if the result exists.
  bool finished() const noexcept { return lifecycle_.is_finished(); }
  /// Returns true if the result exists and no process of the command is left.
  bool settled() const noexcept { return lifecycle_.is_settled(); }
  /// Returns true if no process of the command is left, or if this cannot be found out any more.
  bool over() const noexcept { return lifecycle_.is_over(); }
  end_reason ended_by() const noexcept { return lifecycle_.ended_by(); }
  const command_result& result() const noexcept { return result_; }
  command_result take_result() { return std::move(result_); }

  /// Returns the result so far, with the output and duration until now.
  std::shared_ptr<const command_result> partial() const {
    if (finished()) return std::make_shared<const command_result>(result_);
    auto sofar = std::make_shared<command_result>();
    sofar->out(sources_[0].collected.snapshot()).err(sources_[1].collected.snapshot());
    sofar->duration(std::chrono::steady_clock::now() - started_);
    return sofar;
  }

  /// Reads all output and waits for the result.
  /// \param doing  the operation, for error messages.
  /// \throws error{exec_errc::cancelled} if the awaiting coroutine is cancelled, after the command has been ended;
  ///     error{exec_errc::provider_lost} if the cancelled command has not ended in time;
  ///     error{exec_errc::environment_closed} if the environment is closed.
  static awaitable<void> complete(std::shared_ptr<basic_running_command> self, std::string doing) {
    self->drain();
    bool cancelled = false;
    const auto waits = [&]() -> awaitable<void> {
      wait_result woken = wait_result::notified;
      while (!self->finished() && woken != wait_result::cancelled) woken = co_await self->changed_.wait();
      cancelled = !self->finished();
    };
    const auto ends = [&]() -> awaitable<void> {
      if (!cancelled) return {};
      self->end(end_reason::cancelled);
      return settle_in_time(self);
    };
    co_await with_cleanup(waits, ends);
    if (cancelled) {
      if (!self->settled()) throw self->unended(doing + ": cancelled").with_partial(self->partial());
      throw error(exec_errc::cancelled, doing + ": cancelled; the command was ended").with_partial(self->partial());
    }
    if (self->failure_) std::rethrow_exception(self->failure_);
    if (self->ended_by() == end_reason::closed)
      throw error(exec_errc::environment_closed, doing + ": the environment was closed; the command was ended")
          .with_partial(self->partial());
  }

  /// Waits until no process of the command is left, even if the awaiting coroutine is cancelled.
  awaitable<void> until_settled_shielded() {
    return shielded([self = kept()] { return self->settle_quietly(); });
  }

  /// Waits until no process of the command is left, but at most for the grace period and `end_patience`. Then
  /// `settled()` tests for success.
  awaitable<void> settled_in_time() {
    return shielded([self = kept()] { return settle_in_time(self); });
  }

  /// The maximum time from SIGKILL, after the grace period, to the end of a command.
  static constexpr std::chrono::milliseconds end_patience{3000};

  /// Returns the error for a command that has not ended in time.
  error unended(const std::string& doing) const {
    return error(exec_errc::provider_lost,
                 doing + ", but the command did not end within " +
                     std::to_string((limits_.grace + end_patience).count()) +
                     " ms; close the environment; close() reports the processes that are left");
  }

  /// Returns the next piece of output; an empty piece at the end of both outputs.
  awaitable<output_chunk> read() {
    for (;;) {
      // Begins with the stream that was not read last, so that a busy stream does not block the other one.
      for (std::size_t turn = 0; turn < 2; ++turn) {
        const std::size_t index = (last_read_ + 1 + turn) % 2;
        bytes data = take_piece(index);
        if (data.empty()) continue;
        last_read_ = index;
        co_return output_chunk(index == 0 ? output_stream::out : output_stream::err, std::move(data));
      }
      proceed();
      if (lifecycle_.has_all_output()) co_return output_chunk();
      arm(0);
      arm(1);
      const bool cancelled = co_await changed_.wait() == wait_result::cancelled;
      if (cancelled) throw error(exec_errc::cancelled, "read: cancelled; the command runs on").with_partial(partial());
    }
  }

  awaitable<void> write_input(bytes_view data) {
    if (!limits_.open_input)
      throw error(exec_errc::unsupported,
                  "write_input: the command's input is closed; set open_input() on the command");
    while (!feeding_.empty() && input_->is_open()) {
      const bool cancelled = co_await changed_.wait() == wait_result::cancelled;
      if (cancelled) throw error(exec_errc::cancelled, "write_input: cancelled; nothing was written");
    }
    while (!data.empty()) {
      if (!input_->is_open())
        throw error(exec_errc::io_error, "write_input: the command no longer reads its input",
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
      const bool cancelled = co_await changed_.wait() == wait_result::cancelled;
      if (cancelled)
        throw error(exec_errc::cancelled, "write_input: cancelled; part of the data may have been written");
    }
  }

  void resize(terminal_size size) {
    if (!limits_.terminal)
      throw error(exec_errc::unsupported, "resize: the command has no terminal; set terminal() on the command");
    if (over()) return;
    if (terminal_)
      set_terminal_size(terminal_, size);
    else
      transport_->resize(size);
  }

  void close_input() noexcept {
    feeding_.clear();
    if (input_) input_->close();
    wake();
  }

  // ---- for the streams ----

  void output_ready(std::size_t index, std::error_code failure) override {
    sources_[index].armed = false;
    if (failure) {
      cannot_watch(failure);
      lose_output(index);
    }
    if (lifecycle_.takes_output()) {
      pump(index);
      proceed();
    } else {
      wake();
    }
  }

  void input_ready(std::error_code failure) override {
    input_armed_ = false;
    if (failure) close_input();
    feed();
  }

  // ---- for the transport ----

  /// Sets the streams to the pipes or the terminal whose other ends the command has.
  void connect_pipes(const asio::any_io_executor& executor, command_pipes& pipes) {
    auto in = std::make_unique<descriptor_input>(executor, pipes.input, static_cast<bool>(pipes.terminal));
    auto out = std::make_unique<descriptor_output>(executor, pipes.output);
    std::unique_ptr<descriptor_output> err;
    if (pipes.error) err = std::make_unique<descriptor_output>(executor, pipes.error);
    connect(std::move(in), std::move(out), std::move(err));
    terminal_ = std::move(pipes.terminal);
  }

  /// Sets the streams. Must be called before any event of the command is reported.
  void connect(std::unique_ptr<input_end> input, std::unique_ptr<output_end> output,
               std::unique_ptr<output_end> error) {
    input_ = std::move(input);
    sources_[0].end = std::move(output);
    sources_[1].end = std::move(error);
    for (std::size_t index = 0; index < 2; ++index)
      if (!sources_[index].end) lifecycle_.lost(index);
  }

  /// Writes the content that was given with the command, and then closes the input, unless `limits().open_input` is
  /// true.
  void begin_input(bytes content) {
    feeding_ = std::move(content);
    feed();
  }

  const command_limits& limits() const noexcept { return limits_; }
  std::chrono::steady_clock::time_point started() const noexcept { return started_; }

  /// Returns the result before it is complete. The transport may set everything except the output and the duration.
  command_result& mutable_result() noexcept { return result_; }
  /// Called when the transport has stored the exit status in the result.
  void status_known() noexcept { lifecycle_.status_known(); }
  /// Called when something else has ended the command, for this reason.
  void note_end(end_reason reason) noexcept { lifecycle_.note_end(reason); }

  /// Called when the command itself has ended.
  void exited() {
    lifecycle_.exited();
    proceed();
  }

  /// Called when the command itself has ended, while other processes of it continue. The result gets the output that is
  /// in the pipes now. Later output is read and discarded, so that these processes do not block.
  void left_running() {
    lifecycle_.left_running(std::chrono::steady_clock::now(), standing());
    proceed();
  }

  void grace_over() {
    lifecycle_.grace_over();
    proceed();
  }
  void linger_over() {
    lifecycle_.linger_over();
    proceed();
  }

  /// Ends the other processes of the command and takes its status. The result gets only the output that is in the pipes
  /// now, even if another process continues to write to the pipes.
  void conclude() {
    if (over()) return;
    transport_->conclude();
    lifecycle_.nothing_left(std::chrono::steady_clock::now(), standing());
    proceed();
  }

  /// Called when the outcome of the command is unknown and will stay unknown.
  /// \param reason  the error for the awaiting coroutines.
  void lose(const error& reason) {
    if (over()) return;
    take_what_is_there();
    lose_quietly(reason.with_partial(partial()));
  }
  /// Does the same as `lose`, but adds no output to the error. Used if memory is exhausted.
  void lose_quietly(const error& reason) {
    if (over()) return;
    fail(reason);
    conclude();
  }

  /// Called if the event loop cannot wait for an event of the command. Kills the command, because it cannot be watched.
  void cannot_watch(std::error_code cause) {
    kill();
    fail(error(exec_errc::io_error,
               "the command was ended, because its exit or its output cannot be awaited: " + cause.message(), cause));
  }

  /// Makes the awaiting coroutines throw this error. If this is called more than once, the first error counts.
  void fail(const error& reason) {
    if (!failure_) failure_ = std::make_exception_ptr(reason);
  }

  void take_what_is_there() {
    if (!lifecycle_.takes_output()) return;
    for (std::size_t index = 0; index < 2; ++index) pump(index);
  }

 private:
  using action = command_lifecycle::action;
  using output_state = command_lifecycle::output;

  /// One of the two output streams.
  class source {
   public:
    explicit source(std::size_t keep) : collected(keep) {}
    std::unique_ptr<output_end> end;
    output_collector collected;
    bool armed = false;  // true while a wait for output is under way
  };

  /// Performs the actions that the state machine returns.
  void proceed() {
    for (action due = lifecycle_.next(); due != action::none; due = lifecycle_.next()) perform(due);
  }

  void proceed_quietly() noexcept {
    try {
      proceed();
    } catch (const std::exception&) {  // without memory; the next event tries again
    }
  }

  void perform(action due) {
    switch (due) {
      case action::none: break;
      case action::ask_to_end: transport_->end(lifecycle_.asked_for()); break;
      case action::kill: transport_->kill(); break;
      case action::wait_grace: transport_->wait_grace(); break;
      case action::wait_linger: transport_->wait_linger(); break;
      case action::close_input: close_input(); break;
      case action::take_output: take_what_is_there(); break;
      case action::conclude: conclude(); break;
      case action::finish: finish(); break;
      case action::close_outputs: close_outputs(); break;
      case action::wake: wake(); break;
    }
  }

  void wake() noexcept { changed_.notify(); }

  bool has_ended(std::size_t index) const noexcept { return lifecycle_.output_state(index) == output_state::ended; }

  command_lifecycle::amounts standing() noexcept {
    command_lifecycle::amounts unread{};
    for (std::size_t index = 0; index < 2; ++index)
      if (!has_ended(index)) unread[index] = sources_[index].end->waiting();
    return unread;
  }

  awaitable<void> settle_quietly() {
    while (!settled()) co_await changed_.wait();
  }

  static awaitable<void> settle_in_time(std::shared_ptr<basic_running_command> self) {
    const auto until = std::chrono::steady_clock::now() + self->limits_.grace + end_patience;
    while (!self->settled() && std::chrono::steady_clock::now() < until) co_await self->changed_.wait(until);
  }

  void arm(std::size_t index) {
    source& from = sources_[index];
    const output_state its = lifecycle_.output_state(index);
    if (from.armed || its == output_state::ended || (its == output_state::complete && !finished())) return;
    from.armed = true;
    from.end->wait(kept(), index);
  }

  void arm_input() {
    if (input_armed_ || !input_->is_open()) return;
    input_armed_ = true;
    input_->wait(kept());
  }

  /// Reads once into the buffer that all commands of the registry share. Returns the number of bytes; 0 if no more
  /// output belongs to the result; -1 if nothing is available now.
  ssize_t read_once(std::size_t index) {
    source& from = sources_[index];
    const std::size_t max_bytes = lifecycle_.allowance(index, command_registry::scratch_size);
    const ssize_t got = max_bytes == 0 ? 0 : from.end->read(registry_->scratch(), max_bytes);
    if (got > 0 && !finished()) from.collected.append(bytes_view(registry_->scratch(), static_cast<std::size_t>(got)));
    lifecycle_.took(index, got);
    if (got > 0) return got;
    if (has_ended(index)) from.end->close();
    return lifecycle_.output_state(index) == output_state::open ? -1 : 0;
  }

  bytes take_piece(std::size_t index) {
    if (lifecycle_.output_state(index) != output_state::open) return {};
    const ssize_t got = read_once(index);
    if (got <= 0) return {};
    return {registry_->scratch(), registry_->scratch() + got};
  }

  /// Reads available output, at most 16 times in a row while the command runs, so that other work on the executor can
  /// run. Then waits for more.
  void pump(std::size_t index) {
    try {
      for (int turn = 0; (turn < 16 || over()) && !has_ended(index); ++turn)
        if (read_once(index) <= 0) break;
    } catch (const std::bad_alloc&) {  // without memory, the rest of the output cannot be kept
      failure_ = std::current_exception();
      kill();
      lose_output(index);
    }
    arm(index);
  }

  /// Stops reading from an output.
  void lose_output(std::size_t index) noexcept {
    lifecycle_.lost(index);
    if (sources_[index].end) sources_[index].end->close();
  }

  void close_outputs() noexcept {
    for (source& each : sources_)
      if (each.end) each.end->close();
    terminal_.reset();
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
        close_input();  // the command has closed its input, which is not an error
        return;
      }
    }
    if (!limits_.open_input) close_input();
    wake();
  }

  void finish() {
    transport_->on_finished();
    try {
      fill_result();
    } catch (const std::bad_alloc&) {
      failure_ = std::current_exception();
    }
  }

  void fill_result() {
    result_.out(sources_[0].collected.take()).err(sources_[1].collected.take());
    result_.duration(lifecycle_.ended_at() - started_);
    advise_without_sudo(result_);
    if (result_.kind() != error_kind::none) return;  // the command never ran, and the reason is already set
    if (ended_by() == end_reason::timeout) {
      result_.kind(error_kind::timeout);
      result_.reason(timeout_reason(*limits_.timeout));
    } else if (!lifecycle_.has_status()) {
      transport_->describe_unknown_status(result_);
    }
  }

  std::shared_ptr<command_registry> registry_;
  command_limits limits_;
  std::chrono::steady_clock::time_point started_;
  command_transport* transport_ = nullptr;
  std::weak_ptr<basic_running_command> self_;
  command_lifecycle lifecycle_;
  std::unique_ptr<input_end> input_;
  std::array<source, 2> sources_;
  unique_fd terminal_;
  async_event changed_;
  bytes feeding_;
  std::size_t fed_ = 0;
  std::size_t last_read_ = 1;
  std::exception_ptr failure_;
  bool input_armed_ = false;
  command_result result_;
};

/// A command and its transport in one allocation.
template <class Transport>
class command_with_transport {
 public:
  template <class... Arguments>
  command_with_transport(const asio::any_io_executor& executor, std::shared_ptr<command_registry> registry,
                         const command_limits& limits, std::chrono::steady_clock::time_point started,
                         Arguments&&... arguments)
      : command(executor, std::move(registry), limits, started, Transport::pace),
        transport(command, std::forward<Arguments>(arguments)...) {}

  running_command command;
  Transport transport;  // destroyed before `command`; at that time no handler of the command is left
};

/// Makes a command and its `Transport`. A pointer to either of them keeps both alive.
/// \param arguments  the arguments of the transport's constructor after the first, which is the command.
template <class Transport, class... Arguments>
std::shared_ptr<Transport> make_command(const asio::any_io_executor& executor,
                                        std::shared_ptr<command_registry> registry, const command_limits& limits,
                                        std::chrono::steady_clock::time_point started, Arguments&&... arguments) {
  const auto both = std::make_shared<command_with_transport<Transport>>(executor, std::move(registry), limits, started,
                                                                        std::forward<Arguments>(arguments)...);
  both->command.attach(std::shared_ptr<running_command>(both, &both->command), both->transport);
  return std::shared_ptr<Transport>(both, &both->transport);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
