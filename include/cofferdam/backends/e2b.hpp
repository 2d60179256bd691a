// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/account_options.hpp>
#include <cofferdam/backends/e2b/create_options.hpp>
#include <cofferdam/backends/e2b/folder_watch.hpp>
#include <cofferdam/backends/e2b/process_follower.hpp>
#include <cofferdam/backends/e2b/sandbox_error.hpp>
#include <cofferdam/backends/e2b/sandbox_info.hpp>
#include <cofferdam/backends/e2b/sandbox_list.hpp>
#include <cofferdam/backends/e2b/signed_url.hpp>
#include <cofferdam/backends/e2b/surroundings.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/environment_handle.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

namespace detail {
class sandbox;
class sandbox_settings;
}  // namespace detail

class code_interpreter;

/// An open sandbox (a virtual machine of E2B or a compatible service), and the workspace in it. Models every concept
/// that refines `code_exec_environment`.
///
/// The sandbox's daemon starts each command as a process, inside a small script and in a session (setsid(2)) of its
/// own. The following limits apply:
/// * A time limit, a cancellation and the destructor of a running `process` end all processes of the command's session,
///   and all processes that have the command's variables. They get SIGTERM, and SIGKILL after the grace period.
/// * When a command ends, the remaining processes of its session are ended, and so are processes that still have its
///   output open. Other processes that it has started continue until the sandbox ends. `background_policy::keep` is
///   error{exec_errc::unsupported}.
/// * A hostile command can fake its exit code. Death by SIGPIPE looks like exit code 141. Death by SIGINT looks like
///   exit code 130, unless ^C was typed on the command's terminal.
/// * The sandbox needs /bin/sh, and for file operations cat, stat, readlink, mv, mkdir and find. Ending the whole
///   process tree of a command also needs `setsid`.
///
/// If this program ends without `close()`, the sandbox continues until its lifetime is over (see `provider::lifetime`).
/// While commands run, and at each operation, the library extends the remaining lifetime to at least half of
/// `lifetime`.
///
/// The environment may be moved while no operation is under way.
/// \par Threads  any thread, as `local_environment` documents it.
class environment {
 public:
  /// Makes an object without an environment. Its operations throw error{exec_errc::environment_closed}.
  environment();
  explicit environment(std::shared_ptr<detail::sandbox> inside);
  environment(environment&&) noexcept;
  environment& operator=(environment&&) noexcept;
  ~environment();

  /// Runs a command to its end. Every outcome of the command is a result, never an exception; this includes a time
  /// limit. A command that may have started is never sent again.
  /// \throws error{exec_errc::environment_closed}; error{exec_errc::outside_workspace, not_found, not_a_directory} if
  ///     the command's working directory is not a directory of the workspace; error{exec_errc::provider_lost}, with the
  ///     output so far, if the sandbox or the connection is lost.
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

  /// Pauses the sandbox, including its memory, until `resume()`. Commands that begin in the meantime wait. The lifetime
  /// of a paused sandbox does not run, but its storage costs money until the sandbox is resumed or ended.
  ///
  /// A sandbox can also be paused by another client, or at the end of its lifetime if `auto_pause` is set. Commands and
  /// file operations are then error{exec_errc::unavailable}, with the cause sandbox_errc::paused, until `resume()`.
  /// \throws error{exec_errc::unsupported} while commands run, because their output would be lost.
  awaitable<void> pause();
  /// Resumes the sandbox, no matter which client has paused it. Its remaining lifetime is then `lifetime`.
  awaitable<void> resume();
  /// Makes a snapshot of the sandbox, which the service keeps.
  /// \return  the name of the snapshot, for `provider::template_id`.
  awaitable<std::string> snapshot();

  /// Sets the remaining lifetime of the sandbox. It may be longer or shorter than before.
  /// \param time  rounded up to whole seconds.
  awaitable<void> set_lifetime(std::chrono::milliseconds time);
  /// Returns the measured load of the sandbox: processor, memory and disk. The list is empty if the sandbox is so new
  /// that there is no measurement yet.
  awaitable<std::vector<sandbox_metrics>> metrics();

  /// Returns the newest lines of the sandbox's log in the service, oldest first; at most 1000 lines.
  /// \throws error{exec_errc::unsupported}, or another error of the service, if the service keeps no log.
  awaitable<std::vector<sandbox_log_line>> logs();

  /// Returns the running processes that the sandbox's daemon has started, for this or any other client.
  awaitable<std::vector<running_process>> processes();
  /// Kills one of the processes that `processes()` returns, but not its children.
  /// \return  true if it was killed; false if there is no such process.
  awaitable<bool> end_process(std::int64_t pid);

