// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command_result.hpp>
#include <cofferdam/os/command_ends.hpp>
#include <cofferdam/os/command_pipes.hpp>
#include <cofferdam/os/reaper.hpp>
#include <cofferdam/os/running_command.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam::inline v0::detail {

/// A child of this program: signalled by its process group, its end learned from its pidfd.
class child_process final : public running_command {
 public:
  /// \param pidfd  taken over only where this does not throw: else the caller can still end the process.
  child_process(const asio::any_io_executor& executor, std::shared_ptr<command_registry> registry, pid_t pid,
                unique_fd& pidfd, command_pipes pipes, const command_limits& limits,
                std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now())
      : running_command(executor, std::move(registry), limits, started),
        pid_(pid),
        pidfd_(executor),
        deadline_(executor),
        next_step_(executor) {
    connect_pipes(executor, pipes);
    hand_over(pidfd, pidfd_);
  }

  ~child_process() override {
    if (reaped_ || !pidfd_.is_open()) return;
    send(SIGKILL);
    if (!reap()) reaper::instance().adopt(unique_fd(pidfd_.release()));
  }

  /// Sets everything going. \param content  what the input is to hold first.
  void begin(bytes content) {
    watch_exit();
    if (limits().timeout) {
      // Far beyond any real limit, and short of what would overflow the clock.
      constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 3650);
      deadline_.expires_at(started() + std::min(*limits().timeout, longest));
      deadline_.async_wait([self = shared()](std::error_code failure) {
        if (!failure) self->end(end_reason::timeout);
      });
    }
    begin_input(std::move(content));
  }

  void end(end_reason reason) override {
    if (exited_ || ended_by() != end_reason::none) return;
    ended_by(reason);
    send(SIGTERM);
    send(SIGCONT);  // a stopped process takes the SIGTERM only when it goes on
    step_after(limits().grace, [](child_process& self) {
      self.kill();
      if (self.exited_) self.linger();
    });
  }

  void kill() noexcept override {
    killed_ = true;
    send(SIGKILL);
  }

  void send(int number) noexcept override {
    if (!reaped_) ::kill(-pid_, number);  // not reaped: nobody else can have this group's number
  }

 private:
  std::shared_ptr<child_process> shared() { return std::static_pointer_cast<child_process>(shared_from_this()); }

  template <class Step>
  void step_after(std::chrono::milliseconds delay, Step step) {
    next_step_.expires_after(delay);
    next_step_.async_wait([self = shared(), step](std::error_code failure) {
      if (!failure && !self->finished()) step(*self);
    });
  }

  /// Asio may wake a waiter for nothing: its state of an old descriptor, with an event still queued, becomes that of
  /// a new one. So look, and wait again.
  void watch_exit() {
    pidfd_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared()](std::error_code failure) {
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

  /// The command itself has ended. Its number stays reserved until `reap`.
  void on_exit() {
    exited_ = true;
    deadline_.cancel();
    close_input();
    take_what_is_there();
    if (outputs_ended()) {
      conclude_all();
    } else if (ended_by() == end_reason::none || killed_) {
      linger();
    }
    // else: what is left of its group has the rest of the grace.
  }

  void linger() {
    step_after(limits().linger, [](child_process& self) { self.conclude_all(); });
  }

  void outputs_changed() override {
    if (exited_ && outputs_ended()) conclude_all();
  }

  /// What is left of the group dies, and the status is taken.
  void conclude_all() {
    if (!over()) {
      next_step_.cancel();
      send(SIGKILL);
      reap();
    }
    conclude();
  }

  void on_finished() noexcept override {
    std::error_code ignored;  // the process is gone
    pidfd_.close(ignored);
  }

  void describe_unknown_status(command_result& result) override {
    result.kind(error_kind::execution_error);
    result.reason("The command's exit status was taken by another part of this program");
    result.advice("Do not wait for all children (wait, waitpid(-1)) in a program that runs commands.");
    result.cause(std::error_code(ECHILD, std::system_category()));
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
    command_result& all = mutable_result();
    if (info.si_code == CLD_EXITED) {
      all.exit_code(info.si_status);
    } else {
      all.term_signal(info.si_status);
    }
    const auto time = [](const timeval& value) {
      return std::chrono::seconds(value.tv_sec) + std::chrono::microseconds(value.tv_usec);
    };
    all.cpu_time(time(usage.ru_utime) + time(usage.ru_stime));
    all.peak_memory(static_cast<std::uint64_t>(usage.ru_maxrss) * 1024U);
    return true;
  }

  pid_t pid_;
  asio::posix::stream_descriptor pidfd_;
  asio::steady_timer deadline_;
  asio::steady_timer next_step_;
  bool killed_ = false;  // SIGKILL has been sent
  bool exited_ = false;  // the command is dead
  bool reaped_ = false;
};

}  // namespace cofferdam::inline v0::detail
