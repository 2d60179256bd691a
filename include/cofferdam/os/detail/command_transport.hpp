// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command_result.hpp>
#include <cofferdam/detail/os/terminal.hpp>
#include <cofferdam/os/detail/command_lifecycle.hpp>
#include <cofferdam/version.hpp>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The connection from a `running_command` to its process. Once no process of the command is left, only `on_finished`
/// and `describe_unknown_status` are called.
class command_transport {
 public:
  command_transport() = default;
  command_transport(const command_transport&) = delete;
  command_transport& operator=(const command_transport&) = delete;

  /// Sends a signal to the command and its process group.
  virtual void send(int number) noexcept = 0;
  /// Begins to end the command: sends SIGTERM. With `paced_by::transport`, the transport also waits for the grace
  /// period and sends SIGKILL.
  /// \param reason  the reason, for transports that report it.
  virtual void end(end_reason reason) = 0;
  /// Sends SIGKILL now.
  virtual void kill() noexcept = 0;
  /// Starts a wait, which replaces an earlier one. `wait_grace` calls `running_command::grace_over` after the grace
  /// period, and `wait_linger` calls `linger_over` after the linger time. Both are called only with `paced_by::us`.
  virtual void wait_grace() {}
  virtual void wait_linger() {}
  /// Ends the other processes of the command, takes its status, and closes its streams.
  virtual void conclude() = 0;
  /// Called just before the result is made.
  virtual void on_finished() noexcept {}
  /// Sets the size of the command's terminal, if the terminal belongs to another program, such as a warden (the helper
  /// program in a sandbox). Does nothing by default.
  virtual void resize(terminal_size size) { static_cast<void>(size); }
  /// Sets kind, reason and advice of a result whose exit status is unknown. The default is for commands that a separate
  /// process watches, and means that this process was killed.
  virtual void describe_unknown_status(command_result& result) {
    result.kind(error_kind::execution_error);
    result.reason("The command killed the process that watched it, so its exit status is unknown");
    result.advice("Do not kill processes that you have not started.");
  }

 protected:
  ~command_transport() = default;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
