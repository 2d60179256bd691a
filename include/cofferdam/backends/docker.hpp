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
#include <cofferdam/core/guest_network.hpp>
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

/// An open container, and the workspace in it. Models every concept that refines `code_exec_environment`.
///
/// In a container that this library has made, the first program is a warden: a small helper program of this library
/// that starts, watches and ends the commands. If each command is a Docker exec instead (see `command_transport`), the
/// first program is a shell, which only keeps the container running. In both cases, the container ends together with
/// the connection to its first program. If the host program dies, or the environment is destroyed without `close()`,
/// the daemon removes the container, and all processes in it, a moment later.
///
/// The environment may be moved while no operation is under way.
/// \par Threads  may be used from several threads, under the rules that `local_environment` documents.
class environment {
 public:
  /// Makes an object without an environment. Its operations throw error{exec_errc::environment_closed}.
  environment();
  explicit environment(std::shared_ptr<detail::sandbox> inside);
  environment(environment&&) noexcept;
  environment& operator=(environment&&) noexcept;
  ~environment();

  /// Runs a command to its end. Every outcome of the command is a result, never an exception; this includes a time
  /// limit.
  /// \throws error{exec_errc::environment_closed}; error{exec_errc::outside_workspace, not_found, not_a_directory} if
  ///     the command's working directory is not a directory of the workspace; error{exec_errc::provider_lost}, with the
  ///     output so far, if the container or the connection is lost.
  /// \par Cancellation  terminal: all processes that the command has started get SIGTERM, and SIGKILL after the grace
  ///                    period (`provider::kill_grace`). Then this function throws error{exec_errc::cancelled}.
  awaitable<command_result> run_command(command c);

  /// Starts a command, and returns the running process. If the command cannot be started, the returned process has
  /// already ended, and its result contains the reason.
  /// \throws the errors of `run_command`.
  awaitable<process> start(command c);

  /// Reads a whole file of the workspace.
  /// \param path       relative to the workspace.
  /// \param max_bytes  maximum size of the file in bytes.
  /// \throws error{exec_errc::too_large} if the file is larger; error{exec_errc::not_found};
  ///     error{exec_errc::outside_workspace}; error{exec_errc::environment_closed}.
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes);
  /// Writes a file of the workspace, and makes missing folders. The file is written whole or not at all.
  /// \param path     relative to the workspace.
  /// \param content  the caller keeps these bytes until the awaitable completes.
  /// \throws error{exec_errc::outside_workspace}; error{exec_errc::environment_closed}.
  awaitable<void> write_file(std::string path, bytes_view content);
  /// Writes a file from temporary bytes, which the awaitable takes over. The awaitable can therefore be stored and
  /// awaited later.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_file(std::string path, Bytes&& content) {
    return cofferdam::write_bytes(*this, std::move(path), std::move(content));
  }
  /// Returns the file operations of the workspace: list, stat, remove, and transfers of whole directory trees.
  file_system files();
  /// Returns the loopback network of the container, with which this program can reach servers that run there.
  guest_network network();

  /// Returns the ended commands that had `background_policy::keep` and have left processes running. The oldest command
  /// is first.
  std::vector<background_command> background() const;
  /// Ends the processes that a command has left running (see `background()`), and waits for their end. The processes
  /// get SIGTERM, and SIGKILL after the grace period (`provider::kill_grace`). This function cannot be cancelled.
  /// \param number  `background_command::number()`.
  /// \throws error{exec_errc::not_found} if no process of the command is left; error{exec_errc::environment_closed}.
  awaitable<void> end_background(std::uint32_t number);

  /// Stops all processes of the container and keeps their state in memory. Commands and file operations then wait until
  /// `resume`, and so do those that begin meanwhile. A paused container uses no processor time, and keeps its memory.
  ///
  /// The time limits of commands go on. A command whose limit passes in a pause is ended when the container is resumed,
  /// with `error_kind::timeout`. Cancelling a command in a pause throws error{exec_errc::provider_lost} after the grace
  /// period and 3 s, because the command cannot end. `close()` and the destructor remove a paused container. If this
  /// program is killed, a paused container cannot end by itself: the next program that uses this library and the same
  /// daemon on this machine removes it.
  /// \throws error{exec_errc::unsupported} if `can_pause()` is false: the container is adopted, or has no warden.
  awaitable<void> pause();
  /// Continues the processes of the container. Does nothing if it is not paused.
  awaitable<void> resume();
  /// Makes an image of the container's disk, and returns its name, `cofferdam-snapshot:NUMBER`. Commands stop while the
  /// daemon copies. This function, `pause` and `resume` cannot be cancelled, and run one after another.
  ///
  ///     std::string saved = co_await env.snapshot();
  ///     auto later = docker::from_image(saved).options(docker::container_options().writable_root());
  ///
  /// The image has the files of the workspace and of all other folders, except those in memory and in mounts. It has no
  /// processes, and not the values of the variables that the options have set. It stays in the daemon until it is
  /// removed, by `docker rmi`. Open it with the options of this container.
  /// \throws error{exec_errc::unsupported} if `can_snapshot()` is false: the container is adopted, or its workspace is
  ///     not on its disk. That needs `container_options::writable_root`, and no mount, tmpfs or VOLUME at the
  ///     workspace.
  awaitable<std::string> snapshot();
  /// Returns true if `pause` and `resume` work.
  bool can_pause() const noexcept;
  /// Returns true if `snapshot` works.
  bool can_snapshot() const noexcept;

  /// Returns the container's name in the daemon. This library has chosen the name, unless the container comes from
  /// `in_container`.
  const std::string& container_name() const;
  /// Returns the container's id in the daemon.
  const std::string& container_id() const;

  /// Returns true if the container or the connection to it is known to be lost, so that every command would fail. Also
  /// returns true after `close()`, and for an object without an environment. Sends nothing to the container. Any thread
  /// may call this function.
  bool is_lost() const noexcept;

  /// Ends all commands and removes the container. A container from `in_container` is not removed; only the processes of
  /// this environment's commands are ended. Commands that are still running fail with
  /// error{exec_errc::environment_closed}.
  ///
  /// This function cannot be cancelled, and a second call waits for the first. The daemon has 60 s to answer each
  /// request. If the connection breaks during the removal, the request is repeated; it is sent at most three times.
  /// \throws error{exec_errc::provider_lost} if the daemon cannot be reached any more. The container then ends by
  ///     itself.
  awaitable<void> close();

 private:
  static awaitable<std::string> whole_snapshot(std::shared_ptr<detail::sandbox> inside);

  cofferdam::detail::environment_handle<detail::sandbox> handle_;
};

