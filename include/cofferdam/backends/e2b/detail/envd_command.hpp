// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/tracked_command.hpp>
#include <cofferdam/backends/detail/tracked_script.hpp>
#include <cofferdam/backends/e2b/detail/envd.hpp>
#include <cofferdam/backends/e2b/process_event.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/net/connect_client.hpp>
#include <cofferdam/detail/os/running_command.hpp>
#include <cofferdam/detail/os/terminal.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// A command that runs as a process of the sandbox's daemon.
///
/// The script around the command writes marks (short texts, see `exec_script`) into the output, which report the
/// command's beginning and end. The marks are needed because the daemon reports the end of a process too late: only
/// when no other process has the output, or the terminal, of the process open any more.
class envd_command final : public cofferdam::detail::tracked_command {
 public:
  /// \param message  the message of the `Start` call.
  /// \param mark     the text with which each mark of the script begins.
  /// \param tag      `NAME=value`: an environment variable that identifies the processes of the command.
  /// \param program  the name of the program, for error messages.
  /// \param user     the user of the command; empty for the user of the environment.
  envd_command(cofferdam::detail::running_command& command, const asio::any_io_executor& executor,
               std::shared_ptr<envd> daemon, boost::json::object message, const std::string& mark, std::string tag,
               std::string program, std::string user, bool has_input)
      : tracked_command(command, executor, mark, std::move(program), has_input),
        daemon_(std::move(daemon)),
        message_(std::move(message)),
        tag_(std::move(tag)),
        user_(std::move(user)),
        tail_(executor) {}

 private:
  static constexpr std::chrono::milliseconds tail_limit{200};
  static constexpr std::chrono::seconds begin_limit{5};
  static constexpr std::chrono::seconds end_limit{3};

  std::shared_ptr<envd_command> shared() { return {command().kept(), this}; }

  awaitable<void> live() override { return run(shared()); }
  awaitable<void> finish_off() override { return end_all(shared()); }
  awaitable<void> signal(int number, char scope) override {
    // With a terminal, the scope 't' (all processes of the session) would include the script around the command, which
    // must not get the signal. The scope 's' leaves the script out.
    return signal_all(shared(), number, scope == 't' ? 's' : scope);
  }
  std::string more_memory() const override {
    return "Process less data at a time, or use a template with more memory.";
  }

  static awaitable<void> run(std::shared_ptr<envd_command> self) {
    std::optional<error> failure;
    try {
      co_await asio::co_spawn(self->executor(), carry(self),
                              asio::bind_cancellation_slot(self->stop_.slot(), asio::use_awaitable));
    } catch (const error& reason) {
      failure = reason;
    } catch (const std::system_error& reason) {
      failure = error(exec_errc::provider_lost, std::string("e2b: ") + reason.what(), reason.code());
    }
    self->tail_.cancel();
    if (self->concluded()) co_return;
    self->stream_ended();
    const bool is_known = self->has_ended() || self->command().ended_by() != cofferdam::detail::end_reason::none ||
                          self->ending() != ender::none;
    if (!is_known && !failure && !self->process_ended_)
      failure =
          error(exec_errc::provider_lost, "e2b: the stream of " + self->program() + " ended before the command did");
    if (!is_known && failure && self->may_run_) {
      // This program cannot receive the result of the command any more, so the command must not continue.
      self->begin_end_at_once();
    }
    if (self->has_ended() && self->stopped_ && self->ending() == ender::none) {
      // A process outside the command's session has the output open, or the command only pretends to have ended.
      self->begin_end_at_once();
    }
    co_await self->until_ended();
    if (self->concluded()) co_return;
    if (!is_known && failure) throw *failure;
    if (!self->has_ended()) self->judge();
    self->command().conclude();
  }

