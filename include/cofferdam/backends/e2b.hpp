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

/// An open sandbox. Models every refinement.
///
/// Its commands are processes of the sandbox's daemon, each inside a small script and in its own session. A time limit,
/// a cancellation and the destructor of a `process` end all processes of that session, and all with the command's
/// variables (SIGTERM, the grace period, SIGKILL). When a command ends, the remaining processes of its session are
/// ended, and so are those that still have its output open; others continue until the sandbox ends. A hostile command
/// can fake another exit code. Death by SIGPIPE looks like exit code 141; death by SIGINT like 130, unless ^C was typed
/// on the command's terminal. `background_policy::keep` is error{exec_errc::unsupported}. The sandbox needs /bin/sh,
/// and for files cat, stat, readlink, mv, mkdir, find; with `setsid` whole trees can be ended.
///
/// If this program ends without `close()`, the sandbox ends when its `lifetime` is over. While commands run, and at
/// each use, its remaining lifetime is kept at half of `lifetime` or more.
/// \par Threads  any, as for `local_environment`. Movable while idle.
class environment {
 public:
  /// Holds no environment: operations throw `error{exec_errc::environment_closed}`.
  environment();
  explicit environment(std::shared_ptr<detail::sandbox> inside);
  environment(environment&&) noexcept;
  environment& operator=(environment&&) noexcept;
  ~environment();

  /// Runs a command to its end. Every outcome is a result, including a time limit. A command that may have started is
  /// never sent again.
  /// \throws error{exec_errc::environment_closed}; error{exec_errc::outside_workspace, not_found, not_a_directory} for
  ///     its working directory; error{exec_errc::provider_lost} if the sandbox or the connection is lost, with the
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

  /// Pauses the sandbox with its memory, until `resume()`. Commands that begin meanwhile wait. A paused sandbox costs
  /// storage until it is resumed or ended, and its lifetime does not run. If another client has paused it, or the end
  /// of its lifetime with `auto_pause`, commands and files are error{exec_errc::unavailable}, cause()
  /// sandbox_errc::paused, until `resume()`.
  /// \throws error{exec_errc::unsupported} while commands run, because their output would be lost.
  awaitable<void> pause();
  /// Resumes the sandbox, paused by any client; its lifetime is `lifetime` from then on.
  awaitable<void> resume();
  /// Keeps a copy of the sandbox.
  /// \return  a name for `provider::template_id`.
  awaitable<std::string> snapshot();

  /// Sets the remaining lifetime, longer or shorter than before; whole seconds, rounded up.
  awaitable<void> set_lifetime(std::chrono::milliseconds time);
  /// Returns its load; may be empty if it is new.
  awaitable<std::vector<sandbox_metrics>> metrics();

  /// Returns the newest lines of the service's log of the sandbox, in order; at most a thousand.
  /// \throws error{exec_errc::unsupported} or another error of the service if it keeps no log.
  awaitable<std::vector<sandbox_log_line>> logs();

  /// Returns the running processes that the sandbox's daemon has started for any client.
  awaitable<std::vector<running_process>> processes();
  /// Kills one of these processes, but not its children.
  /// \return  false if there is no such process.
  awaitable<bool> end_process(std::int64_t pid);

  /// Returns the output of a running process from now on.
  /// \throws error{exec_errc::not_found} if there is no such process; the follower may throw it instead.
  awaitable<process_follower> follow(std::int64_t pid);

  /// Watches a folder from now on.
  /// \param path   relative to the workspace; `.` is the workspace.
  /// \param depth  the folder alone, or also all folders beneath it.
  /// \throws error{exec_errc::not_found}; error{exec_errc::unsupported} if the daemon does not support it.
  awaitable<folder_watch> watch(std::string path, watch_depth depth = watch_depth::folder);

  /// Returns a URL with which any client can read (GET) or write (POST, as `multipart/form-data`) one file. Treat the
  /// URL as a secret.
  /// \param path        relative to the workspace. Links are followed there, as root.
  /// \param expiration  seconds since 1970; no value: as long as the sandbox lives.
  std::string download_url(const std::string& path, std::optional<std::int64_t> expiration = std::nullopt) const;
  std::string upload_url(const std::string& path, std::optional<std::int64_t> expiration = std::nullopt) const;

  /// Returns the sandbox's id, for `in_sandbox`.
  const std::string& id() const;
  /// Returns the service's information from the time when the sandbox was opened.
  const sandbox_info& info() const;
  /// Returns the workspace's path in the sandbox.
  const std::string& workspace() const;
  /// Returns the address of a port, for example of a server that a command has started.
  std::string port_url(std::uint16_t port) const;
  /// Ends all commands, and the sandbox; of a connected sandbox, only ends the processes of its commands. Pending
  /// commands fail with error{exec_errc::environment_closed}. Cannot be cancelled; a second call waits for the first.
  /// \throws error{exec_errc::provider_lost} if the service cannot be reached any more: the sandbox then ends by
  /// itself.
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

/// Runs commands in a sandbox of E2B, or of a compatible service, one for each environment:
/// `e2b::from_template("base")`.
///
/// By default the key is in the environment variable E2B_API_KEY, and the service is e2b.app. Variables (E2B_DOMAIN,
/// E2B_API_URL, E2B_SANDBOX_URL) and setters override this. Variables are read by `open()`. TLS always verifies. No
/// error, warning or result contains the key or a token. Redirects are not followed.
///
/// There are three time limits: `request_timeout` for one call to the service, `default_timeout` for a command,
/// `lifetime` for the sandbox. If the service is too busy for a call (429, 503), the call is repeated after growing
/// pauses, at least those that the service requests. Other failed calls are repeated only if they cannot be executed
/// twice.
///
/// The workspace is the folder `workspace` in the user's home, made if it is missing; HOME is the workspace. A
/// value: holds no connection. Setters chain.
class provider {
 public:
  explicit provider(std::shared_ptr<const detail::sandbox_settings> settings) : settings_(std::move(settings)) {}

