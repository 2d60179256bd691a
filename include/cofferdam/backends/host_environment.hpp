// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/detail/core/environment_handle.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {
template <class Place>
class host_state;
}  // namespace detail

/// The operations of an open environment on this machine: `local_environment` and `jail_environment`. Models every
/// refinement but `suspendable_environment`.
///
/// Movable while no operation is under way. It must not outlive its `io_context` or pool. Destroyed without `close()`,
/// it kills all processes. The folder is removed later: when another environment opens or closes after they are dead,
/// or when the program ends. If the program is killed, or calls std::exit() while an environment is open, the processes
/// are ended, and the folder stays until another program of the same user, at least a minute later, closes its first
/// environment in the same place.
/// \par Threads  any: it may be opened, used and destroyed from several threads of a pool. It does its work on a strand
///               of its own, and a coroutine that awaits an operation continues on its own executor. Callbacks and
///               `file_source`s of the caller run on the caller's executor, one at a time (on a pool: on a strand over
///               it). Opened on an `asio::strand` of `io_context::executor_type`, `thread_pool::executor_type` or
///               `any_io_executor`, it works on that strand, and must be destroyed there. To cancel from another
///               thread, spawn the coroutine on a strand and emit there, by `asio::post(strand, ...)`; never emit from
///               another thread directly. A moved or assigned environment must be idle.
template <class Place>
class host_environment {
 public:
  /// Holds no environment: operations throw `error{exec_errc::environment_closed}`.
  host_environment();
  explicit host_environment(std::shared_ptr<detail::host_state<Place>> state);
  host_environment(host_environment&&) noexcept;
  host_environment& operator=(host_environment&&) noexcept;

  /// Runs a command to its end. Every outcome is a result, including a time limit.
  /// \throws error{exec_errc::environment_closed}; error{exec_errc::outside_workspace, not_found, not_a_directory} for
  ///     its working directory; error{exec_errc::io_error} if the host has no descriptor left;
  ///     error{exec_errc::unavailable}, with the cause ETOOMANYREFS, if the system passes no descriptors because
  ///     programs of this user have too many in flight; error{exec_errc::provider_lost} if the warden was killed, or
  ///     failed to end the command within 2 s of its limit and after being roused (all commands are then ended by this
  ///     program). `partial()` has the output so far.
  /// \par Cancellation  terminal: SIGTERM, the grace, SIGKILL to all that the command has started; then
  ///                    error{exec_errc::cancelled}.
  awaitable<command_result> run_command(command c);

  /// Starts a command. If it cannot be started, the process has already ended, and its result has the reason.
  /// \throws as `run_command`.
  awaitable<process> start(command c);

  /// Returns the commands with `background_policy::keep` of which processes still run, oldest first.
  std::vector<background_command> background() const;
  /// Ends the remaining processes of such a command: SIGTERM, the grace period, SIGKILL, and waits for their end.
  /// Cannot be cancelled.
  /// \throws error{exec_errc::not_found} if none is left; error{exec_errc::environment_closed}.
  awaitable<void> end_background(std::uint32_t number);

  awaitable<bytes> read_file(std::string path, std::size_t most);
  awaitable<void> write_file(std::string path, bytes_view content);
  /// Takes temporary bytes, which the awaitable owns. So the awaitable may be kept and awaited later.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_file(std::string path, Bytes&& content) {
    return cofferdam::write_bytes(*this, std::move(path), std::move(content));
  }
  /// Returns the file operations of the workspace: list, stat, remove, whole trees at once.
  file_system files();

  /// Returns true if the warden, the helper program that runs the commands, is known to be lost, for example because it
  /// was killed, so that every command would fail. Also returns true after `close()`, and for an object without an
  /// environment. Asks no process. Any thread may call this function.
  bool is_lost() const noexcept;

  /// Ends every command (SIGTERM, the grace period, SIGKILL), and removes the folder. Pending commands fail with
  /// error{exec_errc::environment_closed}. Cannot be cancelled; a second call waits for the first. Takes at most the
  /// grace period, 5 s, and the time for removing the folder. In `local` without a warden (`warden_policy::never`, or
  /// if none can be started) there is no such limit: it waits until the kernel has ended all processes that were sent
  /// SIGKILL.
  /// \throws error{exec_errc::provider_lost} with a list of the processes that were still alive after that time; they
  ///     were sent SIGKILL, and the folder is removed later. error{exec_errc::io_error} if the folder cannot be removed
  ///     because a process still writes there.
  awaitable<void> close();

 protected:
  ~host_environment();

  /// \throws error{exec_errc::environment_closed} if it holds none.
  const detail::host_state<Place>& state() const;
  /// Returns the loopback network of the commands. For `local`, that is the one of this machine.
  guest_network own_network() const;

 private:
  detail::environment_handle<detail::host_state<Place>> handle_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