  /// Starts the command, and reads its output. Pauses while `window` bytes are buffered that the reader of the output
  /// has not consumed.
  static awaitable<void> carry(std::shared_ptr<envd_command> self) {
    const running_mark guard(self->carrying_);
    std::optional<std::chrono::milliseconds> enforce;
    constexpr std::chrono::milliseconds longest = std::chrono::hours(24);
    if (self->limits().timeout && *self->limits().timeout < longest)
      enforce = *self->limits().timeout + self->limits().grace + std::chrono::seconds(30);
    self->may_run_ = true;
    cofferdam::detail::connect_stream stream;
    try {
      stream = co_await envd::stream(self->daemon_, "/process.Process/Start", std::move(self->message_),
                                     "start a command", self->user_, enforce);
    } catch (const error& reason) {
      self->may_run_ = leaves_in_doubt(reason);
      throw;
    }
    while (self->ending() != ender::done) {
      if (self->held() >= window) {
        co_await self->room_.wait();
        continue;
      }
      std::optional<std::string_view> message;
      try {
        message = co_await stream.next();
      } catch (const error& reason) {
        self->broken_ = reason;
      }
      if (self->concluded()) co_return;
      if (self->broken_ && self->broken_->code() == exec_errc::cancelled) co_return;
      if (self->broken_) break;
      if (!message) break;
      self->take_event(process_event::parse(*message));
    }
    if (self->broken_ && !self->has_ended() && !self->process_ended_) {
      const error why = co_await self->daemon_->explain(*self->broken_, "read the output of a command");
      throw why;
    }
    if (stream.failure() && !self->has_ended() && !self->process_ended_) {
      const cofferdam::detail::connect_failure failure = *stream.failure();
      if (!self->has_begun() && failure.code() != cofferdam::detail::connect_code::unavailable) self->may_run_ = false;
      const error why = co_await envd::ended_by(self->daemon_, failure, "run a command");
      throw why;
    }
  }

  /// Stops the stream asynchronously, because this function may be called while the event loop and its sockets are
  /// being destroyed.
  void stop_stream() override {
    if (!carrying_ || std::exchange(stopped_, true)) return;
    cofferdam::detail::post_callback(executor(), [self = shared()] {
      if (self->carrying_) self->stop_.emit(asio::cancellation_type::terminal);
    });
  }
  void on_over() override {
    tail_.cancel();
    if (!feeding_) return;
    cofferdam::detail::post_callback(executor(), [self = shared()] {
      if (self->feeding_) self->stop_feeding_.emit(asio::cancellation_type::terminal);
    });
  }

  /// An object that keeps a flag true while a coroutine runs, so that a coroutine that has ended is not signalled.
  class running_mark {
   public:
    explicit running_mark(bool& running) noexcept : running_(running) { running_ = true; }
    running_mark(const running_mark&) = delete;
    running_mark& operator=(const running_mark&) = delete;
    ~running_mark() { running_ = false; }

   private:
    bool& running_;
  };

  void take_event(const process_event& event) {
    switch (event.what) {
      case process_event::kind::start:
        if (std::exchange(pid_, event.pid) == 0 && has_input()) start_feeding();
        break;
      case process_event::kind::out: filter(0, as_text(event.data)); break;
      case process_event::kind::err: filter(limits().terminal ? 0 : 1, as_text(event.data)); break;
      case process_event::kind::terminal: filter(0, as_text(event.data)); break;
      case process_event::kind::end:
        process_ended_ = event.end;
        moved_.notify();
        break;
      case process_event::kind::other: break;
    }
  }

  /// Ends the stream 200 ms after the mark that reports the command's end. Usually the stream ends by itself before
  /// this time, unless a process outside the command's session has the output open.
  void on_end_marked() override {
    tail_.expires_after(tail_limit);
    cofferdam::detail::on_expiry(tail_, [self = shared()](std::error_code failure) {
      if (!failure) self->stop_stream();
    });
  }

  /// Sets the result from the daemon's report, after the stream has ended without the mark that reports the command's
  /// end.
  void judge() {
    if (!process_ended_) return;
    if (!has_begun()) {
      if (said().find("rgument list too long") != std::string::npos) return unstarted("l");
      const std::string why =
          said().empty() ? "the daemon gives no reason" : one_line(daemon_->redact().clean(said()), 400);
      return unstarted_by("The sandbox could not run " + program() + ": " + why,
                          "Commands need a /bin/sh in the sandbox.");
    }
    if (!limits().terminal || process_ended_->signal < 0) return;
    command().status_known();
    if (process_ended_->signal > 0)
      command().mutable_result().term_signal(process_ended_->signal);
    else
      command().mutable_result().exit_code(process_ended_->exit_code);
  }

  static awaitable<void> give_input(std::shared_ptr<envd_command> self) {
    const running_mark guard(self->feeding_);
    co_await feed(self);
  }

  awaitable<void> end_input() override {
    cofferdam::detail::connect_answer answer = co_await envd::call(daemon_, "/process.Process/CloseStdin", selected(),
                                                                   "end the input of a command", std::nullopt, true);
    daemon_->require_ok(answer, "end the input of a command");
  }

  /// Writes a piece of the input. Waits while the command does not read its input, but at most until the command has
  /// ended.
  awaitable<void> write(bytes_view data) override {
    boost::json::object message = envd::input_message(pid_, limits().terminal ? "pty" : "stdin", data);
    cofferdam::detail::connect_answer answer = co_await envd::call(
        daemon_, "/process.Process/SendInput", std::move(message), "write the input of a command", std::nullopt, false);
    daemon_->require_ok(answer, "write the input of a command");
  }

