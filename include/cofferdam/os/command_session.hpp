// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
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
using command_session = basic_command_session<>;

/// The commands of one environment, wherever they run: the half of a backend that is the same for all. The classes
/// derived from it begin a session; a backend keeps it as this type.
///
///     command_session session = child_processes(executor);
///     command_session session = co_await warden_session::open(std::move(stream));
///
/// Output is drained within its cap, limits are held, and the end of a command is seen whether or not it is awaited.
/// Movable while idle. Destroyed without `close()`, it ends every command and waits for nothing.
/// A variable of a derived class must not be assigned another kind of session through a reference to this class.
/// \par Threads  one executor at a time.
template <class Unused>
class basic_command_session {
 public:
  /// No session, as after a move: only assignment, destruction, `abandon()` and the conversion to bool are allowed.
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

  explicit operator bool() const noexcept { return static_cast<bool>(launcher_); }

  /// Runs a command to its end: what `run_command` of an environment does.
  /// \param c        its limits, input and output settings count; `refuse_invalid` has let it through.
  /// \param request  as `request_for` makes it, with the directory; borrowed descriptors live until the awaitable
  ///                 completes.
  awaitable<command_result> run(command c, spawn_request request) {
    return detail::command_launcher::run(launcher_, std::move(c), std::move(request));
  }

  /// Starts a command: what `start` of an environment does.
  awaitable<process> start(command c, spawn_request request) {
    return detail::command_launcher::start(launcher_, std::move(c), std::move(request));
  }

  /// Returns the commands that have ended and left something running, oldest first.
  std::vector<background_command> background() const { return launcher_->background(); }

  /// Ends what a command has left running: SIGTERM, the grace, SIGKILL, and waits for that. Not cancelled.
  /// \throws error{exec_errc::not_found} where nothing is left of it; error{exec_errc::environment_closed}.
  awaitable<void> end_background(std::uint32_t number) { return launcher_->end_background(number); }

  /// Ends every command and waits for that; pending operations throw error{exec_errc::environment_closed}. Not
  /// cancelled.
  /// \throws error{exec_errc::provider_lost} if the commands of a warden have not ended 3 s after the grace. The
  ///     session is over then, and pending operations throw that error.
  awaitable<void> close() {
    return detail::shielded([launcher = launcher_] { return launcher->close(); });
  }

  /// Gives the session up: pending operations throw `reason`, and nothing can be started.
  void lose(const error& reason) noexcept {
    if (launcher_) launcher_->lose(reason);
  }

  /// Ends every command and waits for nothing, as the destructor does. Nothing can be started afterwards.
  void abandon() noexcept {
    if (launcher_) launcher_->abandon();
  }

 protected:
  explicit basic_command_session(std::shared_ptr<detail::command_launcher> launcher) noexcept
      : launcher_(std::move(launcher)) {}

  const std::shared_ptr<detail::command_launcher>& launcher() const noexcept { return launcher_; }

 private:
  std::shared_ptr<detail::command_launcher> launcher_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