  /// Begins to follow the output of a running process. Output from before this call is not available.
  /// \param pid  `running_process::pid()`.
  /// \throws error{exec_errc::not_found} if there is no such process. If the service detects this later,
  ///     `process_follower::next` throws instead.
  awaitable<process_follower> follow(std::int64_t pid);

  /// Begins to watch a folder for changes.
  /// \param path   relative to the workspace; `.` is the workspace itself.
  /// \param depth  `folder` watches only this folder, `tree` also all folders beneath it.
  /// \throws error{exec_errc::not_found} if the folder does not exist; error{exec_errc::unsupported} if the sandbox's
  ///     daemon cannot watch with this depth.
  awaitable<folder_watch> watch(std::string path, watch_depth depth = watch_depth::folder);

  /// Returns a URL with which any client can read a file by GET. Keep the URL secret.
  /// \param path        relative to the workspace. The service follows symbolic links with the rights of root.
  /// \param expiration  end of validity in seconds since 1970. Without a value, the URL is valid as long as the sandbox
  ///                    lives.
  std::string download_url(const std::string& path, std::optional<std::int64_t> expiration = std::nullopt) const;
  /// Returns a URL with which any client can write a file by POST (`multipart/form-data`). Keep the URL secret.
  /// \param path        as for `download_url`.
  /// \param expiration  as for `download_url`.
  std::string upload_url(const std::string& path, std::optional<std::int64_t> expiration = std::nullopt) const;

  /// Returns the sandbox's id, which other programs can pass to `in_sandbox`.
  const std::string& id() const;
  /// Returns the service's information about the sandbox, as it was when the sandbox was opened.
  const sandbox_info& info() const;
  /// Returns the absolute path of the workspace in the sandbox.
  const std::string& workspace() const;
  /// Returns the URL of a port of the sandbox, for example for a server that a command has started.
  std::string port_url(std::uint16_t port) const;
  /// Ends all commands and the sandbox. A sandbox that was connected to by `in_sandbox` continues to run; only the
  /// processes of this environment's commands are ended. Commands that are still running fail with
  /// error{exec_errc::environment_closed}.
  ///
  /// This function cannot be cancelled, and a second call waits for the first.
  /// \throws error{exec_errc::provider_lost} if the service cannot be reached any more. The sandbox then ends when its
  ///     lifetime is over.
  awaitable<void> close();

 private:
  friend class code_interpreter;
  using shared = std::shared_ptr<detail::sandbox>;

  const shared& get() const;

  std::string url(const std::string& path, file_access access, std::optional<std::int64_t> expiration) const;

  static awaitable<std::vector<running_process>> list_processes(shared inside);

  static awaitable<bool> kill_process(shared inside, std::int64_t pid);

  static awaitable<process_follower> begin_following(shared inside, std::int64_t pid);

  static awaitable<folder_watch> begin_watch(shared inside, std::string path, watch_depth depth);

  cofferdam::detail::environment_handle<detail::sandbox> handle_;
};

/// A recipe for environments in sandboxes of E2B or a compatible service: `e2b::from_template("base")`. Each `open()`
/// makes a new sandbox.
///
/// By default, the API key is the value of the environment variable E2B_API_KEY, and the service is e2b.app. The
/// variables E2B_DOMAIN, E2B_API_URL and E2B_SANDBOX_URL select another service. Setters override the variables, which
/// are read by `open()`. TLS certificates are always verified. No error, warning or result contains the key or a token.
/// Redirects are not followed.
///
/// There are three time limits: `request_timeout` for one call to the service, `default_timeout` for a command, and
/// `lifetime` for the sandbox. If the service responds that it is too busy (status 429 or 503), the call is repeated
/// after increasing pauses, which are at least as long as the service requests. Calls that fail for other reasons are
/// repeated only if a repetition cannot execute them twice.
///
/// The workspace is the folder `workspace` in the user's home. It is made if it is missing, and HOME is the workspace.
///
/// A provider is a value: it holds no connection and can be copied. Its setters can be chained.
class provider {
 public:
  explicit provider(std::shared_ptr<const detail::sandbox_settings> settings) : settings_(std::move(settings)) {}

