// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/carried_ends.hpp>
#include <cofferdam/backends/docker/detail/exec_place.hpp>
#include <cofferdam/backends/docker/detail/exec_script.hpp>
#include <cofferdam/backends/docker/multiplexed_stream.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/net/byte_stream.hpp>
#include <cofferdam/os/command_ends.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/running_command.hpp>
#include <cofferdam/os/spawn.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
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
#include <vector>

namespace cofferdam::inline v0::docker::detail {

using exec_output = cofferdam::detail::carried_output;
using exec_input = cofferdam::detail::carried_input;

/// A command that is an exec of its own. One coroutine carries its output, one its input, one ends it.
///
/// What it is told by marks (see `exec_script`) is known at once; the daemon itself says when the stream ends, which takes
/// 2 s where something outside the command's session still holds an output.
class exec_command final : public cofferdam::detail::running_command {
 public:
  using end_reason = cofferdam::detail::end_reason;

  /// \param program  for sentences.
  exec_command(const asio::any_io_executor& executor, std::shared_ptr<cofferdam::detail::command_registry> registry,
               const cofferdam::detail::command_limits& limits, std::shared_ptr<exec_place> place, exec_order order,
               const std::string& mark, std::string tag, std::string program, bool has_input)
      : running_command(executor, std::move(registry), limits, std::chrono::steady_clock::now()),
        executor_(executor),
        place_(std::move(place)),
        order_(std::move(order)),
        tag_(std::move(tag)),
        program_(std::move(program)),
        has_input_(has_input || limits.terminal),
        filters_{marked_output(mark), marked_output(mark)},
        limit_(executor),
        room_(executor, never),
        fed_(executor, never),
        moved_(executor, never) {
    auto in = std::make_unique<exec_input>(fed_, has_input_);
    auto out = std::make_unique<exec_output>(executor, room_);
    std::unique_ptr<exec_output> err;  // a terminal has one output
    if (!limits.terminal) err = std::make_unique<exec_output>(executor, room_);
    in_ = in.get();
    outputs_[0] = out.get();
    outputs_[1] = err.get();
    connect(std::move(in), std::move(out), std::move(err));
  }

  /// Begins all of it.
  void begin(bytes content) {
    const auto self = shared();
    if (limits().timeout) {
      limit_.expires_after(*limits().timeout);
      limit_.async_wait([self](std::error_code failure) {
        if (!failure && !self->finished()) self->end(end_reason::timeout);
      });
    }
    auto ended = [self](std::exception_ptr failure) { self->carried(failure); };
    asio::co_spawn(executor_, live(self), std::move(ended));
    begin_input(std::move(content));
  }

  void send(int number) noexcept override {
    if (over_ || !begun_) return;
    try {
      const auto self = shared();
      const char scope = limits().terminal ? 't' : 'g';
      auto sent = [self](std::exception_ptr) {};  // as a signal that came too late
      asio::co_spawn(executor_, exec_place::signal(place_, number, process_, scope, std::string()), std::move(sent));
    } catch (const std::exception&) {
    }
  }

  void end(end_reason reason) override {
    if (over_ || ended_by() != end_reason::none) return;
    if (!finished()) ended_by(reason);
    begin_end();
  }

  void kill() noexcept override {
    if (over_) return;
    at_once_ = true;
    try {
      begin_end();
    } catch (const std::exception&) {  // its limit ends it, or the end of the container
    }
    moved_.cancel();
  }

  /// The container is gone.
  void lose(const error& reason) {
    if (over_) return;
    take_what_is_there();
    fail(reason.with_partial(partial()));
    stream_.close();
    room_.cancel();
    moved_.cancel();
    conclude_all();
  }

 private:
  static constexpr std::chrono::steady_clock::time_point never = std::chrono::steady_clock::time_point::max();
  static constexpr std::size_t window = 64 * 1024;

  std::shared_ptr<exec_command> shared() { return std::static_pointer_cast<exec_command>(shared_from_this()); }

