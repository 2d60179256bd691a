// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_transfer.hpp>
#include <cofferdam/core/streaming_environment.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// An open environment that somebody else closes: all operations are that one's, and `close()` does nothing. What is
/// still running in it goes on then. Made by `borrowed`. Not a coroutine: adds no frame and no allocation.
/// \par Lifetime  the environment outlives it, and stays where it is.
template <code_exec_environment E>
class borrowed_environment {
 public:
  explicit borrowed_environment(E& environment) noexcept : environment_(&environment) {}

  awaitable<command_result> run_command(command c) { return environment_->run_command(std::move(c)); }
  awaitable<process> start(command c)
    requires streaming_environment<E>
  {
    return environment_->start(std::move(c));
  }
  awaitable<bytes> read_file(std::string path, std::size_t most) {
    return environment_->read_file(std::move(path), most);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return environment_->write_file(std::move(path), content);
  }
  awaitable<entry> stat(std::string path) { return cofferdam::stat(*environment_, std::move(path)); }
  awaitable<std::vector<entry>> list(std::string path, list_options options = list_options()) {
    return cofferdam::list(*environment_, std::move(path), options);
  }
  awaitable<void> make_directory(std::string path) { return cofferdam::make_directory(*environment_, std::move(path)); }
  awaitable<void> remove(std::string path) { return cofferdam::remove(*environment_, std::move(path)); }
  awaitable<void> rename(std::string from, std::string to) {
    return cofferdam::rename(*environment_, std::move(from), std::move(to));
  }
  awaitable<transfer> put_files(file_source& source) { return cofferdam::put_files(*environment_, source); }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    return cofferdam::get_files(*environment_, std::move(requests));
  }
  awaitable<void> close() { return nothing(); }

  /// Where the other knows at run time only whether `start` works.
  bool can_start() const noexcept
    requires requires(const E& environment) {
      { environment.can_start() } -> std::same_as<bool>;
    }
  {
    return environment_->can_start();
  }

 private:
  static awaitable<void> nothing() { co_return; }

  E* environment_;
};

/// A recipe that opens nothing and lends an environment that is open, for what opens and closes its own:
/// `borrowed(environment) | python()` is a runner in it, whose `close()` ends the runner and no more.
/// \par Lifetime  the environment outlives all that is opened.
template <code_exec_environment E>
class borrowed {
 public:
  explicit borrowed(E& environment) noexcept : environment_(&environment) {}

  awaitable<borrowed_environment<E>> open() const { return lend(environment_); }

 private:
  static awaitable<borrowed_environment<E>> lend(E* environment) { co_return borrowed_environment<E>(*environment); }

  E* environment_;
};

}  // namespace cofferdam::inline v0