  /// Sets the API key. Default: the value of E2B_API_KEY.
  provider& api_key(std::string key);
  /// Sets the domain of the service. Default: the value of E2B_DOMAIN, or `e2b.app`.
  provider& domain(std::string name);
  /// Sets the base URL of the service's API, which creates and ends sandboxes. Default: the value of E2B_API_URL, or
  /// `https://api.DOMAIN`.
  provider& api_url(std::string url);
  /// Sets the base URL of connections into sandboxes. `{port}`, `{id}` and `{domain}` in it are replaced. Default: the
  /// value of E2B_SANDBOX_URL, or `https://PORT-ID.DOMAIN`.
  provider& sandbox_url(std::string url);
  /// Replaces all account options.
  provider& account(account_options new_options);
  /// Trusts the certificates in a PEM file instead of the system's certificates.
  provider& ca_file(std::string path);
  /// Allows connections to other machines by `http://`. An attacker on the network can then read the key and all data.
  provider& allow_plain_http();
  /// Sets the version of the calls that create a sandbox and connect to it. Default: version 1, or version 2 if the
  /// service does not support version 1.
  provider& form(dialect which);
  /// Sets the time limit of one call to the service.
  /// \param limit  more than zero. Default: 60 s.
  provider& request_timeout(std::chrono::milliseconds limit);
  /// Sets the pause before a failed call is repeated for the first time. Each further pause is twice as long.
  /// \param time  more than zero. Default: 250 ms.
  provider& first_pause(std::chrono::milliseconds time);
  /// Sets a limit on how often sandboxes are created. All copies of the rate limiter share the limit. Default: no
  /// limit.
  provider& gate(rate_limiter limiter);

  /// Sets the template from which the sandbox is made.
  /// \param name  the id or name of a template, or the name of a snapshot. Default: `base`.
  provider& template_id(std::string name);
  /// Sets the time after which the service ends an unused sandbox. Each use extends the remaining time.
  /// \param time  more than zero; rounded up to whole seconds. Default: 5 minutes. The service may impose a maximum.
  provider& lifetime(std::chrono::milliseconds time);
  /// Adds an entry to the sandbox's metadata, which `sandbox_list` shows.
  provider& metadata(std::string key, std::string value);
  /// Requests that the service pauses the sandbox at the end of its lifetime, instead of killing it. Operations on a
  /// paused sandbox are error{exec_errc::unavailable} with the cause sandbox_errc::paused. `environment::resume()`
  /// continues the sandbox, and `close()` ends it.
  provider& auto_pause();
  /// Sets an environment variable of all processes in the sandbox.
  provider& variable(std::string name, std::string value);
  /// Denies the sandbox internet access. Default: the service's setting, which usually allows internet access.
  provider& without_internet();
  /// Sets the rules for connections from the sandbox and to its ports.
  provider& network(network_rules rules);
  /// Creates the sandbox without a token, for services that do not support tokens. Any client can then use the
  /// sandbox's daemon.
  provider& without_token();
  /// Sets additional members of the JSON request that creates the sandbox. They override members that result from other
  /// settings.
  provider& create_fields(boost::json::object fields);

  /// Sets the user of the commands. Default: the template's own user.
  provider& user(std::string name);
  /// Sets the folder of the workspace.
  /// \param path  absolute, or relative to the user's home. Default: `workspace`.
  provider& workspace(std::string path);
  /// Sets the time limit of commands that have no timeout of their own.
  /// \param limit  more than zero, or `no_timeout` for no limit. Default: 5 minutes.
  provider& default_timeout(std::chrono::milliseconds limit);
  /// Sets the grace period: the time from SIGTERM to SIGKILL when processes are ended.
  /// \param time  zero or more. Default: 500 ms.
  provider& kill_grace(std::chrono::milliseconds time);
  /// Replaces the environment variables that the library reads from this process. For tests.
  provider& variables_from(surroundings around);

  /// Creates a sandbox, or connects to the sandbox of `in_sandbox`, and returns an environment in it.
  /// \throws error{exec_errc::invalid_argument} if there is no API key, or an option is invalid;
  ///     error{exec_errc::permission_denied} if the service rejects the key; error{exec_errc::not_found} if the
  ///     template or the sandbox does not exist; error{exec_errc::provider_failed} if the service cannot be reached or
  ///     fails; error{exec_errc::cancelled}. After an exception, the new sandbox is ended. If the service cannot be
  ///     reached for that, the sandbox ends when its lifetime is over.
  awaitable<environment> open() const;

 private:
  static awaitable<environment> open_with(std::shared_ptr<const detail::sandbox_settings> settings);

  static void require_positive(std::chrono::milliseconds time, const char* name);

  template <class Change>
  provider& with(Change change);

  std::shared_ptr<const detail::sandbox_settings> settings_;
};

/// Returns a provider that runs commands in new sandboxes of a template: `e2b::from_template("base")`.
/// \param name  the id or the name of a template, or the name of a snapshot.
provider from_template(std::string name = "base");

/// Returns a provider that runs commands in an existing sandbox. `open()` resumes the sandbox if it is paused, and
/// extends its remaining lifetime to at least `lifetime`. `close()` leaves the sandbox running. Variables set by
/// `provider::variable` are set for each command.
/// \param id  the sandbox's id, from `environment::id()`.
/// \throws error{exec_errc::invalid_argument} if the id is malformed.
provider in_sandbox(std::string id);

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/impl/e2b.ipp>
#endif
