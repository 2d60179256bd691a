// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/os/pipe.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns a time for a message: `30 s`, or `1500 ms` if it is not a whole number of seconds.
inline std::string time_text(std::chrono::milliseconds time) {
  const bool is_whole = time.count() >= 1000 && time.count() % 1000 == 0;
  return is_whole ? std::to_string(time.count() / 1000) + " s" : std::to_string(time.count()) + " ms";
}

/// The program of `over`, a child process: its standard input and output are the connection to the place. Always reads
/// the program's error output, of which it keeps the end for error messages.
///
/// All members are called on one executor. The waits for the process and its error output end with `end` or `abandon`,
/// at the latest.
class over_program : public std::enable_shared_from_this<over_program> {
 public:
  /// Starts the program.
  /// \param words  the program, searched in the PATH of this process, and its arguments.
  /// \param given  the number of words that the user has given, which are shown in errors. The others are the script.
  /// \throws error{exec_errc::provider_failed} if the program cannot be started; error{exec_errc::io_error} if this
  ///     process has no free descriptor.
  static std::shared_ptr<over_program> start(const asio::any_io_executor& executor, std::vector<std::string> words,
                                             std::size_t given = 1) {
    reaper::instance().sweep();
    pipe_ends in = make_pipe();
    pipe_ends out = make_pipe();
    pipe_ends err = make_pipe();
    for (const unique_fd* ours : {&in.write_end, &out.read_end, &err.read_end}) set_nonblocking(*ours);
    spawn_request request;
    std::string path(default_path);
    for (char** each = ::environ; each != nullptr && *each != nullptr; ++each) {
      request.variables.emplace_back(*each);
      if (request.variables.back().starts_with("PATH=")) path = request.variables.back().substr(5);
    }
    request.words = std::move(words);
    request.candidates = program_candidates(request.words.front(), path);
    request.input = in.read_end.get();
    request.output = out.write_end.get();
    request.error = err.write_end.get();
    spawned started = spawn(request);
    std::string name = one_line(request.words.front());
    if (!started.ok())
      throw error(exec_errc::provider_failed,
                  "over: cannot run \"" + name + "\": " + started.cause().message() +
                      "; install the program, or correct its name",
                  started.cause());
    auto program = std::make_shared<over_program>(executor, std::move(name), started.pid());
    for (std::size_t i = 0; i < given && i < request.words.size(); ++i)
      program->command_line_ += (i == 0 ? "" : " ") + request.words[i];
    program->take(program->in_, in.write_end);
    program->take(program->out_, out.read_end);
    program->take(program->err_, err.read_end);
    program->take(program->pidfd_, started.pidfd());
    program->watch_process();
    program->read_errors();
    return program;
  }

  over_program(const asio::any_io_executor& executor, std::string name, pid_t pid)
      : name_(std::move(name)),
        pid_(pid),
        in_(executor),
        out_(executor),
        err_(executor),
        pidfd_(executor),
        limit_(executor),
        changed_(executor) {}
  over_program(const over_program&) = delete;
  over_program& operator=(const over_program&) = delete;
  ~over_program() {
    is_ending_ = false;
    abandon();
  }

  /// Ends the connection unless `answered` is called in time. Operations then throw
  /// error{exec_errc::provider_failed}.
  void limit(std::chrono::milliseconds time) {
    limit_.expires_after(time);
    on_expiry(limit_, [self = shared_from_this(), time](std::error_code cancelled) {
      if (cancelled || self->is_closed_) return;
      self->is_late_ = true;
      self->late_after_ = time;
      self->out_.cancel();
      self->in_.cancel();
    });
  }
  /// Called when the warden has answered. From then on, the connection has no time limit.
  void answered() {
    is_answered_ = true;
    limit_.cancel();
  }
  /// Returns true if `answered` was called.
  bool is_answered() const noexcept { return is_answered_; }

