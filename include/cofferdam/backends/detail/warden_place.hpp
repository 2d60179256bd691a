// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/warden_silence.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/kept_files.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/command_session.hpp>
#include <cofferdam/os/session_files.hpp>
#include <cofferdam/os/spawn.hpp>

#include <asio/any_io_executor.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The base of the state of an environment whose commands and files go through one session elsewhere: a container, a
/// pod, or the place of `over`. `Place` derives from it, and has the error message `is_closed`.
template <class Place>
class warden_place : public std::enable_shared_from_this<Place> {
 public:
  warden_place(const warden_place&) = delete;
  warden_place& operator=(const warden_place&) = delete;

  /// Returns true if the connection to the session is lost. Any thread may call this function.
  bool is_lost() const noexcept { return session_.is_lost(); }

  kept_files& kept() noexcept { return kept_; }

  /// Returns the session that runs the commands.
  /// \throws error{exec_errc::environment_closed}.
  command_session& session() {
    require_open();
    return session_;
  }

  template <class Operation>
  static auto with_files(const std::shared_ptr<Place>& self, Operation operation) {
    self->require_open();
    return operation(*self->files_);
  }

  static awaitable<guest_network> network(std::shared_ptr<Place> self) { co_return self->session().network(); }

  /// Makes the commands that begin from now on use a proxy on 127.0.0.1, and sets more variables of theirs.
  void use_proxy(std::uint16_t port, const std::vector<std::string>& added) {
    proxy_port_ = port;
    for (const std::string& each : added) set_variable(variables_, each);
  }

  static awaitable<command_result> run(std::shared_ptr<Place> self, command c) {
    self->require_open();
    std::optional<command_result> refusal = refuse_invalid(c);
    if (refusal) co_return std::move(*refusal);
    spawn_request request = co_await self->request_of(c);
    command_result result = co_await self->session().run(std::move(c), std::move(request));
    co_return result;
  }

  static awaitable<process> start(std::shared_ptr<Place> self, command c) {
    self->require_open();
    std::optional<command_result> refusal = refuse_invalid(c);
    if (refusal) co_return process::finished(std::move(*refusal));
    spawn_request request = co_await self->request_of(c);
    process running = co_await self->session().start(std::move(c), std::move(request));
    co_return running;
  }

  /// Ends all commands and releases the place. A second call waits for the first. If both steps fail, the error is that
  /// of the first step.
  static awaitable<void> close(std::shared_ptr<Place> self) {
    while (self->closing_ && !self->closed_) co_await self->ended_.wait();
    if (self->closed_) co_return;
    self->closing_ = true;
    std::exception_ptr failure;
    try {
      co_await Place::end_commands(self);
    } catch (...) {
      failure = std::current_exception();
    }
    try {
      co_await Place::release(self);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
    self->closed_ = true;
    self->ended_.notify();
    if (failure) std::rethrow_exception(failure);
  }

 protected:
  explicit warden_place(const asio::any_io_executor& executor) : ended_(executor) {}
  ~warden_place() = default;

  void require_open() const {
    if (closing_ || !session_) throw error(exec_errc::environment_closed, Place::is_closed);
  }

  awaitable<spawn_request> request_of(const command& c) {
    spawn_request request = request_for(c, shell_, variables_, proxy_port_);
    require_open();
    request.directory_path = co_await files_->directory_path(c.working_directory());
    co_return request;
  }

  command_session session_;
  std::shared_ptr<session_files> files_;
  kept_files kept_;
  std::vector<std::string> variables_;  // of every command
  std::uint16_t proxy_port_ = 0;        // 0 if commands use no proxy
  std::string shell_;                   // for commands that are shell lines
  bool closing_ = false;
  bool closed_ = false;
  async_event ended_;  // notified when closed_ becomes true
  warden_silence silence_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
