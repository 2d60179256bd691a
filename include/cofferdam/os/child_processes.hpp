// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/os/child_process.hpp>
#include <cofferdam/os/command_keeper.hpp>
#include <cofferdam/os/command_pipes.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/pipe.hpp>
#include <cofferdam/os/reaper.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <utility>

#include <fcntl.h>

namespace cofferdam::inline v0 {

namespace detail {

/// Starts commands as children of this program.
class child_keeper final : public command_keeper {
 public:
  child_keeper(asio::any_io_executor executor, command_settings settings)
      : command_keeper(std::move(executor), std::move(settings)) {
    reaper::instance().sweep();
    require_child_status();
    nothing_ = usable(unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), "/dev/null");
  }

  /// Without a status to take, every result would be a guess.
  static void require_child_status() {
    struct sigaction action {};
    if (::sigaction(SIGCHLD, nullptr, &action) != 0) return;
    const bool ignored = (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
    if (ignored || (action.sa_flags & SA_NOCLDWAIT) != 0)
      throw error(errc::provider_failed,
                  "this program ignores SIGCHLD, so the kernel throws exit codes away; set it to SIG_DFL");
  }

 private:
  launched launch(command& c, spawn_request& request) override {
    if (c.background() == background_policy::keep)
      throw error(errc::unsupported, "command: what it leaves running can be kept only where a warden watches it");
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
      child = std::make_shared<child_process>(executor(), registry(), started.pid(), started.pidfd(), std::move(pipes),
                                              limits_of(c), before);
      child->begin(c.take_input());
    } catch (...) {  // it runs already, and nobody is going to know it
      if (child) {
        child->abandon();
      } else {
        ::kill(-started.pid(), SIGKILL);
        reaper::instance().adopt(std::move(started.pidfd()));
      }
      throw;
    }
    outcome.running = std::move(child);
    return outcome;
  }

  unique_fd nothing_;
};

}  // namespace detail

/// The running commands of one environment: the half of a backend that starts processes on this machine. See
/// examples/custom_backend.cpp for the other half.
///
/// Output is drained within its cap, limits are held, the end is seen whether or not anybody awaits it. Ending a command
/// ends its process group. Movable while idle. Destroyed without `close()`, it kills every child and waits for nothing.
/// \par Threads  one executor at a time.
class child_processes {
 public:
  /// \throws error{errc::provider_failed} where the program ignores SIGCHLD: then nobody can know how a command ended.
  explicit child_processes(asio::any_io_executor executor, command_settings settings = command_settings())
      : keeper_(std::make_shared<detail::child_keeper>(std::move(executor), std::move(settings))) {}

  child_processes(child_processes&&) noexcept = default;
  child_processes& operator=(child_processes&& other) noexcept {
    if (this != &other) {
      abandon();
      keeper_ = std::move(other.keeper_);
    }
    return *this;
  }
  ~child_processes() { abandon(); }

  /// Runs a command to its end: what `run_command` of an environment does.
  /// \param c        its limits, input and output settings count; `refuse_invalid` has let it through.
  /// \param request  as `request_for` makes it, with the directory; borrowed descriptors live until the awaitable completes.
  awaitable<command_result> run(command c, spawn_request request) {
    return detail::command_keeper::run(keeper_, std::move(c), std::move(request));
  }

  /// Starts a command: what `start` of an environment does.
  awaitable<process> start(command c, spawn_request request) {
    return detail::command_keeper::start(keeper_, std::move(c), std::move(request));
  }

  /// Ends every child and waits for that; whoever awaits one gets error{errc::environment_closed}. Not cancelled.
  awaitable<void> close() {
    return detail::shielded([keeper = keeper_] { return detail::command_keeper::close(keeper); });
  }

  /// Kills every child and waits for nothing; what the destructor does. Nothing can be started afterwards.
  void abandon() noexcept {
    if (keeper_) keeper_->abandon();
  }

 private:
  std::shared_ptr<detail::child_keeper> keeper_;
};

}  // namespace cofferdam::inline v0