  /// Reads output of the program. Waits until at least one byte is available.
  /// \throws error{exec_errc::io_error} at the end of the output, with the program's exit status and the end of its
  ///     error output; error{exec_errc::cancelled}.
  static awaitable<std::size_t> read_some(std::shared_ptr<over_program> self, std::span<std::byte> into) {
    std::error_code failure;
    if (!self->is_late_ && !self->is_gone_) {
      const asio::mutable_buffer room(into.data(), into.size());
      const std::size_t count =
          co_await self->out_.async_read_some(room, asio::redirect_error(asio::use_awaitable, failure));
      if (!failure) co_return count;
    }
    self->throw_own_reason("reading", failure);
    co_await self->until_explained();
    throw self->ended();
  }

  /// Writes all of `data` to the program.
  /// \throws the errors of `read_some`.
  static awaitable<void> write(std::shared_ptr<over_program> self, bytes_view data) {
    std::error_code failure;
    while (!data.empty() && !failure) {
      if (self->is_closed_ || self->is_late_ || self->is_gone_) failure = asio::error::operation_aborted;
      if (failure) break;
      const ssize_t written = write_without_sigpipe(self->in_.native_handle(), data);
      if (written >= 0) {
        data = data.subspan(static_cast<std::size_t>(written));
      } else if (errno == EAGAIN) {
        co_await self->in_.async_wait(asio::posix::stream_descriptor::wait_write,
                                      asio::redirect_error(asio::use_awaitable, failure));
      } else if (errno != EINTR) {
        failure = std::error_code(errno, std::system_category());
      }
    }
    if (!failure) co_return;
    self->throw_own_reason("writing", failure);
    co_await self->until_explained();
    throw self->ended();
  }

  /// Closes the program's standard input. Operations under way fail. The program's further output is read and
  /// discarded, so that it can end.
  void close() noexcept {
    if (std::exchange(is_closed_, true)) return;
    limit_.cancel();
    release(in_);
    try {
      out_.cancel();
    } catch (const std::system_error&) {  // nothing waits for the descriptor, so nothing needs to be cancelled
    }
    discard_output();
  }

  /// Closes the program's standard input, and waits for the program's end.
  /// \param patience  the time until SIGTERM, which `abandon` ends. SIGKILL follows after another second.
  static awaitable<void> end(std::shared_ptr<over_program> self, std::chrono::milliseconds patience) {
    constexpr std::chrono::seconds second(1);
    self->is_ending_ = true;
    self->close();
    co_await self->ended_within(patience, true);
    if (!self->has_ended_) {
      self->signal(SIGTERM);
      self->signal(SIGCONT);
      co_await self->ended_within(second);
    }
    if (!self->has_ended_) {
      self->signal(SIGKILL);
      co_await self->ended_within(second);  // longer only if the process hangs in the kernel
    }
    // If the program has left the script's shell behind, the shell gets some time to remove its folder. It keeps only
    // the error output.
    const auto until = async_event::clock::now() + second;
    while (!(self->output_ended_ && self->errors_ended_) && async_event::clock::now() < until) {
      const wait_result how = co_await self->changed_.wait(until);
      if (how == wait_result::cancelled) break;
    }
    self->is_ending_ = false;
    self->abandon();
  }

  /// Closes everything and does not wait. The program reads the end of its input. It also gets SIGTERM, because some
  /// programs do not read their input; or SIGKILL, if the warden has never answered. If `end` is under way, this only
  /// makes it send SIGTERM at once.
  void abandon() noexcept {
    if (is_ending_) {
      is_hurried_ = true;
      changed_.notify();
      return;
    }
    is_closed_ = true;
    limit_.cancel();
    for (asio::posix::stream_descriptor* each : {&in_, &out_, &err_}) release(*each);
    if (std::exchange(is_over_, true) || !pidfd_.is_open()) return;
    signal(has_ended_ || !is_answered_ ? SIGKILL
                                       : SIGTERM);  // until the process is reaped, no other group can have its number
    try {
      reaper::instance().adopt(unique_fd(pidfd_.release()));
    } catch (const std::system_error&) {  // the descriptor stays with Asio, which closes it
    }
    if (has_ended_) reaper::instance().sweep();
  }

 private:
  static void take(asio::posix::stream_descriptor& to, unique_fd& from) {
    to.assign(from.get());
    from.release();
  }

  static void release(asio::posix::stream_descriptor& descriptor) noexcept {
    std::error_code ignored;  // the descriptor is closed even if `close` fails
    descriptor.close(ignored);
  }

