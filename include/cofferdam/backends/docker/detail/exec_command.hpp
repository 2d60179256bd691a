// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/tracked_command.hpp>
#include <cofferdam/backends/docker/detail/exec_place.hpp>
#include <cofferdam/backends/docker/detail/exec_script.hpp>
#include <cofferdam/backends/docker/detail/multiplexed_stream.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/os/running_command.hpp>
#include <cofferdam/detail/os/terminal.hpp>

#include <asio/any_io_executor.hpp>

#include <boost/json/object.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// A command that runs as a Docker exec (a process that the daemon starts in a running container, as `docker exec`
/// does).
///
/// The script around the command writes marks (short texts, see `exec_script`) into the outputs, which report the
/// command's start and end at once. The end of the stream, which the daemon reports, comes 2 s later if a process
/// outside the command's session still has an output open.
class exec_command final : public cofferdam::detail::tracked_command {
 public:
  /// Makes a command that has not been started.
  /// \param tag      `NAME=value`, an environment variable that identifies all processes of the command. Empty in a
  ///                 container that this library has made, where it is not needed.
  /// \param program  the program's name for error messages.
  exec_command(cofferdam::detail::running_command& command, const asio::any_io_executor& executor,
               std::shared_ptr<exec_place> place, exec_order order, const std::string& mark, std::string tag,
               std::string program, bool has_input)
      : tracked_command(command, executor, mark, std::move(program), has_input),
        place_(std::move(place)),
        order_(std::move(order)),
        tag_(std::move(tag)) {}

 private:
  std::shared_ptr<exec_command> shared() { return {command().kept(), this}; }

  awaitable<void> live() override { return run(shared()); }
  awaitable<void> finish_off() override { return end_all(shared()); }
  awaitable<void> signal(int number, char scope) override {
    return exec_place::signal(place_, number, script(), scope, std::string());
  }
  awaitable<void> write(bytes_view data) override { co_await stream_.write(data); }
  awaitable<void> end_input() override { co_await stream_.shutdown_send(); }
  void stop_stream() override { stream_.close(); }
  void on_ending() override { place_->expect_end(); }
  void on_end_over(const std::exception_ptr& failure) override {
    place_->end_expected();
    if (failure && !concluded()) place_->lose(lost_by(failure));
  }
  std::string more_memory() const override { return "Process less data at a time, or raise the memory limit."; }

  static awaitable<void> run(std::shared_ptr<exec_command> self) {
    co_await exec_place::until_may_begin(self->place_);
    if (self->concluded()) co_return;
    if (self->ending() != ender::none) {  // the command was ended before it was started
      self->stream_ended();
      co_await self->until_ended();
      self->command().conclude();
      co_return;
    }
    self->has_left_ = true;
    self->ends_before_ = self->place_->ends();
    self->place_->nudge();
    const bool terminal = self->limits().terminal;
    self->exec_ = co_await exec_place::create(self->place_, self->order_.words(), self->order_.variables(),
                                              self->has_input(), terminal);
    byte_stream stream = co_await exec_place::start(self->place_, self->exec_, terminal);
    if (self->concluded()) co_return;
    self->stream_ = std::move(stream);
    auto fed = [self](std::exception_ptr) { self->command().close_input(); };
    if (self->has_input()) cofferdam::detail::spawn_coroutine(self->executor(), feed(self), std::move(fed));
    std::exception_ptr failure;
    try {
      co_await self->carry();
    } catch (const error&) {
      failure = std::current_exception();
    }
    if (self->concluded()) co_return;
    self->stream_ended();
    if (!self->has_ended()) {
      const bool known =
          self->command().ended_by() != cofferdam::detail::end_reason::none || self->ending() != ender::none;
      if (failure && !known) std::rethrow_exception(failure);
      if (!known) co_await self->ask_daemon();
    }
    if (self->concluded()) co_return;
    self->stream_.close();
    co_await self->until_ended();
    self->command().conclude();
  }

  /// Reads the command's output. Pauses while `window` bytes are buffered that the reader of the output has not
  /// consumed.
  awaitable<void> carry() {
    const auto buffer = std::make_unique<std::array<std::byte, 64 * 1024>>();
    while (!has_ended() && ending() != ender::done) {
      if (held() >= window) {
        co_await room_.wait();
        continue;
      }
      const std::size_t got = co_await stream_.read_some(std::span(*buffer));
      if (concluded()) co_return;
      if (got == 0) {
        if (!limits().terminal) frames_.finish();
        co_return;
      }
      arrived(as_text(bytes_view(buffer->data(), got)));
    }
  }