  static awaitable<void> woken(asio::steady_timer& by) {
    std::error_code ignored;
    co_await by.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

  static awaitable<void> live(std::shared_ptr<exec_command> self) {
    co_await exec_place::until_may_begin(self->place_);
    if (self->over_) co_return;
    if (self->ender_ != ender::none) {  // it was over before it began
      self->stream_over_ = true;
      co_await self->until_ended();
      self->conclude_all();
      co_return;
    }
    self->has_left_ = true;
    self->ends_before_ = self->place_->ends();
    self->place_->nudge();
    const bool terminal = self->limits().terminal;
    self->exec_ = co_await exec_place::create(self->place_, self->order_.words(), self->order_.variables(),
                                              self->has_input_, terminal);
    byte_stream stream = co_await exec_place::start(self->place_, self->exec_, terminal);
    if (self->over_) co_return;
    self->stream_ = std::move(stream);
    auto fed = [self](std::exception_ptr) { self->close_input(); };
    if (self->has_input_) asio::co_spawn(self->executor_, feed(self), std::move(fed));
    std::exception_ptr failure;
    try {
      co_await self->carry();
    } catch (const error&) {
      failure = std::current_exception();
    }
    if (self->over_) co_return;
    self->stream_over_ = true;
    self->moved_.cancel();
    self->finish_filters();
    self->close_input();
    if (!self->has_ended_) {
      const bool known = self->ended_by() != end_reason::none || self->ender_ != ender::none;
      if (failure && !known) std::rethrow_exception(failure);
      if (!known) co_await self->ask_daemon();
    }
    if (self->over_) co_return;
    self->stream_.close();
    co_await self->until_ended();
    self->conclude_all();
  }

  /// Takes the output in, as fast as it is read.
  awaitable<void> carry() {
    const auto buffer = std::make_unique<std::array<std::byte, 64 * 1024>>();
    while (!has_ended_ && ender_ != ender::done) {
      if (held() >= window) {
        co_await woken(room_);
        continue;
      }
      const std::size_t got = co_await stream_.read_some(std::span(*buffer));
      if (over_) co_return;
      if (got == 0) {
        if (!limits().terminal) frames_.finish();
        co_return;
      }
      arrived(as_text(bytes_view(buffer->data(), got)));
    }
  }

  std::size_t held() const {
    std::size_t all = outputs_[0]->waiting();
    if (outputs_[1] != nullptr) all += outputs_[1]->waiting();
    return all;
  }

  void arrived(std::string_view content) {
    if (limits().terminal) {
      filter(0, content);
      return;
    }
    while (const std::optional<stream_piece> piece = frames_.next(content))
      filter(piece->channel() == stream_channel::output ? 0 : 1, piece->content());
  }

  void filter(std::size_t index, std::string_view content) {
    filters_[index].feed(
        content, [&](std::string_view own) { take(index, own); }, [&](const exec_mark& mark) { noted(index, mark); });
  }

  void finish_filters() {
    for (std::size_t index = 0; index < 2; ++index)
      filters_[index].finish([&](std::string_view own) { take(index, own); });
  }

  void take(std::size_t index, std::string_view own) {
    if (!seen_begin_[index]) {  // before the command: the daemon's own words
      if (said_.size() < most_said) said_.append(own.substr(0, most_said - said_.size()));
    } else if (!seen_end_[index] && outputs_[index] != nullptr) {
      outputs_[index]->arrived(as_bytes(own));
    }
  }

  void noted(std::size_t index, const exec_mark& mark) {
    if (mark.what == exec_mark::kind::begun) {
      seen_begin_[index] = true;
      if (!std::exchange(begun_, true)) process_ = mark.number;
      moved_.cancel();
      return;
    }
    if (std::exchange(seen_end_[index], true)) return;
    if (!last_) last_ = mark;
    if (limits().terminal) seen_end_[1] = true;
    if (!seen_end_[0] || !seen_end_[1]) return;
    has_ended_ = true;
    status_known_ = true;
    if (last_->what == exec_mark::kind::failed)
      unstarted(last_->reason);
    else
      set_status(static_cast<int>(last_->number), last_->signaled, last_->out_of_memory);
  }

  void set_status(int number, bool signaled, bool out_of_memory) {
    command_result& all = mutable_result();
    if (signaled)
      all.term_signal(number - 128);
    else
      all.exit_code(number);
    if (out_of_memory) {
      all.kind(error_kind::out_of_memory);
      all.reason("The command was ended because it used more memory than there is for it");
      all.advice("Work on less data at a time, or allow more memory.");
    }
  }

  void unstarted(std::string_view reason) {
    int number = EACCES;
    if (reason == "n" || reason == "dn") number = ENOENT;
    if (reason == "g") number = ENOEXEC;
    if (reason == "l") number = E2BIG;
    const spawn_stage stage = reason.starts_with('d') ? spawn_stage::directory : spawn_stage::exec;
    mutable_result() = cofferdam::refuse_unstarted(program_, stage, std::error_code(number, std::system_category()));
  }

  /// The stream has ended, and nothing has told why.
  awaitable<void> ask_daemon() {
    const std::optional<boost::json::object> seen = co_await exec_place::inspect(place_, exec_);
    if (over_) co_return;
    if (place_->ends() != ends_before_) {
      ended_with_another();
      co_return;
    }
    const bool runs = co_await exec_place::is_running(place_);
    if (over_) co_return;
    if (!runs || !seen) {
      place_->lose(error(errc::provider_lost, "docker: the container " + place_->name() +
                                                  " is gone, or nobody knows of the command any more"));
      co_return;
    }
    const std::optional<std::int64_t> code = number_at(*seen, "ExitCode");
    if (!begun_) {
      refuse(code.value_or(-1));
    } else if (limits().terminal && code && *code >= 0 && *code <= 255) {
      status_known_ = true;
      set_status(static_cast<int>(*code), false, false);
    }
  }

  /// The daemon could not start it; what it wrote says why.
  void refuse(std::int64_t code) {
    status_known_ = true;
    command_result& all = mutable_result();
    std::string why = said_.empty() ? "exit code " + std::to_string(code) : one_line(said_, 400);
    if (said_.find("argument list too long") != std::string::npos) {
      unstarted("l");
      return;
    }
    const bool no_shell = said_.find("\"/bin/sh\"") != std::string::npos;
    all = command_result::refused(error_kind::execution_error, "The daemon could not run " + program_ + ": " + why,
                                  no_shell ? "Without a warden, commands need a /bin/sh in the container." : "");
  }

  /// USR1 spares nobody.
  void ended_with_another() {
    status_known_ = true;
    command_result& all = mutable_result();
    all.term_signal(SIGKILL);
    all.kind(error_kind::execution_error);
    all.reason("It was ended together with another command of the container");
    all.advice("Without a warden, a time limit or a cancellation ends all that runs there. Run it again.");
    all.cause(std::make_error_code(std::errc::interrupted));
  }

  static awaitable<void> feed(std::shared_ptr<exec_command> self) {
    bool line_start = true;
    for (;;) {
      const bytes going = self->in_->take();
      if (self->over_ || self->stream_over_) co_return;
      if (!going.empty()) {
        co_await self->stream_.write(going);
        line_start = going.back() == std::byte{'\n'};
        continue;
      }
      if (!self->in_->empty()) continue;
      if (!self->in_->is_open()) break;
      co_await woken(self->fed_);
    }
    if (self->limits().terminal) {
      // In the middle of a line the first ^D only hands the line over.
      std::string_view ends = "\x04\x04";
      if (line_start) ends.remove_prefix(1);
      co_await self->stream_.write(as_bytes(ends));
    } else {
      co_await self->stream_.shutdown_send();
    }
  }

  // ---- the end ----

  enum class ender { none, works, done };

  void begin_end() {
    if (ender_ != ender::none) return;
    ender_ = ender::works;
    place_->expect_end();
    const auto self = shared();
    auto finished = [self](std::exception_ptr failure) {
      self->place_->end_expected();
      self->ender_ = ender::done;
      if (failure && !self->over_) self->place_->lose(lost_by(failure));
      if (!self->stream_over_) self->stream_.close();
      self->room_.cancel();
      self->moved_.cancel();
    };
    asio::co_spawn(executor_, finish_off(self), std::move(finished));
  }

  /// SIGTERM, the grace, and then everything that is left.
  static awaitable<void> finish_off(std::shared_ptr<exec_command> self) {
    while (!self->begun_ && !self->stream_over_ && !self->over_) {
      if (!self->has_left_) co_return;  // it still waits for its turn, and will not take it
      co_await woken(self->moved_);
    }
    if (!self->begun_ || self->over_) co_return;
    const char scope = self->limits().terminal ? 't' : 's';
    if (!self->at_once_ && !self->stream_over_) {
      co_await exec_place::signal(self->place_, SIGTERM, self->process_, scope, std::string());
      const auto limit = std::chrono::steady_clock::now() + self->limits().grace;
      while (!self->at_once_ && !self->stream_over_ && !self->over_ && std::chrono::steady_clock::now() < limit) {
        self->moved_.expires_at(limit);
        co_await woken(self->moved_);
      }
      self->moved_.expires_at(never);
    }
    if (self->over_) co_return;
    if (self->place_->has_lease())
      co_await exec_place::end_everything(self->place_);
    else
      co_await exec_place::signal(self->place_, SIGKILL, self->process_, 'a', self->tag_);
    // What it had written is still on its way.
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(3);
    while (!self->stream_over_ && !self->over_ && self->held() < window && std::chrono::steady_clock::now() < limit) {
      self->moved_.expires_at(limit);
      co_await woken(self->moved_);
    }
    self->moved_.expires_at(never);
  }

  awaitable<void> until_ended() {
    while (ender_ == ender::works && !over_) co_await woken(moved_);
  }

  static error lost_by(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const error& reason) {
      if (reason.code() == errc::provider_lost) return reason;
      return error(errc::provider_lost, reason.what(), reason.cause());
    } catch (const std::exception& reason) {
      return error(errc::provider_lost, std::string("docker: ") + reason.what());
    }
  }