  void signal(int number) noexcept { ::kill(-pid_, number); }

  /// Waits until the process ends. Cannot be cancelled by its callers, which shield it.
  /// \param can_hurry  true if `abandon` ends the wait.
  awaitable<void> ended_within(std::chrono::milliseconds time, bool can_hurry = false) {
    const auto until = async_event::clock::now() + time;
    while (!has_ended_ && !(can_hurry && is_hurried_) && async_event::clock::now() < until) {
      const wait_result how = co_await changed_.wait(until);
      if (how == wait_result::cancelled) co_return;
    }
  }

  /// Throws if this side has ended the operation: by its time limit, by `close`, or by a cancellation.
  void throw_own_reason(const std::string& doing, std::error_code cause) const {
    if (is_late_) throw late();
    if (is_closed_)
      throw error(exec_errc::io_error, "over: closed by this side while " + doing, asio::error::operation_aborted);
    if (cause == asio::error::operation_aborted && !is_gone_)
      throw error(exec_errc::cancelled, "over: cancelled while " + doing, cause);
  }

  /// Waits until the program and its error output have ended, because they explain the failure. Waits 1 s at most.
  awaitable<void> until_explained() {
    const auto until = async_event::clock::now() + std::chrono::seconds(1);
    while (!is_over_ && !(has_ended_ && errors_ended_) && async_event::clock::now() < until) {
      const wait_result how = co_await changed_.wait(until);
      if (how == wait_result::cancelled) co_return;
    }
  }

  error late() const {
    return error(exec_errc::provider_failed,
                 "over: " + name_ + " did not reach the place within " + time_text(late_after_) + reason() +
                     "; started was `" + one_line(command_line_, 120) +
                     "`; the program must run the words that it is given, and ask nothing; if the place is slow, raise "
                     "connect_timeout()");
  }

  error ended() const {
    std::string how = " has closed its output";
    if (has_ended_) {
      how = signal_ != 0 ? " was ended by signal " + std::to_string(signal_)
                         : " exited with status " + std::to_string(status_);
    }
    if (!is_answered_) how += " before the place answered";
    return error(exec_errc::io_error, "over: " + name_ + how + reason() + next_step());
  }

  /// Returns what the user can do about a program that has ended before the place answered, after a semicolon; empty if
  /// this is unknown.
  std::string next_step() const {
    if (is_answered_) return {};
    if (errors_.find("Host key verification failed") != std::string::npos)
      return "; run `ssh HOST` once by hand, and compare the key that it shows";
    if (errors_.find("Permission denied (") != std::string::npos)
      return "; try `ssh -o BatchMode=yes HOST true`: ssh needs a key or an agent, because it cannot ask here";
    std::string step;
    if (has_ended_ && signal_ == 0 && status_ == 0)
      step = "; the program must run the command that follows its arguments: does it run its arguments?";
    // The script exits with status 4 if its input has ended too early.
    const bool may_lack_input = signal_ == 0 && name_ != "ssh" && (errors_.empty() || status_ == 4);
    if (may_lack_input)
      step += "; if it needs an option to read its input, add it, such as -i of docker, podman and kubectl";
    return step;
  }

