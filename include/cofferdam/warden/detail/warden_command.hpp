// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/os/command_ends.hpp>
#include <cofferdam/detail/os/command_pipes.hpp>
#include <cofferdam/detail/os/memory_kill.hpp>
#include <cofferdam/detail/os/running_command.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/warden/detail/protocol.hpp>
#include <cofferdam/warden/warden_settings.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/steady_timer.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The part of a session (the connection to one warden, the helper program in a sandbox) that the session's commands
/// use: it sends their frames to the warden.
class frame_sink {
 public:
  virtual void send(bytes frame) = 0;
  /// Resumes the warden if a signal such as SIGSTOP has suspended it.
  /// \return true if the warden was suspended.
  virtual bool rouse() { return false; }
  /// Returns true if the backend has paused the environment, so that the warden cannot report anything.
  virtual bool is_paused() { return false; }
  /// Ends all commands without the warden's help, and then the session, if the backend (the kind of environment)
  /// supports this.
  /// \param reason  the error for pending operations.
  /// \return false if the backend does not support this; nothing has changed then.
  virtual bool end_without_warden(const error& reason) {
    static_cast<void>(reason);
    return false;
  }

 protected:
  ~frame_sink() = default;
};

/// An object that receives the warden's frames of one kind, for example the replies to file requests.
class frame_receiver {
 public:
  frame_receiver() = default;
  frame_receiver(const frame_receiver&) = delete;
  frame_receiver& operator=(const frame_receiver&) = delete;
  /// Handles a frame that has arrived. Returns false if it is of another kind.
  /// \throws error{exec_errc::provider_lost} if the warden must not send this frame now.
  virtual bool arrived(frame_sink& sink, const wire::frame& frame) = 0;
  /// Ends everything that is pending with `reason`.
  virtual void lose(const error& reason) = 0;
  /// Returns true if nothing is pending.
  virtual bool empty() const noexcept = 0;

 protected:
  ~frame_receiver() = default;
};

/// Output that arrives in frames.
class framed_output final : public buffered_output {
 public:
  /// \param window  the maximum number of bytes that are sent and not read yet; then the warden waits.
  framed_output(const asio::any_io_executor& executor, std::shared_ptr<frame_sink> sink, std::uint32_t job,
                std::uint8_t stream, std::uint32_t window)
      : buffered_output(executor),
        sink_(std::move(sink)),
        job_(job),
        stream_(stream),
        credit_(window),
        piece_(std::max<std::size_t>(window / 4, 1)) {}

  void arrived(bytes_view piece) {
    credit_ -= std::min(credit_, piece.size());
    buffered_output::arrived(piece);
  }
  /// Returns true if the window is used up, so that the warden must wait until some output is read.
  bool is_full() const noexcept { return credit_ == 0; }

 private:
  void on_taken(std::size_t count) noexcept override { taken_ += count; }
  void on_wait() override {
    // While the reader waits, the rest of the window is credit, so that the warden can go on without this frame.
    if (taken_ < piece_) return;
    wire::frame_writer frame(wire::frame_type::credit, job_);
    sink_->send(frame.number(stream_).number(static_cast<std::uint32_t>(taken_)).take());
    credit_ += taken_;
    taken_ = 0;
  }

  std::shared_ptr<frame_sink> sink_;
  std::uint32_t job_;
  std::uint8_t stream_;
  std::size_t credit_;
  std::size_t piece_;      // the smallest credit that is returned to the warden
  std::size_t taken_ = 0;  // bytes that were read but not yet returned to the warden as credit
};

/// Input that is sent in frames, at most as many bytes as the warden has given credit for.
class framed_input final : public input_end {
 public:
  framed_input(std::shared_ptr<frame_sink> sink, std::uint32_t job, bool open)
      : sink_(std::move(sink)), job_(job), open_(open) {}

  bool is_open() const noexcept override { return open_; }
  ssize_t write(bytes_view data) override {
    if (!open_) return -2;
    const std::size_t count = std::min<std::size_t>({data.size(), credit_, wire::max_payload / 2});
    if (count == 0) return -1;
    credit_ -= static_cast<std::uint32_t>(count);
    sink_->send(wire::frame_writer(wire::frame_type::input, job_).data(data.first(count)).take());
    return static_cast<ssize_t>(count);
  }
  void wait(std::shared_ptr<end_listener> listener) override { listener_ = std::move(listener); }
  void close() noexcept override {
    listener_.reset();
    if (!std::exchange(open_, false)) return;
    try {
      sink_->send(wire::frame_writer(wire::frame_type::input_end, job_).take());
    } catch (const std::bad_alloc&) {  // no memory for the frame: the input ends when the command ends
    }
  }

