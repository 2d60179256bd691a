// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/child_process.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/detail/os/command_pipes.hpp>
#include <cofferdam/detail/os/pipe.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/command_session.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <utility>

#include <fcntl.h>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

template <class = void>
class basic_child_launcher;
using child_launcher = basic_child_launcher<>;

/// The part of `child_processes` that starts commands as children of this program.
template <class Unused>
class basic_child_launcher final : public command_launcher {
 public:
  basic_child_launcher(asio::any_io_executor executor, command_settings settings)
      : command_launcher(std::move(executor), std::move(settings)) {
    reaper::instance().sweep();
    require_child_status();
    nothing_ = usable(unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), "/dev/null");
  }

  /// Throws if this program ignores SIGCHLD. The kernel then discards the exit status of every child, so no result
  /// would have an exit code.
  static void require_child_status() {
    struct sigaction action {};
    if (::sigaction(SIGCHLD, nullptr, &action) != 0) return;
    const bool ignored = (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
    if (ignored || (action.sa_flags & SA_NOCLDWAIT) != 0)
      throw error(exec_errc::provider_failed,
                  "this program ignores SIGCHLD, so the kernel discards exit codes; set SIGCHLD to SIG_DFL");
  }

 private:
  launched launch(command& c, spawn_request& request) override {
    if (c.background() == background_policy::keep)
      throw error(exec_errc::unsupported,
                  "command: background processes can be kept only in an environment with a warden");
    launched outcome;
    command_pipes pipes(c, request, nothing_.get());
    const auto before = std::chrono::steady_clock::now();
    spawned started = spawn(request);
    if (!started.ok()) {
      outcome.refusal = refuse_unstarted(shown_program(c), started.stage(), started.cause());
      return outcome;
    }
    std::shared_ptr<child_process> child;
    try {
      child = make_command<child_process>(executor(), registry(), limits_of(c), before, executor(), started.pid(),
                                          started.pidfd(), std::move(pipes));
      child->begin(c.take_input());
    } catch (...) {  // the process already runs, but the caller gets no object to end it
      if (child) {
        child->command().abandon();
      } else {
        ::kill(-started.pid(), SIGKILL);
        reaper::instance().adopt(std::move(started.pidfd()));
      }
      throw;
    }
    outcome.running = child->command().kept();
    return outcome;
  }

  unique_fd nothing_;
};

}  // namespace detail

template <class = void>
class basic_child_processes;
/// The name of `basic_child_processes<>` in programs.
using child_processes = basic_child_processes<>;

/// A session (the commands of one environment, see `command_session`) whose commands are child processes of this
/// program. Ending a command ends its process group. For a whole backend on top of it, see examples/06_own_backend.cpp.
template <class Unused>
class basic_child_processes : public command_session {
 public:
  /// \param executor  the executor for all work of the session.
  /// \param settings  the time limits and the isolation of the commands.
  /// \throws error{exec_errc::provider_failed} if the program ignores SIGCHLD, because the exit status of commands
  ///     would then be lost.
  explicit basic_child_processes(asio::any_io_executor executor, command_settings settings = command_settings())
      : command_session(std::make_shared<detail::child_launcher>(std::move(executor), std::move(settings))) {}
};

}  // namespace cofferdam::inline COFFERDAM_ABI