/// A recipe for environments in containers: `docker::from_image("python:3.12-slim")`. Each `open()` makes a new
/// container.
///
/// The defaults are restrictive: no network, no capabilities, no new privileges, a read-only image, 1 GiB of memory, 2
/// CPUs and 256 processes. Commands run as a user other than root. `container_options` changes these settings. Before
/// any command runs, the library compares the settings that the daemon has applied with the requested ones. Every
/// result reports them in `isolation()`.
///
/// The workspace is the folder /workspace. It is empty at first, and by default it is in memory. Each VOLUME of an
/// image is also in memory, with a size limit that `isolation()` reports. The image's content of a VOLUME is copied
/// into this memory and must fit; for larger content see `container_options::volume` and `container_options::tmpfs`. If
/// the daemon adds a mount that was not requested, `open()` throws error{exec_errc::provider_failed}.
///
/// Commands get the environment variables of the image and of the options, and PATH, HOME (the workspace), LANG, TERM
/// and TMPDIR.
///
/// A provider is a value: it holds no connection and can be copied. Its setters can be chained.
class provider {
 public:
  explicit provider(std::shared_ptr<const detail::sandbox_settings> settings) : settings_(std::move(settings)) {}

  /// Sets the settings of the container, such as its user, limits and mounts.
  provider& options(container_options new_options);
  /// Selects the Docker daemon. Default: the daemon that the docker command would use. That is the daemon of
  /// DOCKER_HOST, else of the current docker context, else of the first usable socket at the usual paths, such as
  /// /var/run/docker.sock.
  provider& daemon(daemon_choice choice);
  /// Sets how commands are started. Default: by a warden if there is one for the container's processor architecture,
  /// otherwise by Docker execs. The results report the guarantees of the chosen way in `isolation()`.
  provider& by(command_transport how);
  /// Sets a function that receives the progress of a pull or a build. It is called on the executor of the coroutine
  /// that awaits `open()`, one call at a time. g++ before 13 rejects a temporary lambda that captures by value: give
  /// the lambda a name first.
  provider& progress(cofferdam::detail::callable_argument<void(const progress_event&)> listener);
  /// Sets the shell that runs commands given as a shell line.
  /// \param path  absolute path in the container. The shell must accept `-c -- LINE`. Default: bash, or /bin/sh if the
  ///              container has no bash.
  provider& shell(std::string path);
  /// Sets the time limit of commands that have no timeout of their own.
  /// \param limit  more than zero, or `no_timeout` for no limit. Default: 5 minutes.
  provider& default_timeout(std::chrono::milliseconds limit);
  /// Sets the grace period: the time from SIGTERM to SIGKILL when processes are ended.
  /// \param time  zero or more. Default: 500 ms.
  provider& kill_grace(std::chrono::milliseconds time);
  /// Sets how long processes that a command leaves behind may continue to write output after the command has ended.
  /// \param time  zero or more. Default: 100 ms.
  provider& output_grace(std::chrono::milliseconds time);