  void more(std::uint32_t credit) {
    credit_ += credit;
    if (const std::shared_ptr<end_listener> listener = std::exchange(listener_, nullptr)) listener->input_ready({});
  }

 private:
  std::shared_ptr<frame_sink> sink_;
  std::uint32_t job_;
  bool open_;
  std::uint32_t credit_ = wire::input_window;
  std::shared_ptr<end_listener> listener_;
};

template <class = void>
class basic_warden_command;
using warden_command = basic_warden_command<>;

/// A command that a warden runs. The warden sends signals to the command and reports the command's end. The command's
/// input and output go through pipes of this program, or through frames.
template <class Unused>
class basic_warden_command final : public command_transport {
 public:
  static constexpr paced_by pace = paced_by::transport;

  basic_warden_command(running_command& command, const asio::any_io_executor& executor,
                       std::shared_ptr<frame_sink> sink, std::uint32_t job, std::string program)
      : command_(command),
        executor_(executor),
        sink_(std::move(sink)),
        job_(job),
        program_(std::move(program)),
        watch_(executor) {}

  running_command& command() noexcept { return command_; }

  /// Makes the command's input and output streams from pipes. The command gets the other ends of these pipes.
  void connect_to(command_pipes& pipes) { command_.connect_pipes(executor_, pipes); }

  /// Makes the command's input and output streams from frames.
  /// \param window  see `framed_output`.
  void connect_frames(bool has_input, std::uint32_t window) {
    auto in = std::make_unique<framed_input>(sink_, job_, has_input);
    auto out = std::make_unique<framed_output>(executor_, sink_, job_, std::uint8_t{1}, window);
    std::unique_ptr<framed_output> err;  // a terminal has only one output
    if (!limits().terminal) err = std::make_unique<framed_output>(executor_, sink_, job_, std::uint8_t{2}, window);
    framed_in_ = in.get();
    framed_out_[0] = out.get();
    framed_out_[1] = err.get();
    command_.connect(std::move(in), std::move(out), std::move(err));
  }

  void begin(bytes content) { command_.begin_input(std::move(content)); }

  /// Sets the time after which this program ends the command without waiting for the warden. It is counted from the end
  /// of the grace period and the linger time, which follow the command's time limit or a request to end the command.
  /// See `warden_settings::report_timeout`.
  void watch_timeout(std::chrono::milliseconds report_timeout) {
    report_timeout_ = report_timeout;
    if (limits().timeout) watch_end_after(*limits().timeout);
  }

  /// Returns the description of the command for a list of background commands.
  const std::string& title() const noexcept { return title_; }
  void title(std::string text) { title_ = std::move(text); }

  void send(int number) noexcept override {
    try {
      wire::frame_writer frame(wire::frame_type::signal, job_);
      sink_->send(frame.number(static_cast<std::uint8_t>(wire::signal_scope::group))
                      .number(static_cast<std::uint8_t>(number))
                      .take());
    } catch (const std::bad_alloc&) {  // no memory for the frame: the signal is not sent
    }
  }

  void end(end_reason reason) override {
    is_told_to_end_ = true;
    send_kill(limits().grace);
    // the functions that close a session or end a background command have a time limit of their own
    if (reason != end_reason::closed) watch_end_after(std::chrono::milliseconds(0));
  }

  void kill() noexcept override {
    is_told_to_end_ = true;
    try {
      send_kill(std::chrono::milliseconds(0));
      watch_end_after(std::chrono::milliseconds(0));
    } catch (const std::exception&) {  // the command ends by its time limit, or with the session
    }
  }

  void conclude() override {
    watch_.cancel();
    for (framed_output* each : framed_out_)
      if (each != nullptr) each->end();
  }

  void resize(terminal_size size) override {
    wire::frame_writer frame(wire::frame_type::resize, job_);
    sink_->send(frame.number(size.rows()).number(size.columns()).take());
  }

