// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/build_request.hpp>
#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/daemon_choice.hpp>
#include <cofferdam/backends/docker/progress_event.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/detail/core/environment_handle.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker {

namespace detail {
class sandbox;
class sandbox_settings;
}  // namespace detail

/// An open container. Models every refinement but `suspendable_environment`.
///
/// The first program of a container that this library makes is a warden, which starts, watches and ends the commands,
/// or, with execs, a shell that keeps the container running (see `command_transport`). The container lives as long as
/// the connection to this program: if the host program dies, or the environment is destroyed without `close()`, the
/// container and everything in it are removed a moment later. Movable while idle.
/// \par Threads  any, as for `local_environment`.
class environment {
 public:
  /// Holds no environment: operations throw `error{exec_errc::environment_closed}`.
  environment();
  explicit environment(std::shared_ptr<detail::sandbox> inside);
  environment(environment&&) noexcept;
  environment& operator=(environment&&) noexcept;
  ~environment();

  /// Runs a command to its end. Every outcome is a result, including a time limit.
  /// \throws error{exec_errc::environment_closed}; error{exec_errc::outside_workspace, not_found, not_a_directory} for
  ///     its working directory; error{exec_errc::provider_lost} if the container or the connection is lost, with the
  ///     output so far.
  /// \par Cancellation  terminal: SIGTERM, the grace, SIGKILL to all that the command has started; then
  ///                    error{exec_errc::cancelled}.
  awaitable<command_result> run_command(command c);

  /// Starts a command. If it cannot be started, the process has already ended, and its result has the reason.
  /// \throws as `run_command`.
  awaitable<process> start(command c);

  awaitable<bytes> read_file(std::string path, std::size_t max_bytes);
  awaitable<void> write_file(std::string path, bytes_view content);
  /// Takes temporary bytes, which the awaitable owns. So the awaitable may be kept and awaited later.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_file(std::string path, Bytes&& content) {
    return cofferdam::write_bytes(*this, std::move(path), std::move(content));
  }
  /// Returns the file operations of the workspace: list, stat, remove, whole trees at once.
  file_system files();

  /// Returns the commands with `background_policy::keep` of which processes still run, oldest first.
  std::vector<background_command> background();
  /// Ends the remaining processes of such a command: SIGTERM, the grace period, SIGKILL, and waits for their end.
  /// Cannot be cancelled.
  /// \throws error{exec_errc::not_found} if none is left; error{exec_errc::environment_closed}.
  awaitable<void> end_background(std::uint32_t number);

  /// Returns the container's name, which this library has chosen.
  const std::string& container_name() const;
  const std::string& container_id() const;

  /// Ends all commands and removes the container; of an adopted container, only ends the processes of its commands.
  /// Pending commands fail with error{exec_errc::environment_closed}. Cannot be cancelled; a second call waits for the
  /// first. The daemon has 60 s to answer each request. A removal whose connection is lost is requested at most three
  /// times.
  /// \throws error{exec_errc::provider_lost} if the daemon cannot be reached any more; the container then ends by
  /// itself.
  awaitable<void> close();

 private:
  cofferdam::detail::environment_handle<detail::sandbox> handle_;
};

/// Runs commands in a container, a new one for each environment: `docker::from_image("python:3.12-slim")`.
///
/// Hardened by default: no network, no capabilities, no new privileges, the image read-only, 1 GiB of memory, 2 CPUs,
/// 256 processes, commands as a user other than root; see `container_options` for the settings. Before any command
/// runs, the settings that the daemon has applied are compared with the requested ones. Results report them in
/// `isolation()`. The workspace is /workspace, empty at first; it is memory by default. Each VOLUME of an image is
/// memory too, with a limit that `isolation()` reports. The image's content of a VOLUME is copied into it, and must fit
/// (else see `container_options::volume` and `container_options::tmpfs`). A mount that was not requested is
/// error{exec_errc::provider_failed}. Commands have the environment variables of the image and of the options, and
/// PATH, HOME (the workspace), LANG, TERM, TMPDIR.
///
/// A value: holds no connection. Setters chain.
class provider {
 public:
  explicit provider(std::shared_ptr<const detail::sandbox_settings> settings) : settings_(std::move(settings)) {}

