// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/environment_state.hpp>
#include <cofferdam/backends/detail/warden_silence.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/detail/os/path_error.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/command_session.hpp>
#include <cofferdam/os/session_files.hpp>
#include <cofferdam/os/spawn.hpp>

#include <asio/any_io_executor.hpp>

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The base of the state of an environment whose commands and files go through one session elsewhere: a container, a
/// pod, or the place of `over`. `Place` derives from it, and has
///
/// * `is_closed`: an error message;
/// * `static end_commands(self)` and `static release(self)`: the two steps of `close()`, coroutines.
template <class Place>
class warden_place : public environment_state<Place>, public std::enable_shared_from_this<Place> {
 public:
  /// Returns true if the connection to the session is lost. Any thread may call this function.
  bool is_lost() const noexcept { return session_.is_lost(); }

  /// Sets the session that runs the commands.
  /// \param variables  the environment variables of every command.
  void begin(command_session session, std::shared_ptr<session_files> files, std::vector<std::string> variables) {
    files_ = std::move(files);
    session_ = std::move(session);
    this->variables_ = std::move(variables);
  }

  /// Sets the shell for commands that are shell lines.
  void shell(std::string path) noexcept { this->shell_ = std::move(path); }

  /// Runs a command of this library in the root directory.
  /// \param c  a command of separate words, not a shell line, because the shell may not have been determined yet.
  static awaitable<command_result> probe(std::shared_ptr<Place> self, command c) {
    spawn_request request = request_for(c, self->shell_, self->variables_);
    request.directory_path = "/";
    command_result result = co_await self->session().run(std::move(c), std::move(request));
    co_return result;
  }

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

  static awaitable<prepared_command> prepare_command(std::shared_ptr<Place> self, const command& c) {
    self->require_open();
    prepared_command ready;
    ready.refusal = refuse_invalid(c);
    if (ready.refusal) co_return ready;
    ready.request = self->request_of(c);
    try {
      ready.request.directory_path = co_await self->files_->directory_path(c.working_directory());
    } catch (const error& failure) {
      throw_working_directory_error(failure, c.working_directory());
    }
    ready.session = &self->session();
    co_return ready;
  }

  /// Ends all commands and releases the place. If both steps fail, the error is that of the first step.
  static awaitable<void> end(std::shared_ptr<Place> self) {
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
    if (failure) std::rethrow_exception(failure);
  }

 protected:
  explicit warden_place(const asio::any_io_executor& executor) : environment_state<Place>(executor) {}
  ~warden_place() = default;

  void require_open() const {
    if (this->closing_ || !session_) throw error(exec_errc::environment_closed, Place::is_closed);
  }

  command_session session_;
  std::shared_ptr<session_files> files_;
  warden_silence silence_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