  // ---- events from the session ----

  void on_output(std::size_t index, bytes_view piece) {
    if (command_.over()) return;
    if (framed_out_[index] != nullptr) framed_out_[index]->arrived(piece);
  }
  void on_input_credit(std::uint32_t credit) {
    if (framed_in_ != nullptr) framed_in_->more(credit);
  }

  /// Sets the count of `warden_settings::memory_kills` before the command begins.
  void kills_before(std::uint64_t count) noexcept { kills_before_ = count; }

  void on_exited(const wire::exited& how, const warden_settings& settings) {
    if (command_.over()) return;
    command_result& result = command_.mutable_result();
    const bool is_known = how.how != wire::exit_how::lost;
    if (how.how == wire::exit_how::exited) result.exit_code(how.code);
    if (how.how == wire::exit_how::signaled) result.term_signal(how.code);
    if (is_known) {
      command_.status_known();
      result.cpu_time(std::chrono::microseconds(how.user_us + how.system_us));
      result.peak_memory(how.peak_kib * 1024U);
    }
    const bool out_of_time = how.reason == wire::exit_reason::timeout ||
                             (how.reason == wire::exit_reason::killed && late_since_ && !is_told_to_end_);
    if (out_of_time) command_.note_end(end_reason::timeout);
    const bool is_ended_by_us = how.reason != wire::exit_reason::none || is_told_to_end_;
    const std::uint64_t kills = settings.memory_kills && !is_ended_by_us ? settings.memory_kills() : 0;
    if (how.oom_kills != 0 || kills > kills_before_) {
      // Shells exit with 128 + SIGKILL if a command was killed.
      const bool was_killed = !is_known || how.code == (how.how == wire::exit_how::signaled ? SIGKILL : 128 + SIGKILL);
      note_memory_kill(result, was_killed, "Process less data at a time, or raise the memory limit.");
    }
    if (settings.explain_end && is_known && !is_ended_by_us && result.kind() == error_kind::none)
      settings.explain_end(result);
    if (how.left && limits().keeps_background && how.reason == wire::exit_reason::none &&
        command_.ended_by() == end_reason::none) {
      command_.close_input();
      result.left_running(true);
      is_watched_ = false;
      watch_.cancel();
      command_.left_running();
    } else {
      command_.exited();
    }
  }

  /// Called when no process of the command is left.
  void on_done() { command_.conclude(); }

  void on_failed(wire::fail_stage stage, int number) {
    if (command_.over()) return;
    const std::error_code cause(number, std::system_category());
    if (number == ETOOMANYREFS) return on_dropped(cause);
    command_.status_known();
    command_.mutable_result() = refuse_unstarted(program_, spawn_stage_of(stage), cause);
    command_.conclude();
  }

  /// Called when the command was never started.
  /// \param cause  the reason; no error if the command was killed before its start.
  void on_dropped(std::error_code cause) {
    if (command_.over()) return;
    command_.status_known();
    if (cause)
      command_.fail(error(exec_errc::unavailable,
                          "Cannot run " + program_ +
                              ": the system cannot pass file descriptors now, because programs of the same user have "
                              "too many in transit through Unix sockets (" +
                              cause.message() +
                              "); nothing was started; end background processes or close the environment, then try "
                              "again, or raise RLIMIT_NOFILE of this program",
                          cause));
    else
      command_.mutable_result().term_signal(SIGKILL);
    command_.conclude();
  }

  /// Called when SIGKILL has not ended the command's processes. The warden continues trying.
  void on_stuck() noexcept { is_stuck_ = true; }

 private:
  const command_limits& limits() const noexcept { return command_.limits(); }

  static spawn_stage spawn_stage_of(wire::fail_stage stage) noexcept {
    switch (stage) {
      case wire::fail_stage::limit:
      case wire::fail_stage::supervisor:
      case wire::fail_stage::fork: return spawn_stage::clone;
      case wire::fail_stage::directory: return spawn_stage::directory;
      case wire::fail_stage::exec: return spawn_stage::exec;
      default: return spawn_stage::descriptors;
    }
  }

