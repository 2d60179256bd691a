// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command_result.hpp>
#include <cofferdam/detail/os/terminal.hpp>
#include <cofferdam/os/detail/command_lifecycle.hpp>
#include <cofferdam/version.hpp>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The connection from a `running_command` to its process. Once the command is over, only `on_finished` and
/// `describe_unknown_status` are called.
class command_transport {
 public:
  command_transport() = default;
  command_transport(const command_transport&) = delete;
  command_transport& operator=(const command_transport&) = delete;

  /// Sends a signal to the command and its process group.
  virtual void send(int number) noexcept = 0;
  /// Begins the end: SIGTERM, and, unless the command measures the grace period (`paced_by::us`), the grace period and
  /// SIGKILL.
  virtual void end(end_reason reason) = 0;
  /// Sends SIGKILL now.
  virtual void kill() noexcept = 0;
  /// Calls `running_command::grace_over` or `linger_over` after that time; replaces an earlier wait. Only for
  /// `paced_by::us`.
  virtual void wait_grace() {}
  virtual void wait_linger() {}
  /// The command is about to be over: ends what is left of it, takes its status, and closes its streams.
  virtual void conclude() = 0;
  /// The result is about to be made.
  virtual void on_finished() noexcept {}
  /// Sets the size of a terminal that is elsewhere.
  virtual void resize(terminal_size size) { static_cast<void>(size); }
  /// Describes the reason if the outcome of the command is unknown. Default: a separate process watches the command.
  virtual void describe_unknown_status(command_result& result) {
    result.kind(error_kind::execution_error);
    result.reason("The command killed the process that watched it, so nobody knows how it ended");
    result.advice("Do not kill processes that you have not started.");
  }

 protected:
  ~command_transport() = default;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
