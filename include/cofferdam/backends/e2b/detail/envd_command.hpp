// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/carried_ends.hpp>
#include <cofferdam/backends/detail/marked_script.hpp>
#include <cofferdam/backends/e2b/detail/envd.hpp>
#include <cofferdam/backends/e2b/process_event.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/base64.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/net/connect_client.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/running_command.hpp>
#include <cofferdam/os/spawn.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/object.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::e2b::detail {

/// A command, as a process of the sandbox's daemon. One coroutine carries its output, one its input, one ends it.
///
/// How it ends, the marks of its script tell (see `exec_script`), since the daemon itself says so only when nobody has the
/// outputs open any more; with a terminal the daemon's word is all there is.
class envd_command final : public cofferdam::detail::running_command {
 public:
  using end_reason = cofferdam::detail::end_reason;

  /// \param message  for `Start`.
  /// \param tag      `NAME=value`, which is in the variables of all that it starts.
  /// \param program  for sentences.
  envd_command(const asio::any_io_executor& executor, std::shared_ptr<cofferdam::detail::command_registry> registry,
               const cofferdam::detail::command_limits& limits, std::shared_ptr<envd> place,
               boost::json::object message, const std::string& mark, std::string tag, std::string program,
               bool has_input)
      : running_command(executor, std::move(registry), limits, std::chrono::steady_clock::now()),
        executor_(executor),
        place_(std::move(place)),
        message_(std::move(message)),
        tag_(std::move(tag)),
        program_(std::move(program)),
        has_input_(has_input || limits.terminal),
        filters_{cofferdam::detail::marked_output(mark), cofferdam::detail::marked_output(mark)},
        limit_(executor),
        tail_(executor),
        room_(executor, never),
        fed_(executor, never),
        moved_(executor, never) {
    auto in = std::make_unique<cofferdam::detail::carried_input>(fed_, has_input_);
    auto out = std::make_unique<cofferdam::detail::carried_output>(executor, room_);
    std::unique_ptr<cofferdam::detail::carried_output> err;  // a terminal has one output
    if (!limits.terminal) err = std::make_unique<cofferdam::detail::carried_output>(executor, room_);
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
    if (has_input_) start_feeding();
    begin_input(std::move(content));
  }

  void send(int number) noexcept override {
    if (over_ || !begun_) return;
    try {
      const auto self = shared();
      auto sent = [self](std::exception_ptr) {};  // as a signal that came too late
      asio::co_spawn(executor_, signal(self, number, limits().terminal ? "t" : "g"), std::move(sent));
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
    } catch (const std::exception&) {  // its limit ends it, or the end of the sandbox
    }
    moved_.cancel();
  }

  /// The sandbox is gone, or about to go.
  void lose(const error& reason) {
    if (over_) return;
    take_what_is_there();
    fail(reason.with_partial(partial()));
    stop_carrying();
    room_.cancel();
    moved_.cancel();
    conclude_all();
  }

 private:
  static constexpr std::chrono::steady_clock::time_point never = std::chrono::steady_clock::time_point::max();
  static constexpr std::size_t window = 64 * 1024;
  static constexpr std::size_t most_said = 4096;
  static constexpr std::chrono::milliseconds tail_limit{200};
  static constexpr std::chrono::seconds begin_limit{5};
  static constexpr std::chrono::seconds end_limit{3};

  std::shared_ptr<envd_command> shared() { return std::static_pointer_cast<envd_command>(shared_from_this()); }