  boost::json::object selected() const { return envd::process_message(pid_); }

  void start_feeding() {
    const auto self = shared();
    auto fed = [self](std::exception_ptr) { self->command().close_input(); };
    cofferdam::detail::spawn_coroutine(executor(), give_input(self), std::move(fed), stop_feeding_.slot());
  }

  /// Signals the processes of the command by `signal_script`. If this fails, for example because of missing
  /// permissions, the daemon sends the signal. The daemon supports only SIGTERM and SIGKILL.
  static awaitable<void> signal_all(std::shared_ptr<envd_command> self, int number, char scope) {
    std::string process = "none";
    if (self->has_begun()) process = std::to_string(self->script());
    std::vector<std::string> words{"-c", std::string(cofferdam::detail::signal_script), "sh", std::to_string(number)};
    words.push_back(std::move(process));
    words.emplace_back(1, scope);
    words.push_back(self->tag_);
    const bool done =
        co_await envd::run_script(self->daemon_, std::move(words), self->user_, number == SIGKILL, "signal a command");
    if (!done && (number == SIGTERM || number == SIGKILL)) co_await send_by_daemon(self, number);
  }

  static awaitable<void> send_by_daemon(std::shared_ptr<envd_command> self, int number) {
    if (self->pid_ == 0 || self->stream_over()) co_return;
    boost::json::object message = self->selected();
    message["signal"] = number == SIGTERM ? "SIGNAL_SIGTERM" : "SIGNAL_SIGKILL";
    co_await envd::call(self->daemon_, "/process.Process/SendSignal", std::move(message), "signal a command",
                        self->daemon_->request_timeout(), true);
  }

  static awaitable<void> end_all(std::shared_ptr<envd_command> self) {
    const auto begins = clock::now() + begin_limit;
    while (!self->has_begun() && !self->stream_over() && !self->concluded() && clock::now() < begins)
      co_await self->moved_.wait(begins);
    if (self->concluded() || (!self->has_begun() && !self->may_run_)) co_return;
    if (!self->at_once() && !self->stream_over() && self->has_begun()) {
      co_await signal_all(self, SIGTERM, 's');
      co_await self->until_grace_over();
    }
    if (self->concluded()) co_return;
    // A signal from the daemon is the faster way, but it reaches only one process or one process group. It is sent
    // first if the command is to be ended at once, because further output is not needed then.
    if (self->at_once()) co_await send_by_daemon(self, SIGKILL);
    co_await signal_all(self, SIGKILL, 'a');
    co_await self->until_stream_over(end_limit);
    if (self->stream_over() || self->concluded() || self->pid_ == 0) co_return;
    co_await send_by_daemon(self, SIGKILL);
  }

  error lost_by(const std::exception_ptr& failure) const override {
    try {
      std::rethrow_exception(failure);
    } catch (const error& reason) {
      return reason;
    } catch (const std::exception& reason) {
      return error(exec_errc::provider_lost, std::string("e2b: ") + reason.what());
    }
  }

  void resize(terminal_size size) override {
    if (pid_ == 0 || concluded()) return;
    boost::json::object dimensions;
    dimensions["cols"] = size.columns();
    dimensions["rows"] = size.rows();
    boost::json::object pty;
    pty["size"] = std::move(dimensions);
    boost::json::object message = selected();
    message["pty"] = std::move(pty);
    const auto self = shared();
    auto resized = [self](std::exception_ptr, cofferdam::detail::connect_answer) {
    };  // a failure is ignored: the command has probably ended already
    asio::co_spawn(executor(),
                   envd::call(daemon_, "/process.Process/Update", std::move(message), "resize a terminal",
                              daemon_->request_timeout(), true),
                   std::move(resized));
  }

  std::shared_ptr<envd> daemon_;
  boost::json::object message_;
  std::string tag_;
  std::string user_;
  asio::steady_timer tail_;
  asio::cancellation_signal stop_;
  asio::cancellation_signal stop_feeding_;
  std::optional<process_end> process_ended_;  // the end of the process, as the daemon has reported it
  std::optional<error> broken_;               // the failure of the stream's connection
  std::int64_t pid_ = 0;                      // the process id at the daemon; 0 before the start
  bool may_run_ = false;                      // true if the daemon may have started the process
  bool carrying_ = false;
  bool stopped_ = false;
  bool feeding_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