  /// The coroutine that carries it has ended.
  void carried(const std::exception_ptr& failure) {
    if (over_) return;
    if (failure) {
      const error reason = lost_by(failure);
      take_what_is_there();
      fail(reason.with_partial(partial()));
    }
    conclude_all();
  }

  void conclude_all() {
    if (std::exchange(over_, true)) return;
    stream_over_ = true;
    limit_.cancel();
    moved_.cancel();
    close_input();
    for (exec_output* each : outputs_)
      if (each != nullptr) each->end();
    conclude();
  }

  void send_size(terminal_size size) override {
    if (exec_.empty() || over_) return;
    const auto self = shared();
    auto resized = [self](std::exception_ptr) {};  // as one that came too late
    asio::co_spawn(executor_, exec_place::resize(place_, exec_, size.rows(), size.columns()), std::move(resized));
  }

  void outputs_changed() override {
    if (over_ && outputs_ended()) conclude();
  }
  void on_finished() noexcept override {}
  void describe_unknown_status(command_result& result) override {
    result.kind(error_kind::execution_error);
    result.reason("The command killed the process that watched it, so nobody knows how it ended");
    result.advice("Do not kill processes that you have not started.");
  }

  static constexpr std::size_t most_said = 4096;

  asio::any_io_executor executor_;
  std::shared_ptr<exec_place> place_;
  exec_order order_;
  std::string tag_;
  std::string program_;
  bool has_input_;
  std::array<marked_output, 2> filters_;
  multiplexed_stream frames_;
  asio::steady_timer limit_;
  asio::steady_timer room_;  // never expire; cancelling them wakes whoever waits
  asio::steady_timer fed_;
  asio::steady_timer moved_;
  byte_stream stream_;
  std::string exec_;
  std::string said_;
  exec_input* in_ = nullptr;
  std::array<exec_output*, 2> outputs_{};
  std::array<bool, 2> seen_begin_{};
  std::array<bool, 2> seen_end_{};
  std::optional<exec_mark> last_;
  long process_ = 0;
  int ends_before_ = 0;
  ender ender_ = ender::none;
  bool has_left_ = false;     // for the daemon
  bool begun_ = false;        // its own process says so
  bool has_ended_ = false;    // and how it has ended
  bool stream_over_ = false;  // no output comes any more
  bool at_once_ = false;
  bool over_ = false;
};

}  // namespace cofferdam::inline v0::docker::detail