  static awaitable<void> woken(asio::steady_timer& by) {
    std::error_code ignored;
    co_await by.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

  static awaitable<void> live(std::shared_ptr<envd_command> self) {
    std::optional<error> failure;
    try {
      co_await asio::co_spawn(self->executor_, carry(self),
                              asio::bind_cancellation_slot(self->stop_.slot(), asio::use_awaitable));
    } catch (const error& reason) {
      failure = reason;
    } catch (const std::system_error& reason) {
      failure = error(errc::provider_lost, std::string("e2b: ") + reason.what(), reason.code());
    }
    self->tail_.cancel();
    if (self->over_) co_return;
    self->stream_over_ = true;
    self->moved_.cancel();
    self->finish_filters();
    self->close_input();
    const bool is_known = self->has_ended_ || self->ended_by() != end_reason::none || self->ender_ != ender::none;
    if (!is_known && !failure && !self->process_ended_)
      failure = error(errc::provider_lost, "e2b: the stream of " + self->program_ + " ended before the command did");
    if (!is_known && failure && self->may_run_) {
      // Nobody will hear of it any more, so it must not go on.
      self->at_once_ = true;
      self->begin_end();
    }
    if (self->has_ended_ && self->stopped_ && self->ender_ == ender::none) {
      // Something has its output open that has left its session, or it only pretends to have ended.
      self->at_once_ = true;
      self->begin_end();
    }
    co_await self->until_ended();
    if (self->over_) co_return;
    if (!is_known && failure) throw *failure;
    if (!self->has_ended_) self->judge();
    self->conclude_all();
  }

  /// Starts it, and takes the output in as fast as it is read.
  static awaitable<void> carry(std::shared_ptr<envd_command> self) {
    const ends guard(self->carrying_);
    std::optional<std::chrono::milliseconds> enforce;
    constexpr std::chrono::milliseconds longest = std::chrono::hours(24);
    if (self->limits().timeout && *self->limits().timeout < longest)
      enforce = *self->limits().timeout + self->limits().grace + std::chrono::seconds(30);
    self->may_run_ = true;
    connect_stream stream;
    try {
      stream = co_await envd::stream(self->place_, "/process.Process/Start", std::move(self->message_),
                                     "start a command", std::string(), enforce);
    } catch (const error& reason) {
      self->may_run_ = leaves_in_doubt(reason);
      throw;
    }
    while (self->ender_ != ender::done) {
      if (self->held() >= window) {
        co_await woken(self->room_);
        continue;
      }
      std::optional<std::string_view> message;
      try {
        message = co_await stream.next();
      } catch (const error& reason) {
        self->broken_ = reason;
      }
      if (self->over_) co_return;
      if (self->broken_ && self->broken_->code() == errc::cancelled) co_return;
      if (self->broken_) break;
      if (!message) break;
      self->take_event(process_event::parse(*message));
    }
    if (self->broken_ && !self->has_ended_ && !self->process_ended_) {
      const error why = co_await self->place_->explain(*self->broken_, "read the output of a command");
      throw why;
    }
    if (stream.failure() && !self->has_ended_ && !self->process_ended_) {
      const connect_failure said = *stream.failure();
      if (!self->begun_) self->may_run_ = false;
      throw self->place_->refusal(said, "run a command");
    }
  }

  /// Not at once: this may be called while the loop, with the sockets that wait there, is being destroyed.
  void stop_carrying() {
    if (!carrying_ || std::exchange(stopped_, true)) return;
    asio::post(executor_, [self = shared()] {
      if (self->carrying_) self->stop_.emit(asio::cancellation_type::terminal);
    });
  }
  void stop_feeding() {
    if (!feeding_) return;
    asio::post(executor_, [self = shared()] {
      if (self->feeding_) self->stop_feeding_.emit(asio::cancellation_type::terminal);
    });
  }

  /// Nobody signals a coroutine that has ended.
  class ends {
   public:
    explicit ends(bool& running) noexcept : running_(running) { running_ = true; }
    ends(const ends&) = delete;
    ends& operator=(const ends&) = delete;
    ~ends() { running_ = false; }

   private:
    bool& running_;
  };

  std::size_t held() const {
    std::size_t all = outputs_[0]->waiting();
    if (outputs_[1] != nullptr) all += outputs_[1]->waiting();
    return all;
  }

  void take_event(const process_event& event) {
    switch (event.what) {
      case process_event::kind::start:
        pid_ = event.pid;
        fed_.cancel();
        break;
      case process_event::kind::out: filter(0, as_text(event.data)); break;
      case process_event::kind::err: filter(limits().terminal ? 0 : 1, as_text(event.data)); break;
      case process_event::kind::terminal: filter(0, as_text(event.data)); break;
      case process_event::kind::end:
        process_ended_ = event.end;
        moved_.cancel();
        break;
      case process_event::kind::other: break;
    }
  }

  void filter(std::size_t index, std::string_view content) {
    filters_[index].feed(
        content, [&](std::string_view own) { take(index, own); },
        [&](const cofferdam::detail::exec_mark& mark) { noted(index, mark); });
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

  void noted(std::size_t index, const cofferdam::detail::exec_mark& mark) {
    using cofferdam::detail::exec_mark;
    if (mark.what == exec_mark::kind::begun) {
      seen_begin_[index] = true;
      if (!std::exchange(begun_, true)) process_ = mark.number;
      moved_.cancel();
      return;
    }
    if (std::exchange(seen_end_[index], true)) return;
    if (!last_) last_ = mark;
    if (limits().terminal) seen_end_[1] = true;
    if (!seen_end_[0] || !seen_end_[1] || has_ended_) return;
    has_ended_ = true;
    status_known_ = true;
    if (last_->what == exec_mark::kind::failed)
      unstarted(last_->reason);
    else
      set_status(static_cast<int>(last_->number), last_->signaled, last_->out_of_memory);
    // The end of the stream is a moment away, unless something outside the session holds it open.
    tail_.expires_after(tail_limit);
    tail_.async_wait([self = shared()](std::error_code failure) {
      if (!failure) self->stop_carrying();
    });
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
      all.advice("Work on less data at a time, or use a template with more memory.");
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

  /// The stream has ended without a mark: what the daemon says is all there is.
  void judge() {
    if (!process_ended_) return;
    if (!begun_) {
      status_known_ = true;
      const std::string why = said_.empty() ? "it says nothing" : one_line(place_->redact().clean(said_), 400);
      mutable_result() =
          command_result::refused(error_kind::execution_error, "The sandbox could not run " + program_ + ": " + why,
                                  "Commands need a /bin/sh in the sandbox.");
      if (said_.find("rgument list too long") != std::string::npos) unstarted("l");
      return;
    }
    if (!limits().terminal || process_ended_->signal < 0) return;
    status_known_ = true;
    if (process_ended_->signal > 0)
      mutable_result().term_signal(process_ended_->signal);
    else
      mutable_result().exit_code(process_ended_->exit_code);
  }

  // ---- input ----

  static awaitable<void> feed(std::shared_ptr<envd_command> self) {
    const ends guard(self->feeding_);
    bool line_start = true;
    while (self->pid_ == 0) {
      if (self->over_ || self->stream_over_) co_return;
      co_await woken(self->fed_);
    }
    for (;;) {
      const bytes going = self->in_->take();
      if (self->over_ || self->stream_over_) co_return;
      if (!going.empty()) {
        co_await self->write(as_text(going));
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
      co_await self->write(ends);
      co_return;
    }
    connect_answer answer = co_await envd::call(self->place_, "/process.Process/CloseStdin", self->selected(),
                                                "end the input of a command", std::nullopt, true);
    self->place_->require_ok(answer, "end the input of a command");
  }

  /// Waits as long as the command does not read; its end ends that too.
  awaitable<void> write(std::string_view data) {
    boost::json::object input;
    const std::string coded = base64_encode(as_bytes(data));
    input[limits().terminal ? "pty" : "stdin"] = cofferdam::detail::json_text(coded);
    boost::json::object message = selected();
    message["input"] = std::move(input);
    connect_answer answer = co_await envd::call(place_, "/process.Process/SendInput", std::move(message),
                                                "write the input of a command", std::nullopt, false);
    place_->require_ok(answer, "write the input of a command");
  }

  boost::json::object selected() const {
    boost::json::object process;
    process["pid"] = pid_;
    boost::json::object message;
    message["process"] = std::move(process);
    return message;
  }

  void start_feeding() {
    const auto self = shared();
    auto fed = [self](std::exception_ptr) { self->close_input(); };
    asio::co_spawn(executor_, feed(self), asio::bind_cancellation_slot(stop_feeding_.slot(), std::move(fed)));
  }

  // ---- the end ----

  enum class ender { none, works, done };

  /// Signals what it has started, as `signal_script` has it. Where one command may not signal another, the daemon can, if it
  /// is one of the two signals that it knows.
  static awaitable<void> signal(std::shared_ptr<envd_command> self, int number, std::string scope) {
    std::string process = "none";
    if (self->begun_) process = std::to_string(self->process_);
    std::vector<std::string> words{"-c", std::string(cofferdam::detail::signal_script), "sh", std::to_string(number)};
    words.push_back(std::move(process));
    words.push_back(std::move(scope));
    words.push_back(self->tag_);
    const bool done = co_await envd::run_script(self->place_, std::move(words), number == SIGKILL, "signal a command");
    if (!done && (number == SIGTERM || number == SIGKILL)) co_await send_by_daemon(self, number);
  }

  static awaitable<void> send_by_daemon(std::shared_ptr<envd_command> self, int number) {
    if (self->pid_ == 0 || self->stream_over_) co_return;
    boost::json::object message = self->selected();
    message["signal"] = number == SIGTERM ? "SIGNAL_SIGTERM" : "SIGNAL_SIGKILL";
    co_await envd::call(self->place_, "/process.Process/SendSignal", std::move(message), "signal a command",
                        self->place_->request_timeout(), true);
  }

  void begin_end() {
    if (ender_ != ender::none) return;
    ender_ = ender::works;
    const auto self = shared();
    auto finished = [self](std::exception_ptr) {  // the sandbox's end is its end then
      self->ender_ = ender::done;
      self->stop_carrying();
      self->room_.cancel();
      self->moved_.cancel();
    };
    asio::co_spawn(executor_, finish_off(self), std::move(finished));
  }

  awaitable<void> until(std::chrono::steady_clock::time_point limit) {
    moved_.expires_at(limit);
    co_await woken(moved_);
    moved_.expires_at(never);
  }

  /// SIGTERM, the grace, and then everything that is left.
  static awaitable<void> finish_off(std::shared_ptr<envd_command> self) {
    using clock = std::chrono::steady_clock;
    const auto begins = clock::now() + begin_limit;
    while (!self->begun_ && !self->stream_over_ && !self->over_ && clock::now() < begins) co_await self->until(begins);
    if (self->over_ || (!self->begun_ && !self->may_run_)) co_return;
    if (!self->at_once_ && !self->stream_over_ && self->begun_) {
      std::string scope = "s";
      if (self->limits().terminal) scope = "t";
      co_await signal(self, SIGTERM, std::move(scope));
      const auto limit = clock::now() + self->limits().grace;
      while (!self->at_once_ && !self->stream_over_ && !self->over_ && clock::now() < limit)
        co_await self->until(limit);
    }
    if (self->over_) co_return;
    // What it would still say, nobody will hear, so the quicker way first; it reaches one process, or one group.
    if (self->at_once_) co_await send_by_daemon(self, SIGKILL);
    co_await signal(self, SIGKILL, "a");
    // What it had written is still on its way.
    const auto limit = clock::now() + end_limit;
    while (!self->stream_over_ && !self->over_ && self->held() < window && clock::now() < limit)
      co_await self->until(limit);
    if (self->stream_over_ || self->over_ || self->pid_ == 0) co_return;
    co_await send_by_daemon(self, SIGKILL);
  }

  awaitable<void> until_ended() {
    while (ender_ == ender::works && !over_) co_await woken(moved_);
  }

  /// The coroutine that carries it has ended.
  void carried(const std::exception_ptr& failure) {
    if (over_) return;
    if (failure) {
      take_what_is_there();
      try {
        std::rethrow_exception(failure);
      } catch (const error& reason) {
        fail(reason.with_partial(partial()));
      } catch (const std::exception& reason) {
        fail(error(errc::provider_lost, std::string("e2b: ") + reason.what()).with_partial(partial()));
      }
    }
    conclude_all();
  }

  void conclude_all() {
    if (std::exchange(over_, true)) return;
    stream_over_ = true;
    limit_.cancel();
    tail_.cancel();
    moved_.cancel();
    room_.cancel();
    close_input();
    stop_feeding();
    for (cofferdam::detail::carried_output* each : outputs_)
      if (each != nullptr) each->end();
    conclude();
  }

  void send_size(terminal_size size) override {
    if (pid_ == 0 || over_) return;
    boost::json::object dimensions;
    dimensions["cols"] = size.columns();
    dimensions["rows"] = size.rows();
    boost::json::object pty;
    pty["size"] = std::move(dimensions);
    boost::json::object message = selected();
    message["pty"] = std::move(pty);
    const auto self = shared();
    auto resized = [self](std::exception_ptr, connect_answer) {};  // as one that came too late
    asio::co_spawn(executor_,
                   envd::call(place_, "/process.Process/Update", std::move(message), "resize a terminal",
                              place_->request_timeout(), true),
                   std::move(resized));
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

  asio::any_io_executor executor_;
  std::shared_ptr<envd> place_;
  boost::json::object message_;
  std::string tag_;
  std::string program_;
  bool has_input_;
  std::array<cofferdam::detail::marked_output, 2> filters_;
  asio::steady_timer limit_;
  asio::steady_timer tail_;
  asio::steady_timer room_;  // never expire; cancelling them wakes whoever waits
  asio::steady_timer fed_;
  asio::steady_timer moved_;
  asio::cancellation_signal stop_;
  asio::cancellation_signal stop_feeding_;
  std::string said_;
  cofferdam::detail::carried_input* in_ = nullptr;
  std::array<cofferdam::detail::carried_output*, 2> outputs_{};
  std::array<bool, 2> seen_begin_{};
  std::array<bool, 2> seen_end_{};
  std::optional<cofferdam::detail::exec_mark> last_;
  std::optional<process_end> process_ended_;  // as the daemon says
  std::optional<error> broken_;               // the connection of its stream
  std::int64_t pid_ = 0;                      // for the daemon
  long process_ = 0;                          // of the script
  ender ender_ = ender::none;
  bool may_run_ = false;      // the daemon may have started it
  bool begun_ = false;        // its own process says so
  bool has_ended_ = false;    // and how it has ended
  bool stream_over_ = false;  // no output comes any more
  bool carrying_ = false;
  bool stopped_ = false;
  bool feeding_ = false;
  bool at_once_ = false;
  bool over_ = false;
};

}  // namespace cofferdam::inline v0::e2b::detail
