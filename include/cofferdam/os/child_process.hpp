// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/output_collector.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/os/pipe.hpp>
#include <cofferdam/os/reaper.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam::inline v0::detail {

/// Why a child is being ended by us.
enum class end_reason { none, timeout, cancelled, closed };

class child_process;

/// The children of one environment: who they are, and a buffer they share, since one thread at a time reads.
class child_registry {
 public:
  static constexpr std::size_t scratch_size = 64 * 1024;

  child_registry() : scratch_(std::make_unique<std::byte[]>(scratch_size)) {}

  std::byte* scratch() noexcept { return scratch_.get(); }
  const std::vector<child_process*>& children() const noexcept { return children_; }
  void add(child_process* child) { children_.push_back(child); }
  void remove(child_process* child) noexcept { std::erase(children_, child); }

 private:
  std::unique_ptr<std::byte[]> scratch_;
  std::vector<child_process*> children_;
};

/// What a child is given and held to.
class child_limits {
 public:
  /// No value: no limit.
  std::optional<std::chrono::milliseconds> timeout;
  /// From SIGTERM to SIGKILL.
  std::chrono::milliseconds grace{500};
  /// How long a background child may go on holding the output once the command itself has ended.
  std::chrono::milliseconds linger{100};
  std::size_t kept_output = command::default_kept_output;
  /// Keep the input open after `input`.
  bool open_input = false;
};

/// A started child: its pipes, its time limit and its end. Driven by handlers, not by whoever awaits it: the limit
/// holds and the end is seen even where nobody reads or waits. Every handler keeps it alive; it goes when they are done.
class child_process : public std::enable_shared_from_this<child_process> {
 public:
  /// \param pidfd  taken over only where this does not throw: else the caller can still end the process.
  child_process(asio::any_io_executor executor, std::shared_ptr<child_registry> registry, pid_t pid, unique_fd& pidfd,
                unique_fd input, unique_fd output, unique_fd error, child_limits limits,
                std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now())
      : registry_(std::move(registry)),
        pid_(pid),
        limits_(limits),
        started_(started),
        pidfd_(executor),
        input_(executor),
        out_(executor, limits.kept_output),
        err_(executor, limits.kept_output),
        deadline_(executor),
        next_step_(executor),
        changed_(executor, std::chrono::steady_clock::time_point::max()) {
    if (input) hand_over(input, input_);
    hand_over(output, out_.descriptor);
    hand_over(error, err_.descriptor);
    registry_->add(this);
    try {
      hand_over(pidfd, pidfd_);
    } catch (...) {
      registry_->remove(this);
      throw;
    }
  }

  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  ~child_process() {
    registry_->remove(this);
    if (reaped_) return;
    send(SIGKILL);
    if (!reap()) reaper::instance().adopt(unique_fd(pidfd_.release()));
  }