  /// Returns the last lines of the error output, after a colon; empty if there is none.
  std::string reason() const {
    std::vector<std::string> lines;
    std::string_view rest(errors_);
    while (!rest.empty()) {
      const std::size_t size = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(0, size);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty()) lines.push_back(one_line(line, 300));
      rest.remove_prefix(std::min(size + 1, rest.size()));
    }
    constexpr std::size_t most_lines = 3;
    std::string text;
    for (std::size_t i = lines.size() - std::min(lines.size(), most_lines); i < lines.size(); ++i)
      text += (text.empty() ? ": " : " / ") + lines[i];
    return text;
  }

  void watch_process() {
    on_readable(pidfd_, [self = shared_from_this()](std::error_code failure) {
      if (failure == asio::error::operation_aborted) return;
      siginfo_t info{};
      int result = 0;
      do {
        result = ::waitid(wait_for_pidfd, static_cast<id_t>(self->pidfd_.native_handle()), &info,
                          WEXITED | WNOWAIT | WNOHANG);
      } while (result < 0 && errno == EINTR);
      if (result == 0 && info.si_pid == 0) return self->watch_process();  // Asio may report an old event
      self->has_ended_ = true;
      if (result == 0 && info.si_code == CLD_EXITED) self->status_ = info.si_status;
      if (result == 0 && info.si_code != CLD_EXITED) self->signal_ = info.si_status;
      self->changed_.notify();
      self->expect_end_of_output();
    });
  }

  /// Ends the connection a short time after the end of the program, because another process may still have the pipe.
  void expect_end_of_output() {
    if (is_closed_) return;
    limit_.expires_after(std::chrono::seconds(1));
    on_expiry(limit_, [self = shared_from_this()](std::error_code cancelled) {
      if (cancelled || self->is_closed_) return;
      self->is_gone_ = true;
      self->out_.cancel();
      self->in_.cancel();
    });
  }

  void read_errors() {
    on_readable(err_, [self = shared_from_this()](std::error_code failure) {
      if (failure == asio::error::operation_aborted || !self->err_.is_open()) return;
      std::array<char, 4096> piece;
      const ssize_t got = ::read(self->err_.native_handle(), piece.data(), piece.size());
      if (got > 0) self->errors_.append(piece.data(), static_cast<std::size_t>(got));
      constexpr std::size_t kept = 2048;
      if (self->errors_.size() > kept) self->errors_.erase(0, self->errors_.size() - kept);
      if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return self->read_errors();
      self->errors_ended_ = true;
      self->changed_.notify();
    });
  }

  void discard_output() noexcept {
    if (!out_.is_open()) return;
    on_readable(out_, [self = shared_from_this()](std::error_code failure) {
      if (failure == asio::error::operation_aborted || !self->out_.is_open()) return;
      std::array<char, 4096> piece;
      const ssize_t got = ::read(self->out_.native_handle(), piece.data(), piece.size());
      if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return self->discard_output();
      self->output_ended_ = true;
      self->changed_.notify();
    });
  }

  std::string name_;
  std::string command_line_;  // the words of the user
  pid_t pid_;
  asio::posix::stream_descriptor in_;
  asio::posix::stream_descriptor out_;
  asio::posix::stream_descriptor err_;
  asio::posix::stream_descriptor pidfd_;
  asio::steady_timer limit_;
  async_event changed_;  // notified when has_ended_, output_ended_, errors_ended_ or is_hurried_ becomes true
  std::string errors_;   // the end of the error output
  std::chrono::milliseconds late_after_{0};
  int status_ = 0;
  int signal_ = 0;
  bool is_answered_ = false;   // the warden has answered
  bool has_ended_ = false;     // the process has ended, but is not reaped
  bool output_ended_ = false;  // the output has ended; known only after `close`
  bool errors_ended_ = false;  // the error output has ended
  bool is_late_ = false;       // the place did not answer in time
  bool is_gone_ = false;       // the process has ended, and another process keeps its output open
  bool is_closed_ = false;     // this side has closed the connection
  bool is_ending_ = false;     // `end` is under way
  bool is_hurried_ = false;    // `end` waits for nothing before SIGTERM
  bool is_over_ = false;       // the process was given to the reaper
};

/// The connection to the place as a stream for `warden_session`. The bytes that arrived with the last answer of the
/// script come first.
class over_stream {
 public:
  over_stream(std::shared_ptr<over_program> program, std::string first)
      : program_(std::move(program)), first_(std::move(first)) {}

  awaitable<std::size_t> read_some(std::span<std::byte> into) {
    if (first_.empty()) return over_program::read_some(program_, into);
    return read_first(into);
  }
  awaitable<void> write(bytes_view data) { return over_program::write(program_, data); }
  void close() noexcept { program_->close(); }

 private:
  awaitable<std::size_t> read_first(std::span<std::byte> into) {
    const bytes_view content = as_bytes(std::string_view(first_));
    const std::size_t count = std::min(into.size(), content.size());
    std::copy(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(count), into.begin());
    first_.erase(0, count);
    co_return count;
  }

  std::shared_ptr<over_program> program_;
  std::string first_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
