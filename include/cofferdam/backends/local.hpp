// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/local_state.hpp>
#include <cofferdam/core/bulk_file_environment.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/listing_environment.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/protections.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/core/warning.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// An open `local` environment. Models every refinement but `suspendable_environment`.
///
/// Movable while no operation is under way. Destroyed without `close()`, it kills what runs and leaves the folder to be
/// removed when another environment opens or closes after all of that is dead, or when the program ends. Of a program that
/// is killed, what ran is ended, and the folder stays until another program of the same user, a minute later or more,
/// closes its first environment in the same place.
/// \par Threads  the executor it was opened on.
class local_environment {
 public:
  explicit local_environment(std::shared_ptr<detail::local_state> state) : state_(std::move(state)) {}
  local_environment(local_environment&&) noexcept = default;
  local_environment& operator=(local_environment&& other) noexcept {
    if (this != &other) {
      if (state_) state_->abandon();
      state_ = std::move(other.state_);
    }
    return *this;
  }
  ~local_environment() {
    if (state_) state_->abandon();
  }

  /// Runs a command to its end. What it does is the result, its time limit included.
  /// \throws error{errc::environment_closed}; error{errc::outside_workspace, not_found, not_a_directory} for its working
  ///         directory; error{errc::io_error} where the host has no descriptor left. `partial()` has what had arrived.
  /// \par Cancellation  terminal: SIGTERM, the grace, SIGKILL to all that the command has started; then error{errc::cancelled}.
  awaitable<command_result> run_command(command c) { return detail::local_state::run(get(), std::move(c)); }

  /// Starts a command. One that cannot be started yields a finished process with the result that says why.
  /// \throws as `run_command`.
  awaitable<process> start(command c) { return detail::local_state::start(get(), std::move(c)); }

  /// What commands with `background_policy::keep` have left running, oldest first.
  std::vector<background_command> background() const { return get()->background(); }
  /// Ends what such a command has left: SIGTERM, the grace, SIGKILL, and waits for that. Not cancelled.
  /// \throws error{errc::not_found} where nothing is left of it; error{errc::environment_closed}.
  awaitable<void> end_background(std::uint32_t number) { return detail::local_state::end_background(get(), number); }

  awaitable<bytes> read_file(std::string path, std::size_t most) { return files().read_file(std::move(path), most); }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return files().write_file(std::move(path), content);
  }
  awaitable<entry> stat(std::string path) { return files().stat(std::move(path)); }
  awaitable<std::vector<entry>> list(std::string path, list_options options = list_options()) {
    return files().list(std::move(path), options);
  }
  awaitable<void> make_directory(std::string path) { return files().make_directory(std::move(path)); }
  awaitable<void> remove(std::string path) { return files().remove(std::move(path)); }
  awaitable<void> rename(std::string from, std::string to) { return files().rename(std::move(from), std::move(to)); }
  awaitable<transfer> put_files(file_source& source) { return files().put_files(source); }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    return files().get_files(std::move(requests));
  }

  /// Where the workspace lies on this machine.
  const std::filesystem::path& workspace() const { return get()->workspace(); }

  /// Ends every command (SIGTERM, the grace, SIGKILL), whose awaiters get error{errc::environment_closed}, and removes
  /// the folder. Not cancelled; a second call waits for the first.
  /// \throws error{errc::io_error} where the folder cannot be removed: something still writes there.
  awaitable<void> close() {
    const std::shared_ptr<detail::local_state> state = get();
    return detail::shielded([state] { return detail::local_state::close(state); });
  }

 private:
  const std::shared_ptr<detail::local_state>& get() const {
    if (!state_) throw error(errc::environment_closed, "local: the environment was moved from");
    return state_;
  }
  workspace_files& files() const { return get()->files(); }

  std::shared_ptr<detail::local_state> state_;
};

