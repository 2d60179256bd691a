// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command_result.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/os/command_ends.hpp>
#include <cofferdam/detail/os/command_pipes.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/detail/os/running_command.hpp>
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

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class = void>
class basic_child_process;
using child_process = basic_child_process<>;

/// A command that is a child of this program. Signals go to its process group. Its pidfd reports its end.
template <class Unused>
class basic_child_process final : public command_transport {
 public:
  static constexpr paced_by pace = paced_by::us;

  /// \param pid    the process number of the child.
  /// \param pidfd  the child's pidfd. If the constructor throws, the caller still owns it and can end the process.
  /// \param pipes  this program's ends of the command's pipes or terminal.
  basic_child_process(running_command& command, const asio::any_io_executor& executor, pid_t pid, unique_fd& pidfd,
                      command_pipes pipes)
      : command_(command), pid_(pid), pidfd_(executor), deadline_(executor), next_step_(executor) {
    command_.connect_pipes(executor, pipes);
    hand_over(pidfd, pidfd_);
  }

  ~basic_child_process() {
    if (reaped_ || !pidfd_.is_open()) return;
    send(SIGKILL);
    if (!reap()) reaper::instance().adopt(unique_fd(pidfd_.release()));
  }

  running_command& command() noexcept { return command_; }

  /// Starts all waits: for the end, the time limit and the streams.
  /// \param content  the first content of the command's input.
  void begin(bytes content) {
    watch_exit();
    if (command_.limits().timeout) {
      // Longer than any real limit, but short enough that the clock's time does not overflow.
      constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 3650);
      deadline_.expires_at(command_.started() + std::min(*command_.limits().timeout, longest));
      on_expiry(deadline_, [self = kept()](std::error_code failure) {
        if (!failure) self->command_.end(end_reason::timeout);
      });
    }
    command_.begin_input(std::move(content));
  }

  void send(int number) noexcept override {
    if (!reaped_) ::kill(-pid_, number);  // until the child is reaped, no other process group can have this number
  }

  void end(end_reason) override {
    send(SIGTERM);
    send(SIGCONT);  // a process suspended by SIGSTOP handles SIGTERM only when it continues
  }

  void kill() noexcept override { send(SIGKILL); }

  void wait_grace() override {
    after(command_.limits().grace, [](running_command& command) { command.grace_over(); });
  }
  void wait_linger() override {
    after(command_.limits().linger, [](running_command& command) { command.linger_over(); });
  }

  /// Kills the other processes of the process group, and takes the exit status.
  void conclude() override {
    next_step_.cancel();
    send(SIGKILL);
    reap();
  }

  void on_finished() noexcept override {
    std::error_code ignored;  // the process has ended, so errors do not matter
    pidfd_.close(ignored);
  }

  void describe_unknown_status(command_result& result) override {
    result.kind(error_kind::execution_error);
    result.reason("Another part of this program collected the command's exit status");
    result.advice("Do not wait for all children (wait, waitpid(-1)) in a program that runs commands.");
    result.cause(std::error_code(ECHILD, std::system_category()));
  }

 private:
  std::shared_ptr<basic_child_process> kept() { return {command_.kept(), this}; }

  template <class Step>
  void after(std::chrono::milliseconds delay, Step step) {
    next_step_.expires_after(delay);
    on_expiry(next_step_, [self = kept(), step](std::error_code failure) {
      if (!failure) step(self->command_);
    });
  }

  /// Waits until the child has ended. Asio may report an event that has not happened: it may reuse the state of a
  /// closed descriptor, which still has a queued event, for a new one. The handler therefore checks the process, and
  /// waits again if it is running.
  void watch_exit() {
    on_readable(pidfd_, [self = kept()](std::error_code failure) {
      if (failure == asio::error::operation_aborted) return;
      if (failure) self->command_.cannot_watch(failure);
      if (self->has_ended(failure ? 0 : WNOHANG)) {
        self->deadline_.cancel();
        self->command_.exited();  // the process number stays reserved until `reap`
      } else {
        self->watch_exit();
      }
    });
  }

  /// Returns true if the child has ended, without reaping it.
  /// \param options  WNOHANG to return at once; 0 to wait for the end.
  bool has_ended(int options) noexcept {
    siginfo_t info{};
    int result = 0;
    do {
      result = ::waitid(wait_for_pidfd, static_cast<id_t>(pidfd_.native_handle()), &info, WEXITED | WNOWAIT | options);
    } while (result < 0 && errno == EINTR);
    return result < 0 || info.si_pid != 0;
  }

  /// Reaps the child and stores its status in the result. Returns false if the child has not ended yet.
  bool reap() noexcept {
    siginfo_t info{};
    rusage usage{};
    long result = 0;
    do {
      result = ::syscall(SYS_waitid, P_PIDFD, pidfd_.native_handle(), &info, WEXITED | WNOHANG, &usage);
    } while (result < 0 && errno == EINTR);
    if (result == 0 && info.si_pid == 0) return false;
    reaped_ = true;
    if (result < 0) return true;  // other code in this program has reaped the child, so the status is lost
    command_.status_known();
    command_result& outcome = command_.mutable_result();
    if (info.si_code == CLD_EXITED) {
      outcome.exit_code(info.si_status);
    } else {
      outcome.term_signal(info.si_status);
    }
    const auto time = [](const timeval& value) {
      return std::chrono::seconds(value.tv_sec) + std::chrono::microseconds(value.tv_usec);
    };
    outcome.cpu_time(time(usage.ru_utime) + time(usage.ru_stime));
    outcome.peak_memory(static_cast<std::uint64_t>(usage.ru_maxrss) * 1024U);
    return true;
  }

  running_command& command_;
  pid_t pid_;
  asio::posix::stream_descriptor pidfd_;
  asio::steady_timer deadline_;
  asio::steady_timer next_step_;
  bool reaped_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