  /// Sets the key, instead of E2B_API_KEY.
  provider& api_key(std::string key);
  /// Sets the service's domain: `e2b.app`, or that of another service.
  provider& domain(std::string name);
  /// Sets the control plane's base URL. Default: `https://api.DOMAIN`.
  provider& api_url(std::string url);
  /// Sets one base URL for all sandboxes; `{port}`, `{id}` and `{domain}` in it are replaced. Default:
  /// `https://PORT-ID.DOMAIN`.
  provider& sandbox_url(std::string url);
  /// Sets all account options at once.
  provider& account(account_options new_options);
  /// Trusts the certificates in this PEM file instead of the system's.
  provider& ca_file(std::string path);
  /// Allows `http://` to other machines. An attacker on the network can then read the key and all data.
  provider& allow_plain_http();
  /// Sets the form of the calls. Default: the first, and the second if the service does not know the first.
  provider& form(dialect which);
  /// Limits the time of one call to the service. Default: 60 s; more than zero.
  provider& request_timeout(std::chrono::milliseconds limit);
  /// Sets the pause before a call is repeated; doubled each time. Default: 250 ms; more than zero.
  provider& first_pause(std::chrono::milliseconds time);
  /// Limits how often sandboxes may be created. All copies of the gate share the limit.
  provider& gate(rate_limiter limiter);

  /// Sets the template, or the name of a snapshot. Default: `base`.
  provider& template_id(std::string name);
  /// Sets the sandbox's lifetime without use. Default: 5 minutes; whole seconds, rounded up. Services may impose a
  /// maximum.
  provider& lifetime(std::chrono::milliseconds time);
  /// Adds an entry to the sandbox's metadata.
  provider& metadata(std::string key, std::string value);
  /// Pauses the sandbox at the end of its lifetime, instead of killing it. Operations are then
  /// error{exec_errc::unavailable} with sandbox_errc::paused. `environment::resume()` continues the sandbox, and
  /// `close()` ends it.
  provider& auto_pause();
  /// Sets a variable for all processes in the sandbox.
  provider& variable(std::string name, std::string value);
  /// Denies internet access. Default: the service's setting, which usually allows it.
  provider& without_internet();
  /// Sets its network access.
  provider& network(network_rules rules);
  /// Creates the sandbox without a token, so that any client can use its daemon: for services without tokens.
  provider& without_token();
  /// Adds members to the request that creates the sandbox; they override those of the options.
  provider& create_fields(boost::json::object fields);

  /// Sets the user of commands. Default: the template's own user.
  provider& user(std::string name);
  /// Sets the folder of the workspace: absolute, or relative to the user's home. Default: `workspace`.
  provider& workspace(std::string path);
  /// Sets the time limit of commands without one. Default: 5 minutes; `no_timeout` for none.
  provider& default_timeout(std::chrono::milliseconds limit);
  /// Sets the time from SIGTERM to SIGKILL. Default: 500 ms; zero or more.
  provider& kill_grace(std::chrono::milliseconds time);
  /// Replaces the environment variables of the process: for tests.
  provider& variables_from(surroundings around);

  /// Creates a sandbox, or connects to one.
  /// \throws error{exec_errc::invalid_argument} if there is no key, or an option is invalid;
  ///     error{exec_errc::permission_denied} if the service refuses the key; error{exec_errc::not_found} for a template
  ///     or sandbox that does not exist; error{exec_errc::provider_failed} if the service cannot be reached or fails;
  ///     error{exec_errc::cancelled}. Nothing is left behind if the service can be reached; otherwise a sandbox ends
  ///     with its lifetime.
  awaitable<environment> open() const;

 private:
  static awaitable<environment> open_with(std::shared_ptr<const detail::sandbox_settings> settings);

  static void require_positive(std::chrono::milliseconds time, const char* name);

  template <class Change>
  provider& with(Change change);

  std::shared_ptr<const detail::sandbox_settings> settings_;
};

/// Runs commands in new sandboxes of a template: `e2b::from_template("base")`.
/// \param name  the id or the name of a template, or the name of a snapshot.
provider from_template(std::string name = "base");

/// Runs commands in an existing sandbox, which `close()` leaves running. It is resumed if it is paused. Its remaining
/// lifetime becomes at least `lifetime`. The variables of the options are set for each command.
/// \param id  from `environment::id()`.
/// \throws error{exec_errc::invalid_argument} for an invalid id.
provider in_sandbox(std::string id);

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/impl/e2b.ipp>
#endif
