// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/os/spawn.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

template <class = void>
class basic_command_session;
/// The name of `basic_command_session<>` in programs.
using command_session = basic_command_session<>;

/// The commands of one environment: the part of a backend that starts, watches and ends commands. The derived classes
/// construct a session; a backend stores it as this type.
///
///     command_session session = child_processes(executor);
///     command_session session = co_await warden_session::open(std::move(stream));
///
/// A session reads the output of commands, enforces their limits and detects their ends, even if no coroutine awaits
/// them. It may be moved while no operation is under way. The destructor ends every command without waiting; `close()`
/// waits.
///
/// Through a reference to this class, do not assign another kind of session to an object of a derived class.
/// \par Threads  one executor at a time.
template <class Unused>
class basic_command_session {
 public:
  /// Constructs an object without a session. Only assignment, destruction, `abandon()` and the conversion to bool are
  /// allowed, as for an object that was moved from.
  basic_command_session() = default;
  basic_command_session(basic_command_session&&) noexcept = default;
  basic_command_session& operator=(basic_command_session&& other) noexcept {
    if (this != &other) {
      abandon();
      launcher_ = std::move(other.launcher_);
    }
    return *this;
  }
  ~basic_command_session() { abandon(); }

  /// Returns true if there is a session.
  explicit operator bool() const noexcept { return static_cast<bool>(launcher_); }

  /// Runs a command until it ends. This is `run_command` of an environment.
  /// \param c        the command. Only its limits, input and output settings are used here. Check it with
  ///                 `refuse_invalid` first.
  /// \param request  the result of `request_for`, with the directory set. The descriptors in it are borrowed until the
  ///                 awaitable completes.
  awaitable<command_result> run(command c, spawn_request request) {
    return detail::command_launcher::run(launcher_, std::move(c), std::move(request));
  }

  /// Starts a command and returns the running process. This is `start` of an environment. The parameters are the same
  /// as for `run`.
  awaitable<process> start(command c, spawn_request request) {
    return detail::command_launcher::start(launcher_, std::move(c), std::move(request));
  }

  /// Returns the commands that have ended, but left processes running, oldest first.
  std::vector<background_command> background() const { return launcher_->background(); }

  /// Ends the processes that a command has left running: sends SIGTERM, and after the grace period SIGKILL. Waits until
  /// they have ended, even if the coroutine is cancelled.
  /// \param number  the command's number from `background()`.
  /// \throws error{exec_errc::not_found} if no process of that command is left; error{exec_errc::environment_closed} if
  ///     the session is closed.
  awaitable<void> end_background(std::uint32_t number) { return launcher_->end_background(number); }

  /// Returns the loopback network of the place where the commands run, reached through the warden.
  /// \throws error{exec_errc::unsupported} if the session has no warden.
  guest_network network() const {
    std::shared_ptr<guest_network::implementation> network = launcher_->network();
    if (!network)
      throw error(exec_errc::unsupported,
                  "network: no warden runs in this environment, so its ports cannot be reached");
    return guest_network(std::move(network));
  }

  /// Returns true if a command runs, or has left processes running.
  bool is_busy() const { return launcher_ && launcher_->is_busy(); }

  /// Returns true if a command runs. Commands that have ended, and have left processes running, do not count.
  bool has_unfinished() const { return launcher_ && launcher_->has_unfinished(); }

  /// Ends every command and waits until all have ended, even if the coroutine is cancelled. Pending operations throw
  /// error{exec_errc::environment_closed}.
  /// \throws error{exec_errc::provider_lost} if commands in a warden (the helper program in a sandbox) have not ended 3
  ///     s after the grace period. In this case, pending operations throw the same error.
  awaitable<void> close() {
    return detail::shielded([launcher = launcher_] { return launcher->close(); });
  }

  /// Ends the session because its connection or sandbox is lost. Pending operations throw `reason`. No further command
  /// can be started.
  void lose(const error& reason) noexcept {
    if (launcher_) launcher_->lose(reason);
  }

  /// Returns true if the session is lost, or if there is none. Any thread may call this function while no other thread
  /// moves the object.
  bool is_lost() const noexcept { return !launcher_ || launcher_->is_lost(); }

  /// Ends every command without waiting, as the destructor does. No further command can be started.
  void abandon() noexcept {
    if (launcher_) launcher_->abandon();
  }

 protected:
  /// Makes a session whose commands `launcher` starts.
  explicit basic_command_session(std::shared_ptr<detail::command_launcher> launcher) noexcept
      : launcher_(std::move(launcher)) {}

  /// Returns the object that starts the commands; null after the session was moved from.
  const std::shared_ptr<detail::command_launcher>& launcher() const noexcept { return launcher_; }

 private:
  std::shared_ptr<detail::command_launcher> launcher_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
