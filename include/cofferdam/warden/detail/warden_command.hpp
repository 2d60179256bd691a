// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/os/command_ends.hpp>
#include <cofferdam/os/command_pipes.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/running_command.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/warden/protocol.hpp>

#include <asio/any_io_executor.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0::detail {

/// Where the commands of a session put their frames.
class frame_sink {
 public:
  virtual void send(bytes frame) = 0;

 protected:
  ~frame_sink() = default;
};

/// Output that arrives in frames, at most the window of it.
class framed_output final : public buffered_output {
 public:
  framed_output(const asio::any_io_executor& executor, std::shared_ptr<frame_sink> sink, std::uint32_t job,
                std::uint8_t stream)
      : buffered_output(executor), sink_(std::move(sink)), job_(job), stream_(stream) {}

 private:
  void on_taken(std::size_t count) noexcept override { taken_ += count; }
  void on_wait() override {
    if (taken_ == 0) return;
    wire::frame_writer frame(wire::frame_type::credit, job_);
    sink_->send(frame.number(stream_).number(static_cast<std::uint32_t>(taken_)).take());
    taken_ = 0;
  }

  std::shared_ptr<frame_sink> sink_;
  std::uint32_t job_;
  std::uint8_t stream_;
  std::size_t taken_ = 0;  // and not yet given back as credit
};

/// Input that leaves in frames, as far as the warden has room for it.
class framed_input final : public input_end {
 public:
  framed_input(std::shared_ptr<frame_sink> sink, std::uint32_t job, bool open)
      : sink_(std::move(sink)), job_(job), open_(open) {}

  bool is_open() const noexcept override { return open_; }
  ssize_t write(bytes_view data) override {
    if (!open_) return -2;
    const std::size_t count = std::min<std::size_t>({data.size(), credit_, wire::longest_payload / 2});
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
    } catch (const std::bad_alloc&) {  // it ends with the command at the latest
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

/// A command that a warden runs: signalled through it, its end learned from it. Its streams are pipes of ours, or frames.
class warden_command final : public running_command {
 public:
  warden_command(const asio::any_io_executor& executor, std::shared_ptr<command_registry> registry,
                 const command_limits& limits, std::shared_ptr<frame_sink> sink, std::uint32_t job, std::string program)
      : running_command(executor, std::move(registry), limits, std::chrono::steady_clock::now()),
        executor_(executor),
        sink_(std::move(sink)),
        job_(job),
        program_(std::move(program)) {}

  /// Streams over pipes, whose other ends the command is given.
  void connect_to(command_pipes& pipes) { connect_pipes(executor_, pipes); }

  /// Streams in frames.
  void connect_frames(bool has_input) {
    auto in = std::make_unique<framed_input>(sink_, job_, has_input);
    auto out = std::make_unique<framed_output>(executor_, sink_, job_, std::uint8_t{1});
    std::unique_ptr<framed_output> err;  // a terminal has one output
    if (!limits().terminal) err = std::make_unique<framed_output>(executor_, sink_, job_, std::uint8_t{2});
    framed_in_ = in.get();
    framed_out_[0] = out.get();
    framed_out_[1] = err.get();
    connect(std::move(in), std::move(out), std::move(err));
  }

  void begin(bytes content) { begin_input(std::move(content)); }

  /// What a list of what goes on shows.
  const std::string& title() const noexcept { return title_; }
  void title(std::string text) { title_ = std::move(text); }

  void send(int number) noexcept override {
    if (gone_) return;
    try {
      wire::frame_writer frame(wire::frame_type::signal, job_);
      sink_->send(frame.number(static_cast<std::uint8_t>(wire::signal_scope::group))
                      .number(static_cast<std::uint8_t>(number))
                      .take());
    } catch (const std::bad_alloc&) {  // as a signal that came too late
    }
  }

  void end(end_reason reason) override {
    if (gone_ || ended_by() != end_reason::none) return;
    if (!finished()) ended_by(reason);
    send_kill(limits().grace);
  }

  void kill() noexcept override {
    if (gone_) return;
    try {
      send_kill(std::chrono::milliseconds(0));
    } catch (const std::bad_alloc&) {  // its limit ends it, or the end of the session
    }
  }

  // ---- what the session hears ----

  void on_output(std::size_t index, bytes_view piece) {
    if (framed_out_[index] != nullptr) framed_out_[index]->arrived(piece);
  }
  void on_input_credit(std::uint32_t credit) {
    if (framed_in_ != nullptr) framed_in_->more(credit);
  }

  void on_exited(const wire::exited& how) {
    command_result& all = mutable_result();
    status_known_ = how.how != wire::exit_how::lost;
    if (how.how == wire::exit_how::exited) all.exit_code(how.code);
    if (how.how == wire::exit_how::signaled) all.term_signal(how.code);
    if (status_known_) {
      all.cpu_time(std::chrono::microseconds(how.user_us + how.system_us));
      all.peak_memory(how.peak_kib * 1024U);
    }
    if (how.reason == wire::exit_reason::timeout && ended_by() == end_reason::none) ended_by(end_reason::timeout);
    if (how.oom_kills != 0) {
      all.kind(error_kind::out_of_memory);
      all.reason("The command was ended because it used more memory than there is for it");
      all.advice("Work on less data at a time, or allow more memory.");
    }
    close_input();
    if (how.left && limits().keeps_background && how.reason == wire::exit_reason::none &&
        ended_by() == end_reason::none) {
      all.left_running(true);
      part();
    } else {
      take_what_is_there();
    }
  }

  /// Nothing of it is left.
  void on_done() {
    gone_ = true;
    end_frames();
    conclude();
  }

  void on_failed(wire::fail_stage stage, int number) {
    gone_ = true;
    status_known_ = true;
    const std::error_code cause(number, std::system_category());
    mutable_result() = refuse_unstarted(program_, spawn_stage_of(stage), cause);
    end_frames();
    conclude();
  }

  void on_lost(const error& reason) {
    if (gone_) return;
    take_what_is_there();
    on_lost_quietly(reason.with_partial(partial()));
  }
  void on_lost_quietly(const error& reason) {
    if (std::exchange(gone_, true)) return;
    fail(reason);
    end_frames();
    conclude();
  }

 private:
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

  void send_size(terminal_size size) override {
    wire::frame_writer frame(wire::frame_type::resize, job_);
    sink_->send(frame.number(size.rows()).number(size.columns()).take());
  }

  void send_kill(std::chrono::milliseconds grace) {
    wire::frame_writer frame(wire::frame_type::kill, job_);
    sink_->send(frame.number(static_cast<std::uint32_t>(std::clamp<std::int64_t>(grace.count(), 0, 3600'000))).take());
  }

  void end_frames() {
    for (framed_output* each : framed_out_)
      if (each != nullptr) each->end();
  }

  void outputs_changed() override {
    if (gone_ && outputs_ended()) conclude();
    finish_parted();
  }
  void on_finished() noexcept override {}

  asio::any_io_executor executor_;
  std::shared_ptr<frame_sink> sink_;
  std::uint32_t job_;
  std::string program_;
  std::string title_;
  framed_input* framed_in_ = nullptr;
  framed_output* framed_out_[2] = {nullptr, nullptr};
  bool gone_ = false;  // nothing of it runs
};

}  // namespace cofferdam::inline v0::detail