  /// Sets the container's settings.
  provider& options(container_options new_options);
  /// Selects the daemon. Default: the one that the docker command would use (DOCKER_HOST, the current context, the
  /// usual sockets).
  provider& daemon(daemon_choice choice);
  /// Sets how commands are started. Default: by a warden if there is one for the container's machine, else by execs;
  /// `isolation()` of the results has the guarantees.
  provider& by(command_transport how);
  /// Sets a listener for the progress of a pull or a build. Called on the executor of the coroutine that opens, one
  /// call at a time. g++ before 13 refuses a temporary lambda that captures by value: name it first.
  provider& progress(cofferdam::detail::callable_argument<void(const progress_event&)> listener);
  /// Sets the shell for lines, as an absolute path in the container; it must accept `-c -- LINE`. Default: bash, else
  /// /bin/sh.
  provider& shell(std::string path);
  /// Sets the time limit of commands without one. Default: 5 minutes; `no_timeout` for none.
  provider& default_timeout(std::chrono::milliseconds limit);
  /// Sets the time from SIGTERM to SIGKILL. Default: 500 ms; zero or more.
  provider& kill_grace(std::chrono::milliseconds time);
  /// Sets how long a background child may continue to write after the command has ended. Default: 100 ms; zero or more.
  provider& output_grace(std::chrono::milliseconds time);

  /// Makes a container. Pulls or builds its image first if needed, once for all calls at the same time. The first use
  /// of a daemon in a process also removes the leftovers of dead processes of this host.
  /// \throws error{exec_errc::provider_failed, permission_denied} if no daemon can be used; error{exec_errc::not_found}
  ///     if the image does not exist; error{exec_errc::unsupported} if commands cannot be started (see
  ///     `command_transport`); error{exec_errc::provider_failed} if the daemon did not apply the settings;
  ///     error{exec_errc::cancelled}. Nothing is left behind.
  awaitable<environment> open() const;

 private:
  static awaitable<environment> open_with(std::shared_ptr<const detail::sandbox_settings> settings);

  static void require_not_negative(std::chrono::milliseconds time, const char* name);

  template <class Change>
  provider& with(Change change);

  std::shared_ptr<const detail::sandbox_settings> settings_;
};

/// Runs commands in containers of an image, which is pulled if the daemon does not have it.
/// \param name  as for `docker run`.
/// \throws error{exec_errc::invalid_argument} for an invalid name.
provider from_image(std::string_view name);

/// Runs commands in containers of an image that is built first:
/// `docker::from_dockerfile(docker::build_request("sandbox"))`. BuildKit builds it if the daemon prefers that, or the
/// Dockerfile needs it (`RUN --mount`, here-documents, `COPY --link`, `# syntax=`); the handler of `provider::progress`
/// receives its steps and their output.
provider from_dockerfile(build_request build);
/// Does the same for a folder with a Dockerfile, or for a Dockerfile in its folder.
provider from_dockerfile(std::filesystem::path context);

/// Runs commands in an existing, running container. It is never stopped, removed or reconfigured: `close()` ends the
/// processes of the commands, and the container continues. Several environments may be open in one container.
///
/// A warden is copied into a private folder (in /tmp, or in another folder that allows writing and executing), started
/// by an exec, and its file is removed at once. If that is not possible, commands are execs (see `command_transport`).
/// Of the options only `user` (default: that of the container), `working_directory` (made if it is missing, and never
/// emptied) and the variables have an effect. HOME is the workspace.
///
/// The isolation of the container is unknown: `isolation()` reports only that by this library. Limits: a process of the
/// same user can kill the warden (`kill -9 -1`; our commands cannot if Landlock prevents it, Linux 6.12), which is
/// error{exec_errc::provider_lost}, and then running processes may continue (as with execs if this program dies). The
/// end of the container is error{exec_errc::provider_lost} too.
/// \param name_or_id  as for the docker command.
/// \throws error{exec_errc::invalid_argument} if it is neither. `open` throws error{exec_errc::not_found} if there is
///     no such container, or no workspace and it cannot be made; error{exec_errc::provider_failed} if the container
///     does not run.
provider in_container(std::string_view name_or_id);

}  // namespace cofferdam::inline COFFERDAM_ABI::docker

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/impl/docker.ipp>
#endif
