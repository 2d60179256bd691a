// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/build_request.hpp>
#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/detail/sandbox.hpp>
#include <cofferdam/backends/docker/find_daemon.hpp>
#include <cofferdam/backends/docker/image_name.hpp>
#include <cofferdam/backends/docker/progress_stream.hpp>
#include <cofferdam/backends/docker/way.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bulk_file_environment.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/listing_environment.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/core/transfer.hpp>
#include <cofferdam/warden/session.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::docker {

/// An open container. Models every refinement but `suspendable_environment`.
///
/// The first program of a container of ours is a warden of the library's own, which starts, watches and ends the commands,
/// or, by execs, a shell that holds it (see `way`); the connection to it is the container's life: where this program dies,
/// or the environment is dropped without `close()`, the container is gone a moment later, and everything in it. Movable
/// while idle.
/// \par Threads  the executor it was opened on.
class environment {
 public:
  explicit environment(std::shared_ptr<detail::sandbox> inside) : inside_(std::move(inside)) {}
  environment(environment&&) noexcept = default;
  environment& operator=(environment&& other) noexcept {
    if (this != &other) {
      if (inside_) inside_->abandon();
      inside_ = std::move(other.inside_);
    }
    return *this;
  }
  ~environment() {
    if (inside_) inside_->abandon();
  }

  /// Runs a command to its end. What it does is the result, its time limit included.
  /// \throws error{errc::environment_closed}; error{errc::outside_workspace, not_found, not_a_directory} for its working
  ///         directory; error{errc::provider_lost} where the container or the connection is gone, with what had arrived.
  /// \par Cancellation  terminal: SIGTERM, the grace, SIGKILL to all that the command has started; then error{errc::cancelled}.
  awaitable<command_result> run_command(command c) { return detail::sandbox::run(get(), std::move(c)); }

  /// Starts a command. One that cannot be started yields a finished process with the result that says why.
  /// \throws as `run_command`.
  awaitable<process> start(command c) { return detail::sandbox::start(get(), std::move(c)); }

  awaitable<bytes> read_file(std::string path, std::size_t most) {
    return get()->with_session([&](auto& session) { return session.read_file(std::move(path), most); });
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return get()->with_session([&](auto& session) { return session.write_file(std::move(path), content); });
  }
  awaitable<entry> stat(std::string path) {
    return get()->with_session([&](auto& session) { return session.stat(std::move(path)); });
  }
  awaitable<std::vector<entry>> list(std::string path, list_options options = list_options()) {
    return get()->with_session([&](auto& session) { return session.list(std::move(path), options); });
  }
  awaitable<void> make_directory(std::string path) {
    return get()->with_session([&](auto& session) { return session.make_directory(std::move(path)); });
  }
  awaitable<void> remove(std::string path) {
    return get()->with_session([&](auto& session) { return session.remove(std::move(path)); });
  }
  awaitable<void> rename(std::string from, std::string to) {
    return get()->with_session([&](auto& session) { return session.rename(std::move(from), std::move(to)); });
  }
  awaitable<transfer> put_files(file_source& source) {
    return get()->with_session([&](auto& session) { return session.put_files(source); });
  }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    return get()->with_session([&](auto& session) { return session.get_files(std::move(requests)); });
  }

  /// What commands with `background_policy::keep` have left running, oldest first.
  std::vector<background_command> background() {
    return get()->with_session([](auto& session) { return session.background(); });
  }
  /// Ends what such a command has left: SIGTERM, the grace, SIGKILL, and waits for that. Not cancelled.
  /// \throws error{errc::not_found} where nothing is left of it; error{errc::environment_closed}.
  awaitable<void> end_background(std::uint32_t number) {
    return get()->with_session([number](auto& session) { return session.end_background(number); });
  }

  /// What the daemon calls the container: a name of ours, and its id.
  const std::string& container_name() const { return get()->name(); }
  const std::string& container_id() const { return get()->id(); }

  /// Ends everything and removes the container (one that was adopted only loses what our commands started); whoever awaits a command gets error{errc::environment_closed}. Not
  /// cancelled; a second call waits for the first.
  /// \throws error{errc::provider_lost} where the daemon cannot be asked any more: then the container ends by itself.
  awaitable<void> close() {
    const std::shared_ptr<detail::sandbox> inside = get();
    return cofferdam::detail::shielded([inside] { return detail::sandbox::close(inside); });
  }

 private:
  const std::shared_ptr<detail::sandbox>& get() const {
    if (!inside_) throw error(errc::environment_closed, "docker: the environment was moved from");
    return inside_;
  }

  std::shared_ptr<detail::sandbox> inside_;
};

/// Runs commands in a container of its own for each environment: `docker::from_image("python:3.12-slim")`.
///
/// Hardened as it is made: no network, no capabilities, no new privileges, the image read-only, 1 GiB of memory, 2 CPUs,
/// 256 processes, commands as a user who is not root; see `container_options` for what can be changed. What the daemon
/// has really set up is compared with what was asked for before anything runs, and results say it in `walls()`.
/// The workspace is /workspace, empty at first; it is memory unless the options say otherwise.
/// Commands find the image's environment variables and those of the options, PATH, HOME (the workspace), LANG, TERM, TMPDIR.
///
/// A value: holds no connection. Setters chain.
class provider {
 public:
  explicit provider(std::shared_ptr<const detail::sandbox_settings> settings) : settings_(std::move(settings)) {}

