// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/kept_files.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/command_session.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A command that was checked before anything starts: its refusal, or all that is needed to start it.
class prepared_command {
 public:
  std::optional<command_result> refusal;
  std::string advice;  ///< for a result without advice
  spawn_request request;
  unique_fd directory;                 ///< keeps the working directory of `request` open
  command_session* session = nullptr;  ///< starts the command
};

/// The base of the state of an open environment. It starts commands in the session of the environment, and closes the
/// environment once. All functions are called on the environment's strand. `State` derives from it, and has
///
/// * `static prepare_command(self, c)`: a coroutine that checks a command, which the caller keeps, and returns a
///   `prepared_command`. It throws if the environment is closed;
/// * `static end(self)`: a coroutine that ends all commands and releases everything. It is called once.
template <class State>
class environment_state {
 public:
  environment_state(const environment_state&) = delete;
  environment_state& operator=(const environment_state&) = delete;

  /// Any thread may call this function.
  kept_files& kept() noexcept { return kept_; }

  /// Makes the commands that begin from now on use a proxy on 127.0.0.1, and sets more variables of theirs.
  void use_proxy(std::uint16_t port, const std::vector<std::string>& added) {
    proxy_port_ = port;
    for (const std::string& each : added) set_variable(variables_, each);
  }

  static awaitable<command_result> run(std::shared_ptr<State> self, command c) {
    prepared_command ready = co_await State::prepare_command(self, c);
    if (ready.refusal) co_return std::move(*ready.refusal);
    command_result result = co_await ready.session->run(std::move(c), std::move(ready.request));
    if (result.advice().empty() && !ready.advice.empty()) result.advice(std::move(ready.advice));
    co_return result;
  }

  static awaitable<process> start(std::shared_ptr<State> self, command c) {
    prepared_command ready = co_await State::prepare_command(self, c);
    if (ready.refusal) co_return process::finished(std::move(*ready.refusal));
    process running = co_await ready.session->start(std::move(c), std::move(ready.request));
    co_return State::started(self, std::move(running));
  }

  /// Returns a process that was started, as the caller gets it. `State` may replace this function.
  static process started(const std::shared_ptr<State>&, process running) { return running; }

  /// Closes the environment. A second call waits for the first.
  static awaitable<void> close(std::shared_ptr<State> self) {
    while (self->closing_ && !self->closed_) co_await self->changed_.wait();
    if (self->closed_) co_return;
    self->closing_ = true;
    self->changed_.notify();
    std::exception_ptr failure;
    try {
      co_await State::end(self);
    } catch (...) {
      failure = std::current_exception();
    }
    self->closed_ = true;
    self->changed_.notify();
    if (failure) std::rethrow_exception(failure);
  }

 protected:
  explicit environment_state(const asio::any_io_executor& executor) : changed_(executor) {}
  ~environment_state() = default;

  /// Marks the environment as closed, if it does not close already. For `State::abandon()`, which waits for nothing: a
  /// `close()` that begins later has nothing to do.
  void close_at_once() noexcept {
    if (std::exchange(closing_, true)) return;
    closed_ = true;
    changed_.notify();
  }

  /// Makes the request that starts a command, without its working directory.
  spawn_request request_of(const command& c) const { return request_for(c, shell_, variables_, proxy_port_); }

  kept_files kept_;
  std::string shell_;                   // for commands that are shell lines
  std::vector<std::string> variables_;  // of every command
  std::uint16_t proxy_port_ = 0;        // 0 if commands use no proxy
  bool closing_ = false;
  bool closed_ = false;
  async_event changed_;  // notified when the environment begins to close and when it is closed
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