  void arrived(std::string_view content) {
    if (limits().terminal) {
      filter(0, content);
      return;
    }
    while (const std::optional<stream_piece> piece = frames_.next(content))
      filter(piece->channel() == stream_channel::output ? 0 : 1, piece->content());
  }

  /// Determines the result of a command whose stream has ended without the mark that reports the command's end.
  awaitable<void> ask_daemon() {
    const std::optional<boost::json::object> seen = co_await exec_place::inspect(place_, exec_);
    if (concluded()) co_return;
    if (place_->ends() != ends_before_) {
      ended_with_another();
      co_return;
    }
    const bool runs = co_await exec_place::is_running(place_);
    if (concluded()) co_return;
    if (!runs || !seen) {
      place_->lose(error(exec_errc::provider_lost, "docker: the container " + place_->name() +
                                                       " is gone, or the daemon no longer knows the command"));
      co_return;
    }
    const std::optional<std::int64_t> code = number_at(*seen, "ExitCode");
    if (!has_begun()) {
      refuse(code.value_or(-1));
    } else if (limits().terminal && code && *code >= 0 && *code <= 255) {
      set_status(static_cast<int>(*code), false, false);
    }
  }

  /// Sets the result of a command that the daemon could not start. `said()` contains the daemon's reason.
  void refuse(std::int64_t code) {
    if (said().find("argument list too long") != std::string::npos) return unstarted("l");
    const std::string why = said().empty() ? "exit code " + std::to_string(code) : one_line(said(), 400);
    const bool no_shell = said().find("\"/bin/sh\"") != std::string::npos;
    unstarted_by("The daemon could not run " + program() + ": " + why,
                 no_shell ? "Without a warden, commands need a /bin/sh in the container." : "");
  }

  /// Sets the result of a command that was killed because all commands of the container were ended by
  /// `exec_place::end_everything`.
  void ended_with_another() {
    command().status_known();
    command_result& result = command().mutable_result();
    result.term_signal(SIGKILL);
    result.kind(error_kind::execution_error);
    result.reason("The command was ended together with another command in the container");
    result.advice(
        "Without a warden, a time limit or a cancellation ends all commands in the container. Run the command again.");
    result.cause(std::make_error_code(std::errc::interrupted));
  }

  static awaitable<void> end_all(std::shared_ptr<exec_command> self) {
    while (!self->has_begun() && !self->stream_over() && !self->concluded()) {
      if (!self->has_left_) co_return;  // the command has not been sent to the daemon yet
      co_await self->moved_.wait();
    }
    if (!self->has_begun() || self->concluded()) co_return;
    if (!self->at_once() && !self->stream_over()) {
      const char scope = self->limits().terminal ? 't' : 's';
      co_await self->signal(SIGTERM, scope);
      co_await self->until_grace_over();
    }
    if (self->concluded()) co_return;
    if (self->place_->has_lease())
      co_await exec_place::end_everything(self->place_);
    else
      co_await exec_place::signal(self->place_, SIGKILL, self->script(), 'a', self->tag_);
    co_await self->until_stream_over(std::chrono::seconds(3));
  }

  error lost_by(const std::exception_ptr& failure) const override {
    try {
      std::rethrow_exception(failure);
    } catch (const error& reason) {
      if (reason.code() == exec_errc::provider_lost) return reason;
      return error(exec_errc::provider_lost, reason.what(), reason.cause());
    } catch (const std::exception& reason) {
      return error(exec_errc::provider_lost, std::string("docker: ") + reason.what());
    }
  }

  void resize(terminal_size size) override {
    if (exec_.empty() || concluded()) return;
    const auto self = shared();
    auto resized = [self](std::exception_ptr) {};  // a failure is ignored, as if the command had already ended
    cofferdam::detail::spawn_coroutine(executor(), exec_place::resize(place_, exec_, size.rows(), size.columns()),
                                       std::move(resized));
  }

  std::shared_ptr<exec_place> place_;
  exec_order order_;
  std::string tag_;
  multiplexed_stream frames_;
  byte_stream stream_;
  std::string exec_;
  int ends_before_ = 0;
  bool has_left_ = false;  // true once the request may have been sent to the daemon
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