/// Runs commands on this machine, as the user who runs the program, in a private temporary folder. **No wall**: for
/// code you trust, or would run yourself. Warns so once a program.
///
/// Commands are started by a warden, a small program of the library's own. The end of a command, its time limit,
/// cancellation, `close()` and the death of this program end everything that the command has started, whatever that did to
/// get away. Where the kernel has Landlock scopes (Linux 6.12) a command can signal only what it has started itself, and
/// can gain no privileges (no `sudo`); elsewhere one that runs as you may also kill you, the warden and other commands, and
/// all that is promised is this: everything a command started ends unless it kills you first. Results say in `walls()` what
/// stood. A program that forks without exec keeps the warden alive with it. A command's environment is built from nothing: PATH
/// (the system folders), HOME (the workspace), SHELL, LANG, TERM, TMPDIR, and what the command adds; standard input is
/// /dev/null; descriptors, signal state and umask of the program do not leak into it.
///
/// A command is finished when it ends: what it has left behind delays the result by `output_grace`, and is killed then.
class local {
 public:
  /// Where the private folder is made. Default: TMPDIR, else /tmp. Made where it is missing.
  local& temporary_base(std::filesystem::path folder) & {
    return with([&](detail::local_settings& all) { all.temporary_base = std::move(folder); });
  }
  local&& temporary_base(std::filesystem::path folder) && { return std::move(temporary_base(std::move(folder))); }
  /// Works in this existing directory instead of a new one, and leaves it there.
  local& workspace(std::filesystem::path folder) & {
    return with([&](detail::local_settings& all) { all.workspace = std::move(folder); });
  }
  local&& workspace(std::filesystem::path folder) && { return std::move(workspace(std::move(folder))); }
  /// The shell for lines, as an absolute path; it must take `-c -- LINE`. Default: bash, else /bin/sh.
  local& shell(std::string path) & {
    return with([&](detail::local_settings& all) { all.shell = std::move(path); });
  }
  local&& shell(std::string path) && { return std::move(shell(std::move(path))); }
  /// The time limit of commands that have none of their own. Default: 5 minutes; `no_timeout` for none.
  local& default_timeout(std::chrono::milliseconds limit) & {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument,
                  "local: the default timeout must be longer than zero (no_timeout says: none)");
    return with([&](detail::local_settings& all) { all.commands.default_timeout = limit; });
  }
  local&& default_timeout(std::chrono::milliseconds limit) && { return std::move(default_timeout(limit)); }
  /// From SIGTERM to SIGKILL. Default: 500 ms; zero or more.
  local& kill_grace(std::chrono::milliseconds time) & {
    require_not_negative(time, "kill_grace");
    return with([&](detail::local_settings& all) { all.commands.kill_grace = time; });
  }
  local&& kill_grace(std::chrono::milliseconds time) && { return std::move(kill_grace(time)); }
  /// How long a background child may go on writing once the command has ended. Default: 100 ms; zero or more.
  local& output_grace(std::chrono::milliseconds time) & {
    require_not_negative(time, "output_grace");
    return with([&](detail::local_settings& all) { all.commands.output_grace = time; });
  }
  local&& output_grace(std::chrono::milliseconds time) && { return std::move(output_grace(time)); }
  /// What to do with a shell line that seems to name files outside the workspace. Default: `path_policy::advise`. It
  /// is a guess about text, for the model's sake, and no wall.
  local& paths(path_policy policy) & {
    return with([&](detail::local_settings& all) { all.paths = policy; });
  }
  local&& paths(path_policy policy) && { return std::move(paths(policy)); }
  /// Who starts the commands. Default: `warden_policy::automatic`.
  local& warden(warden_policy policy) & {
    return with([&](detail::local_settings& all) { all.policy = policy; });
  }
  local&& warden(warden_policy policy) && { return std::move(warden(policy)); }
  /// A warden of your own build instead of the one in the library: the path of its program.
  local& warden_program(std::filesystem::path program) & {
    return with([&](detail::local_settings& all) { all.warden = std::move(program); });
  }
  local&& warden_program(std::filesystem::path program) && { return std::move(warden_program(std::move(program))); }
  /// Does not warn that it is no wall.
  local& without_warning() & {
    return with([](detail::local_settings& all) { all.warns = false; });
  }
  local&& without_warning() && { return std::move(without_warning()); }

  /// \throws error{errc::provider_failed} where a folder cannot be made, there is no shell, or the program ignores
  ///         SIGCHLD (then nobody can know how a command ended).
  awaitable<local_environment> open() const { return open_with(settings_); }

 private:
  static awaitable<local_environment> open_with(std::shared_ptr<const detail::local_settings> settings) {
    if (settings->warns) warn_once();
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    std::shared_ptr<detail::local_state> state =
        co_await detail::local_state::open(std::move(executor), std::move(settings));
    co_return local_environment(std::move(state));
  }

  static void warn_once() {
    static std::atomic_flag warned;
    if (!warned.test_and_set())
      detail::warn(
          "local() is no wall: commands run on this machine as you. For code you do not trust use another "
          "backend; local().without_warning() silences this");
  }

  static void require_not_negative(std::chrono::milliseconds time, const char* name) {
    if (time < std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, std::string("local: ") + name + " must not be negative");
  }

  template <class Change>
  local& with(Change change) {
    auto copy = std::make_shared<detail::local_settings>(*settings_);
    change(*copy);
    settings_ = std::move(copy);
    return *this;
  }

  static std::shared_ptr<const detail::local_settings> defaults() { return std::make_shared<detail::local_settings>(); }

  std::shared_ptr<const detail::local_settings> settings_ = defaults();
};

}  // namespace cofferdam::inline v0