  /// Sets everything going. \param content what the input is to hold first.
  void begin(bytes content) {
    watch_exit();
    if (limits_.timeout) {
      // Far beyond any real limit, and short of what would overflow the clock.
      constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 3650);
      deadline_.expires_at(started_ + std::min(*limits_.timeout, longest));
      deadline_.async_wait([self = shared_from_this()](std::error_code failure) {
        if (!failure) self->end(end_reason::timeout);
      });
    }
    feeding_ = std::move(content);
    feed();
  }

  /// From now on takes all output as it comes, for the result only.
  void drain() {
    if (draining_) return;
    draining_ = true;
    pump(out_);
    pump(err_);
    conclude_if_done();
  }

  /// Ends the child and its process group: SIGTERM, the grace, SIGKILL. Only the first reason counts.
  void end(end_reason reason) {
    if (exited_ || ended_by_ != end_reason::none) return;
    ended_by_ = reason;
    send(SIGTERM);
    send(SIGCONT);  // a stopped process takes the SIGTERM only when it goes on
    step_after(limits_.grace, [](child_process& self) {
      self.killed_ = true;
      self.send(SIGKILL);
      if (self.exited_) self.linger();
    });
  }

  /// For destructors: SIGKILL now, and nobody will read. The handlers see to the rest.
  void abandon() noexcept {
    if (finished_) return;
    if (ended_by_ == end_reason::none) ended_by_ = end_reason::closed;
    killed_ = true;
    send(SIGKILL);
    close_input();
    try {
      drain();
    } catch (...) {  // no memory: what it had printed is lost, and whoever awaits it hears of that
      failure_ = std::current_exception();
      close(out_);
      close(err_);
    }
  }

  void send(int number) noexcept {
    if (!reaped_) ::kill(-pid_, number);  // not reaped: nobody else can have this group's number
  }

  bool finished() const noexcept { return finished_; }
  end_reason ended_by() const noexcept { return ended_by_; }
  const command_result& result() const noexcept { return result_; }
  command_result take_result() { return std::move(result_); }

  /// What is known so far.
  std::shared_ptr<const command_result> partial() const {
    if (finished_) return std::make_shared<const command_result>(result_);
    auto sofar = std::make_shared<command_result>();
    sofar->out(out_.collected.snapshot()).err(err_.collected.snapshot());
    sofar->duration(std::chrono::steady_clock::now() - started_);
    return sofar;
  }

  /// Takes all output and waits until everything is over. Where the awaiting coroutine is cancelled, ends the child,
  /// waits for that, and throws error{errc::cancelled}; where the environment is closed, error{errc::environment_closed}.
  /// \param doing  the operation, for sentences.
  static awaitable<void> complete(std::shared_ptr<child_process> self, std::string doing) {
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
      co_await self->until_finished_shielded();
      co_await asio::this_coro::throw_if_cancelled(throws);
      throw error(errc::cancelled, doing + ": cancelled; the command was ended").with_partial(self->partial());
    }
    if (self->failure_) std::rethrow_exception(self->failure_);
    if (self->ended_by_ == end_reason::closed)
      throw error(errc::environment_closed, doing + ": the environment was closed; the command was ended")
          .with_partial(self->partial());
  }

  /// Waits until everything is over, whatever is cancelled; see `shielded` for how to await it.
  awaitable<void> until_finished_shielded() {
    return shielded([self = shared_from_this()] { return self->finish_quietly(); });
  }

  /// The next piece of output; empty at the end.
  awaitable<chunk> read() {
    for (;;) {
      // Turn about, so that a busy stream does not hide the other one.
      source* first = &out_;
      source* second = &err_;
      if (last_read_ == &out_) std::swap(first, second);
      for (source* from : {first, second}) {
        bytes data = take_piece(*from);
        if (data.empty()) continue;
        last_read_ = from;
        co_return chunk(from == &out_ ? output_stream::out : output_stream::err, std::move(data));
      }
      conclude_if_done();
      if (out_.ended && err_.ended) co_return chunk();
      arm(out_);
      arm(err_);
      const bool cancelled = co_await changed();
      if (cancelled) throw error(errc::cancelled, "read: cancelled; the command runs on").with_partial(partial());
    }
  }

  awaitable<void> write_input(bytes_view data) {
    if (!limits_.open_input)
      throw error(errc::unsupported,
                  "write_input: the command's input was not left open; say open_input() on the command");
    while (!feeding_.empty() && input_.is_open()) {
      const bool cancelled = co_await changed();
      if (cancelled) throw error(errc::cancelled, "write_input: cancelled; nothing was written");
    }
    while (!data.empty()) {
      if (!input_.is_open())
        throw error(errc::io_error, "write_input: the command no longer reads its input",
                    std::make_error_code(std::errc::broken_pipe));
      const ssize_t written = write_without_sigpipe(input_.native_handle(), data);
      if (written >= 0) {
        data = data.subspan(static_cast<std::size_t>(written));
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN) {
        close_input();
        continue;
      }
      std::error_code woken;
      co_await input_.async_wait(asio::posix::stream_descriptor::wait_write,
                                 asio::redirect_error(asio::use_awaitable, woken));
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none)
        throw error(errc::cancelled, "write_input: cancelled; part of the data may have been written");
    }
  }

  void close_input() noexcept {
    feeding_.clear();
    std::error_code ignored;  // closing our end of a pipe cannot fail in a way that matters
    input_.close(ignored);
    wake();
  }

 private:
  /// One output stream.
  class source {
   public:
    source(const asio::any_io_executor& executor, std::size_t keep) : descriptor(executor), collected(keep) {}
    asio::posix::stream_descriptor descriptor;
    output_collector collected;
    std::size_t left = 0;  // once all is over: what had been written by then, and is still to be taken
    bool armed = false;    // a wait for readiness is under way
    bool ended = false;    // nothing more will be taken from it
  };

  static void hand_over(unique_fd& from, asio::posix::stream_descriptor& to) {
    to.assign(from.get());
    from.release();
  }

  /// Waits until something has changed; true where the awaiting coroutine was cancelled.
  awaitable<bool> changed() {
    std::error_code woken;
    co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    co_return state.cancelled() != asio::cancellation_type::none;
  }

  awaitable<void> finish_quietly() {
    while (!finished_) co_await changed();
  }

  void wake() { changed_.cancel(); }

  template <class Step>
  void step_after(std::chrono::milliseconds delay, Step step) {
    next_step_.expires_after(delay);
    next_step_.async_wait([self = shared_from_this(), step](std::error_code failure) {
      if (!failure && !self->finished_) step(*self);
    });
  }

  void arm(source& from) {
    if (from.armed || from.ended) return;
    from.armed = true;
    from.descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                               [self = shared_from_this(), &from](std::error_code failure) {
                                 from.armed = false;
                                 if (failure == asio::error::operation_aborted) return;
                                 if (failure) {
                                   self->cannot_watch(failure);
                                   self->close(from);
                                 }
                                 if (self->draining_) {
                                   self->pump(from);
                                   self->conclude_if_done();
                                 } else {
                                   self->wake();
                                 }
                               });
  }

  /// Reads once into the shared buffer: bytes read, 0 where the stream has ended, -1 where nothing is there now.
  ssize_t read_once(source& from) {
    const std::size_t most = over_ ? std::min(from.left, child_registry::scratch_size) : child_registry::scratch_size;
    ssize_t got = 0;
    do {
      got = ::read(from.descriptor.native_handle(), registry_->scratch(), most);
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
      from.collected.append(bytes_view(registry_->scratch(), static_cast<std::size_t>(got)));
      if (over_) from.left -= static_cast<std::size_t>(got);
      return got;
    }
    if (got < 0 && errno == EAGAIN && !over_) return -1;
    close(from);
    return 0;
  }

  bytes take_piece(source& from) {
    if (from.ended) return {};
    const ssize_t got = read_once(from);
    if (got <= 0) return {};
    return {registry_->scratch(), registry_->scratch() + got};
  }

  /// Takes what is there, in bounded turns, and waits for more.
  void pump(source& from) {
    try {
      for (int turn = 0; (turn < 16 || over_) && !from.ended; ++turn)
        if (read_once(from) <= 0) break;
    } catch (const std::bad_alloc&) {  // nobody could be given the rest
      failure_ = std::current_exception();
      killed_ = true;
      send(SIGKILL);
      close(from);
    }
    arm(from);
  }

  void close(source& from) {
    from.ended = true;
    std::error_code ignored;  // reading end of a pipe
    from.descriptor.close(ignored);
  }

  void feed() {
    while (!feeding_.empty() && input_.is_open()) {
      const bytes_view rest = bytes_view(feeding_).subspan(fed_);
      if (rest.empty()) {
        feeding_.clear();
        break;
      }
      const ssize_t written = write_without_sigpipe(input_.native_handle(), rest);
      if (written >= 0) {
        fed_ += static_cast<std::size_t>(written);
        continue;
      }
      if (errno == EINTR) continue;
      if (errno == EAGAIN) {
        input_.async_wait(asio::posix::stream_descriptor::wait_write,
                          [self = shared_from_this()](std::error_code failure) {
                            if (failure == asio::error::operation_aborted) return;
                            if (failure) self->close_input();
                            self->feed();
                          });
        return;
      }
      close_input();  // the command no longer reads: its right
      return;
    }
    if (!limits_.open_input) close_input();
    wake();
  }

  /// Asio may wake a waiter for nothing: its state of an old descriptor, with an event still queued, becomes that of
  /// a new one. So look, and wait again.
  void watch_exit() {
    pidfd_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](std::error_code failure) {
      if (failure == asio::error::operation_aborted) return;
      if (failure) self->cannot_watch(failure);
      if (self->has_ended(failure ? 0 : WNOHANG)) {
        self->on_exit();
      } else {
        self->watch_exit();
      }
    });
  }

  /// \param options  WNOHANG: does not wait for it.
  bool has_ended(int options) noexcept {
    siginfo_t info{};
    int result = 0;
    do {
      result = ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.native_handle()), &info,
                        WEXITED | WNOWAIT | options);
    } while (result < 0 && errno == EINTR);
    return result < 0 || info.si_pid != 0;
  }

  /// The loop refuses to wait for it: what nobody watches must not run.
  void cannot_watch(std::error_code cause) {
    killed_ = true;
    send(SIGKILL);
    if (!failure_)
      failure_ = std::make_exception_ptr(
          error(errc::io_error, "the command was ended: its end or its output cannot be waited for: " + cause.message(),
                cause));
  }

  /// The command itself has ended. Its number stays reserved until `reap`.
  void on_exit() {
    exited_ = true;
    deadline_.cancel();
    close_input();
    if (draining_) {
      pump(out_);
      pump(err_);
    }
    if (out_.ended && err_.ended) {
      conclude();
    } else if (ended_by_ == end_reason::none || killed_) {
      linger();
    }
    // else: what is left of its group has the rest of the grace.
  }

  void linger() {
    step_after(limits_.linger, [](child_process& self) { self.conclude(); });
  }

  void conclude_if_done() {
    if (exited_ && out_.ended && err_.ended) conclude();
  }

  /// Nothing of the command is waited for any longer: what is left of its group dies, and its status is taken.
  void conclude() {
    if (!over_) {
      over_ = true;
      next_step_.cancel();
      send(SIGKILL);
      reap();
      ended_at_ = std::chrono::steady_clock::now();
      count_what_is_left(out_);
      count_what_is_left(err_);
    }
    if (draining_) {
      if (!out_.ended) pump(out_);
      if (!err_.ended) pump(err_);
    }
    if (out_.ended && err_.ended && !finished_) finish();
    wake();
  }

  /// A process that left the group may go on writing; only what stands in the pipe now is the command's output.
  static void count_what_is_left(source& from) noexcept {
    if (from.ended) return;
    int waiting = 0;
    ::ioctl(from.descriptor.native_handle(), FIONREAD, &waiting);
    from.left = static_cast<std::size_t>(std::max(waiting, 0));
  }

  /// Takes the status; false where the child has not died yet.
  bool reap() noexcept {
    siginfo_t info{};
    rusage usage{};
    long result = 0;
    do {
      result = ::syscall(SYS_waitid, P_PIDFD, pidfd_.native_handle(), &info, WEXITED | WNOHANG, &usage);
    } while (result < 0 && errno == EINTR);
    if (result == 0 && info.si_pid == 0) return false;
    reaped_ = true;
    if (result < 0) return true;  // somebody in this program waits for every child: the status is gone
    status_known_ = true;
    if (info.si_code == CLD_EXITED) {
      result_.exit_code(info.si_status);
    } else {
      result_.term_signal(info.si_status);
    }
    const auto time = [](const timeval& value) {
      return std::chrono::seconds(value.tv_sec) + std::chrono::microseconds(value.tv_usec);
    };
    result_.cpu_time(time(usage.ru_utime) + time(usage.ru_stime));
    result_.peak_memory(static_cast<std::uint64_t>(usage.ru_maxrss) * 1024U);
    return true;
  }

  void finish() {
    finished_ = true;
    std::error_code ignored;  // the process is gone
    pidfd_.close(ignored);
    try {
      fill_result();
    } catch (const std::bad_alloc&) {
      failure_ = std::current_exception();
    }
    wake();
  }

  void fill_result() {
    result_.out(out_.collected.take()).err(err_.collected.take());
    result_.duration(ended_at_ - started_);
    if (ended_by_ == end_reason::timeout) {
      result_.kind(error_kind::timeout);
      result_.reason("Command timed out after " + seconds_text(*limits_.timeout) + " seconds");
    } else if (!status_known_) {
      result_.kind(error_kind::execution_error);
      result_.reason("The command's exit status was taken by another part of this program");
      result_.advice("Do not wait for all children (wait, waitpid(-1)) in a program that runs commands.");
      result_.cause(std::error_code(ECHILD, std::system_category()));
    }
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

  std::shared_ptr<child_registry> registry_;
  pid_t pid_;
  child_limits limits_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point ended_at_;
  asio::posix::stream_descriptor pidfd_;
  asio::posix::stream_descriptor input_;
  source out_;
  source err_;
  asio::steady_timer deadline_;
  asio::steady_timer next_step_;
  asio::steady_timer changed_;  // never expires; cancelling it wakes whoever waits
  bytes feeding_;
  std::size_t fed_ = 0;
  source* last_read_ = nullptr;
  end_reason ended_by_ = end_reason::none;
  std::exception_ptr failure_;  // memory ran out
  bool draining_ = false;
  bool killed_ = false;  // SIGKILL has been sent
  bool exited_ = false;  // the command is dead
  bool over_ = false;    // so is its group, and the status is taken
  bool reaped_ = false;
  bool status_known_ = false;
  bool finished_ = false;  // and the output is complete
  command_result result_;
};

}  // namespace cofferdam::inline v0::detail
