// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/version.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The owner of the state of an open environment. The environment classes of all backends use it. `State` does its work
/// on the strand `home()` and has
///
/// * `static run(self, c)`, `start(self, c)` and `close(self)`: coroutines that run on that strand;
/// * `static with_files(self, operation)`: calls `operation(files)` with an object that has `read_file`, `write_file`
///   and the operations of a `file_system`;
/// * `kept()`: returns the `kept_files` of the state. Any thread may call it;
/// * `is_lost()`: returns true if all further commands would fail because the sandbox is gone. Any thread may call it;
/// * `abandon()`: ends all processes and releases everything, without waiting;
/// * `nothing_open`: the error message of operations if there is no environment.
///
/// The state is shared, so it exists until all running operations have ended. The handle may be moved while no
/// operation runs. Its destructor and its assignment abandon the state. The function bodies are in
/// environment_operations.hpp, which only impl/*.ipp and the fake provider in testing/ include.
template <class State>
class environment_handle {
 public:
  environment_handle() = default;
  explicit environment_handle(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
  environment_handle(environment_handle&&) noexcept = default;
  environment_handle& operator=(environment_handle&& other) noexcept;
  ~environment_handle();

  /// Returns true if there is an environment.
  explicit operator bool() const noexcept { return static_cast<bool>(state_); }
  /// Returns the state.
  /// \throws error{exec_errc::environment_closed} if there is no state.
  const std::shared_ptr<State>& get() const;

  /// Returns true if the environment is known to be lost, or if there is none.
  bool is_lost() const noexcept;
  awaitable<command_result> run_command(command c) const;
  awaitable<process> start(command c) const;
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) const;
  awaitable<void> write_file(std::string path, bytes_view content) const;
  file_system files() const;
  /// Only for a `State` with `static awaitable<guest_network> network(self)`, a coroutine on the strand.
  guest_network network() const;
  /// Closes the environment. A cancellation does not stop this operation.
  awaitable<void> close() const;

 private:
  /// Releases everything that the environment owns, on the thread that destroys the handle. If another thread runs an
  /// operation of the environment at that moment, that thread releases everything when it has finished.
  void abandon() noexcept;

  std::shared_ptr<State> state_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