  /// Makes a container and returns an environment in it. Pulls or builds the image first if necessary. Concurrent calls
  /// share one pull. Concurrent builds of the same image run one after another, so that the later ones use the daemon's
  /// build cache. The first use of a daemon in a process also removes containers and other objects that dead processes
  /// of this host have left in that daemon.
  /// \throws error{exec_errc::provider_failed, permission_denied} if no daemon can be used; error{exec_errc::not_found}
  ///     if the image does not exist; error{exec_errc::unsupported} if commands cannot be started in the requested way
  ///     (see `command_transport`); error{exec_errc::provider_failed} if the daemon did not apply the settings;
  ///     error{exec_errc::cancelled}. After an exception, nothing is left behind.
  awaitable<environment> open() const;

 private:
  static awaitable<environment> open_with(std::shared_ptr<const detail::sandbox_settings> settings);

  static void require_not_negative(std::chrono::milliseconds time, const char* name);

  template <class Change>
  provider& with(Change change);

  std::shared_ptr<const detail::sandbox_settings> settings_;
};

/// Returns a provider that runs commands in containers of an image. The image is pulled if the daemon does not have it.
/// \param name  an image name as for `docker run`, such as `python:3.12-slim`.
/// \throws error{exec_errc::invalid_argument} if the name is invalid.
provider from_image(std::string_view name);

/// Returns a provider that builds an image and runs commands in containers of that image:
/// `docker::from_dockerfile(docker::build_request("sandbox"))`. BuildKit builds the image if the daemon prefers
/// BuildKit, or if the Dockerfile needs it (`RUN --mount`, here-documents, `COPY --link`, `# syntax=`). The function
/// set by `provider::progress` receives the build steps and their output.
provider from_dockerfile(build_request build);
/// Returns a provider that builds an image from a folder with default settings.
/// \param context  a folder that contains a Dockerfile, or the path of a Dockerfile in its folder.
provider from_dockerfile(std::filesystem::path context);

/// Returns a provider that runs commands in an existing, running container. The container is called adopted: it is
/// never stopped, removed or reconfigured. `close()` ends the processes of the commands, and the container continues.
/// Several environments may be open in one container.
///
/// By default, each environment copies a warden (the helper program that starts the commands) into a private folder in
/// /tmp, or in another folder that allows writing and executing. A Docker exec starts the warden, and the warden's file
/// is then removed at once. If no warden can be started, each command is an exec (see `command_transport`).
///
/// Only three kinds of options have an effect: `user` (default: the container's own user), `working_directory` (made if
/// it is missing, never emptied), and the environment variables. HOME is the workspace.
///
/// The isolation of the container itself is unknown, so `isolation()` reports only the guarantees that this library
/// adds. A process of the same user can kill the warden, for example by `kill -9 -1`; on Linux 6.12 and newer, Landlock
/// prevents this for the commands of this library. If the warden is killed, operations fail with
/// error{exec_errc::provider_lost}, and running processes may continue. If commands are execs, running processes may
/// also continue when this program dies. If the container ends, operations fail with error{exec_errc::provider_lost}
/// too.
/// \param name_or_id  name or id of the container, as for the docker command.
/// \throws error{exec_errc::invalid_argument} if `name_or_id` is not a valid name or id. `open` throws
///     error{exec_errc::not_found} if the container does not exist, or if its workspace does not exist and cannot be
///     made; error{exec_errc::provider_failed} if the container does not run.
provider in_container(std::string_view name_or_id);

}  // namespace cofferdam::inline COFFERDAM_ABI::docker

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/impl/docker.ipp>
#endif