  /// What the container is like.
  provider&& options(container_options all) && {
    return with([&](detail::sandbox_settings& to) { to.options = std::move(all); });
  }
  /// Which daemon. Default: what the docker command would use (DOCKER_HOST, the current context, the usual sockets).
  provider&& daemon(daemon_choice choice) && {
    return with([&](detail::sandbox_settings& to) { to.daemon = std::move(choice); });
  }
  /// How commands get into the container. Default: by a warden where there is one for its machine, else by execs; results
  /// say in `walls()` what holds then.
  provider&& by(way how) && {
    return with([&](detail::sandbox_settings& to) { to.by = how; });
  }
  /// Hears how far a pull or a build is. Called on the executor of whoever opens.
  provider&& progress(std::function<void(const progress_event&)> tell) && {
    return with([&](detail::sandbox_settings& to) { to.progress = std::move(tell); });
  }
  /// The shell for lines, as an absolute path in the container; it must take `-c -- LINE`. Default: bash, else /bin/sh.
  provider&& shell(std::string path) && {
    if (!path.starts_with('/') || path.find('\0') != std::string::npos)
      throw error(errc::invalid_argument, "docker: the shell is named by an absolute path in the container");
    return with([&](detail::sandbox_settings& to) { to.shell = std::move(path); });
  }
  /// The time limit of commands that have none of their own. Default: 5 minutes; `no_timeout` for none.
  provider&& default_timeout(std::chrono::milliseconds limit) && {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument,
                  "docker: the default timeout must be longer than zero (no_timeout says: none)");
    return with([&](detail::sandbox_settings& to) { to.commands.default_timeout = limit; });
  }
  /// From SIGTERM to SIGKILL. Default: 500 ms; zero or more.
  provider&& kill_grace(std::chrono::milliseconds time) && {
    require_not_negative(time, "kill_grace");
    return with([&](detail::sandbox_settings& to) { to.commands.kill_grace = time; });
  }
  /// How long a background child may go on writing once the command has ended. Default: 100 ms; zero or more.
  provider&& output_grace(std::chrono::milliseconds time) && {
    require_not_negative(time, "output_grace");
    return with([&](detail::sandbox_settings& to) { to.commands.output_grace = time; });
  }

  /// Makes a container; pulls or builds its image first where that is needed, once for all who want it at the same time.
  /// The first time that a process uses a daemon it also removes what dead processes of this host have left there.
  /// \throws error{errc::provider_failed, permission_denied} where no daemon can be used; error{errc::not_found} for an
  ///         image that is nowhere; error{errc::unsupported} where commands cannot get in (see `way`);
  ///         error{errc::provider_failed} where the daemon did not do what it was asked; error{errc::cancelled}. Nothing is
  ///         left behind.
  awaitable<environment> open() const { return open_with(settings_); }

 private:
  static awaitable<environment> open_with(std::shared_ptr<const detail::sandbox_settings> settings) {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    std::shared_ptr<detail::sandbox> inside = co_await detail::sandbox::open(std::move(executor), std::move(settings));
    co_return environment(std::move(inside));
  }

  static void require_not_negative(std::chrono::milliseconds time, const char* name) {
    if (time < std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, std::string("docker: ") + name + " must not be negative");
  }

  template <class Change>
  provider&& with(Change change) {
    auto copy = std::make_shared<detail::sandbox_settings>(*settings_);
    change(*copy);
    settings_ = std::move(copy);
    return std::move(*this);
  }

  std::shared_ptr<const detail::sandbox_settings> settings_;
};

/// Containers of an image, which is pulled where the daemon does not have it.
/// \param name  as one writes it behind `docker run`.
/// \throws error{errc::invalid_argument} for what is no name of an image.
inline provider from_image(std::string_view name) {
  auto settings = std::make_shared<detail::sandbox_settings>();
  settings->name.emplace(name);
  return provider(std::move(settings));
}

/// Containers of an image that is built first: `docker::from_dockerfile(docker::build_request("sandbox"))`.
inline provider from_dockerfile(build_request build) {
  auto settings = std::make_shared<detail::sandbox_settings>();
  settings->build.emplace(std::move(build));
  return provider(std::move(settings));
}
/// The same by the folder with the Dockerfile alone.
inline provider from_dockerfile(std::filesystem::path context) {
  return from_dockerfile(build_request(std::move(context)));
}

/// Commands in a container that somebody else has made and that runs. It is never stopped, removed, or set up otherwise:
/// `close()` ends what our commands have started, and the container goes on. Several may be open in one container.
///
/// A warden is put into a private folder (of /tmp, or where else something can be written and executed), started by an
/// exec, and its file taken away again at once; where that cannot be, commands are execs (see `way`). Of the options only
/// `user`, `working_directory` (made where it is missing, and never emptied) and the variables mean anything; a user who
/// is not given is the container's own. HOME is the workspace.
///
/// What stands around the commands is for the container's maker to say: `walls()` names only what this library does.
/// Limits: a process of the same user can kill the warden (`kill -9 -1`; our commands cannot where Landlock holds them,
/// Linux 6.12), which is error{errc::provider_lost}, and then, as by execs when this program dies, what runs may run on;
/// the container's end is error{errc::provider_lost} too.
/// \param name_or_id  as the docker command takes them.
/// \throws error{errc::invalid_argument} for what is neither. `open` throws error{errc::not_found} where there is no such
///         container, or no workspace and none can be made; error{errc::provider_failed} where it does not run.
inline provider in_container(std::string_view name_or_id) {
  if (!detail::is_engine_name(name_or_id))
    throw error(errc::invalid_argument,
                "docker: " + detail::quoted(name_or_id) + " is neither the name nor the id of a container");
  auto settings = std::make_shared<detail::sandbox_settings>();
  settings->adopted = std::string(name_or_id);
  return provider(std::move(settings));
}

}  // namespace cofferdam::inline v0::docker