  void send_kill(std::chrono::milliseconds grace) {
    wire::frame_writer frame(wire::frame_type::kill, job_);
    sink_->send(frame.number(static_cast<std::uint32_t>(std::clamp<std::int64_t>(grace.count(), 0, 3600'000))).take());
  }

  /// Starts the timer that handles a late warden.
  /// \param time  the time after which the warden should have begun to end the command.
  void watch_end_after(std::chrono::milliseconds time) {
    if (report_timeout_.count() == 0 || command_.over()) return;
    const std::chrono::milliseconds max_time = std::chrono::hours(24 * 365);  // centuries would overflow the clock
    const auto late = std::min(time, max_time) + limits().grace + limits().linger + report_timeout_;
    if (std::exchange(is_watched_, true) && watch_.expiry() <= std::chrono::steady_clock::now() + late) return;
    watch_after(late);
  }

  void watch_after(std::chrono::milliseconds time) {
    watch_.expires_after(time);
    const std::weak_ptr<basic_warden_command> self(std::shared_ptr<basic_warden_command>(command_.kept(), this));
    on_expiry(watch_, [self](std::error_code failure) {
      const std::shared_ptr<basic_warden_command> kept = self.lock();
      if (failure || !kept) return;
      try {
        kept->hurry();
      } catch (const std::bad_alloc&) {  // without memory; try again later
        kept->watch_after(std::chrono::seconds(1));
      }
    });
  }

  /// Called while the warden is late with its report of the command's end, perhaps because a signal has suspended the
  /// warden. Resumes the warden repeatedly, and requests the end of the command. If that does not help, ends everything
  /// without the warden.
  void hurry() {
    // If the event loop was blocked, the report may be waiting in the socket. The function therefore first returns to
    // the loop once, so that the socket is read.
    if (command_.over() || !is_watched_) return;
    if (sink_->is_paused()) {
      has_looked_ = false;
      late_since_.reset();
      return watch_after(std::chrono::seconds(1));
    }
    const bool stands_still = sink_->rouse();
    stood_still_ = stands_still || stood_still_;
    if (!std::exchange(has_looked_, true)) return watch_after(rouse_time);
    if (!stands_still && waits_for_reader()) return watch_after(std::chrono::seconds(1));
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::milliseconds max_wait = limits().grace + running_command::end_patience;
    if (!late_since_) {
      late_since_ = now;
      send_kill(limits().grace);
    }
    // A warden that was never found suspended is probably slow because its machine is busy, so it gets more time.
    if (now < *late_since_ + (stood_still_ ? max_wait : 3 * max_wait)) return watch_after(rouse_time);
    const std::string why =
        is_told_to_end_ || !limits().timeout
            ? "a command had to be ended"
            : "the time limit of a command (" + std::to_string(limits().timeout->count()) + " ms) has passed";
    const error reason(exec_errc::provider_lost,
                       why +
                           ", but the warden did not end it, perhaps because a command stopped the warden; this "
                           "program ended everything in the environment; open another one");
    // If the warden works, it already handles a command that SIGKILL does not end. Nothing more can be done for such a
    // command.
    if ((stood_still_ || !is_stuck_) && sink_->end_without_warden(reason)) return;
    command_.lose(command_.unended(why + (is_stuck_ ? ", SIGKILL was sent" : ", the warden does not answer")));
  }

  /// Returns true if the warden may be unable to send its report, because earlier output was not read.
  bool waits_for_reader() const noexcept {
    return std::any_of(std::begin(framed_out_), std::end(framed_out_),
                       [](const framed_output* each) { return each != nullptr && each->is_full(); });
  }

  static constexpr std::chrono::milliseconds rouse_time{50};

  running_command& command_;
  asio::any_io_executor executor_;
  std::shared_ptr<frame_sink> sink_;
  std::uint32_t job_;
  std::string program_;
  asio::steady_timer watch_;
  std::optional<std::chrono::steady_clock::time_point> late_since_;
  std::chrono::milliseconds report_timeout_{0};
  std::uint64_t kills_before_ = 0;
  bool is_told_to_end_ = false;
  bool is_watched_ = false;  // true while `watch_` waits for the end of the command
  bool has_looked_ = false;
  bool stood_still_ = false;
  bool is_stuck_ = false;
  std::string title_;
  framed_input* framed_in_ = nullptr;
  framed_output* framed_out_[2] = {nullptr, nullptr};
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
