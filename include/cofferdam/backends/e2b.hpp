// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/account_options.hpp>
#include <cofferdam/backends/e2b/command_transport.hpp>
#include <cofferdam/backends/e2b/create_options.hpp>
#include <cofferdam/backends/e2b/file_metadata.hpp>
#include <cofferdam/backends/e2b/folder_watch.hpp>
#include <cofferdam/backends/e2b/process_follower.hpp>
#include <cofferdam/backends/e2b/sandbox_error.hpp>
#include <cofferdam/backends/e2b/sandbox_filter.hpp>
#include <cofferdam/backends/e2b/sandbox_info.hpp>
#include <cofferdam/backends/e2b/sandbox_list.hpp>
#include <cofferdam/backends/e2b/signed_url.hpp>
#include <cofferdam/backends/e2b/surroundings.hpp>
#include <cofferdam/backends/e2b/suspend_options.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/environment_handle.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
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
class forked;

/// An open sandbox (a virtual machine of E2B). Models every refinement of `code_exec_environment`.
///
/// Commands are started by a warden, the helper program of this library, which `open()` brings into the sandbox. If it
/// cannot run there, each command is a process of envd, E2B's daemon in the sandbox. `command_transport` describes both
/// ways, and `isolation()` of each result has the guarantees of the chosen way. A time limit, a cancellation and the
/// destructor of a `process` end the processes of a command: SIGTERM, then SIGKILL after the grace period
/// (`provider::kill_grace`).
///
/// The sandbox must have /bin/sh. For large files, and for all files if there is no warden, it must also have stat,
/// readlink, mv, mkdir and find.
///
/// If this program ends without `close()`, the sandbox ends when its `lifetime` is over. The remaining lifetime is kept
/// at half of `lifetime` or more while commands run, and at each use of the environment.
/// \par Threads  may be used from several threads. It may be moved only while no operation is under way.
class environment {
 public:
  /// Makes an object without a sandbox. Every operation throws `error{exec_errc::environment_closed}`.
  environment();
  explicit environment(std::shared_ptr<detail::sandbox> inside);
  environment(environment&&) noexcept;
  environment& operator=(environment&&) noexcept;
  ~environment();

  /// Runs a command to its end. Every outcome of the command is a result, including a time limit. A command that may
  /// have started is never sent again. The sandbox's daemon starts a command with `command::user`, also if there is a
  /// warden. Its processes end as with `command_transport::daemon`, and its variable HOME is the workspace, too.
  /// \throws error{exec_errc::environment_closed} after `close()`.
  /// \throws error{exec_errc::outside_workspace, not_found, not_a_directory} if the command's working directory is not
  ///     a directory of the workspace.
  /// \throws error{exec_errc::permission_denied} if `command::user` names no user of the sandbox, or the service does
  ///     not permit it.
  /// \throws error{exec_errc::provider_lost}, with the output so far, if the sandbox or the connection is lost.
  /// \par Cancellation  terminal. All processes of the command get SIGTERM, and SIGKILL after the grace period. Then
  ///                    the function throws error{exec_errc::cancelled}.
  awaitable<command_result> run_command(command c);

  /// Starts a command. If the command cannot be started, the returned process has already ended, and its result
  /// contains the reason.
  /// \throws the errors of `run_command`.
  awaitable<process> start(command c);

  /// Reads a whole file.
  /// \param path       relative to the workspace.
  /// \param max_bytes  the maximum size; for a larger file the function throws error{exec_errc::too_large}.
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes);
  /// Writes a whole file. An existing file is replaced in one step, and missing folders are created.
  /// \param path     relative to the workspace.
  /// \param content  the bytes of the file. The caller keeps them until the awaitable completes. For a text, use
  ///                 `write_text(env, path, text)`, which also keeps a copy of it.
  awaitable<void> write_file(std::string path, bytes_view content);
  /// Writes temporary bytes to a file. The awaitable owns the bytes, so it may be stored and awaited later.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_file(std::string path, Bytes&& content) {
    return cofferdam::write_bytes(*this, std::move(path), std::move(content));
  }
  /// Writes a whole file with metadata, as the other `write_file` does. The metadata belong to the file: they survive a
  /// change of its name, and a later write without metadata replaces the file by one that has none. This needs a
  /// sandbox's daemon of version 0.6.2, and a file system with extended attributes.
  /// \param path      relative to the workspace.
  /// \param content   the bytes of the file. The caller keeps them until the awaitable completes.
  /// \param metadata  the texts to store with the file.
  /// \throws error{exec_errc::unsupported} if the daemon cannot store metadata.
  awaitable<void> write_file(std::string path, bytes_view content, file_metadata metadata);
  /// Returns the metadata of a file; none if the file was written without. Texts that are not in the form of
  /// `file_metadata`, which another program has stored, are left out.
  /// \param path  relative to the workspace, UTF-8.
  /// \throws error{exec_errc::unsupported} if the sandbox's daemon cannot store metadata.
  /// \throws error{exec_errc::not_found, not_a_file, outside_workspace} if there is no such file in the workspace.
  awaitable<file_metadata> metadata_of(std::string path);
  /// Returns the metadata of all files of a folder that have some, by the names of the files. Folders beneath it and
  /// symbolic links are left out.
  /// \param path  relative to the workspace, UTF-8; `.` is the workspace itself.
  /// \throws error{exec_errc::unsupported} if the sandbox's daemon cannot store metadata.
  /// \throws error{exec_errc::not_found, not_a_directory, outside_workspace} if there is no such folder in the
  ///     workspace.
  awaitable<std::map<std::string, file_metadata>> metadata_in(std::string path);
  /// Returns the file operations of the workspace: list, stat, remove, transfers of whole trees and others.
  file_system files();
  /// Returns the loopback network of the sandbox, with which this program can reach servers that run there.
  /// \throws error{exec_errc::unsupported}, from its operations, if commands do not run by a warden.
  guest_network network();

  /// Pauses the sandbox, until `resume()`. Commands that begin in the meantime wait. Processes that commands have left
  /// running (`background_policy::keep`) are paused too, and continue after `resume()`. A paused sandbox costs storage
  /// until it is resumed or ended, and its lifetime does not elapse. A sandbox can also be paused by another client, or
  /// by `auto_pause` at the end of its lifetime. Then commands and file operations throw
  /// error{exec_errc::unavailable}, whose `cause()` is sandbox_errc::paused, until `resume()`.
  /// \throws error{exec_errc::busy} while commands run, because their output would be lost.
  /// \throws error{exec_errc::unsupported} if the service cannot pause the sandbox, which keeps running.
  awaitable<void> pause(pause_options options = pause_options());
  /// Resumes the sandbox, no matter which client has paused it. Its remaining lifetime is then `lifetime`.
  /// \param from  `stored_state::files` starts the sandbox anew from its disk, even if its memory was stored.
  awaitable<void> resume(stored_state from = stored_state::memory_and_files);
  /// Stores a copy of the sandbox at the service, from which new sandboxes can be created. The sandbox is paused for a
  /// moment. Processes that commands have left running continue, here and in the copies.
  /// \return  the name of the copy, for `provider::template_id`.
  /// \throws error{exec_errc::busy} while commands run, because their output would be lost.
  awaitable<std::string> snapshot(snapshot_options options = snapshot_options());
  /// Creates copies of the sandbox, with its memory and its files, and opens an environment in each. The sandbox is
  /// paused for a moment.
  /// \param count  the number of copies, 1 to 20.
  /// \return  one element for each copy. Each copy is created, or fails, independently of the others.
  /// \throws error{exec_errc::busy} while commands run, because their output would be lost.
  awaitable<std::vector<forked>> fork(std::size_t count = 1);
  /// Closes the environment, but leaves the sandbox until the end of its lifetime, and the processes that commands have
  /// left running in it (`background_policy::keep`). `in_sandbox(id())` connects to the sandbox again; `processes()`
  /// does not list what a warden has started.
  /// \throws error{exec_errc::busy} while commands run, because their output would be lost.
  awaitable<void> detach();

  /// Replaces the rules for the outgoing connections of the sandbox.
  /// \param rules           the new rules. The settings that apply to creation only are ignored.
  /// \param allow_internet  false: the sandbox may reach only the addresses in `allow_out`. Absent: `rules` decide.
  awaitable<void> update_network(network_rules rules, std::optional<bool> allow_internet = std::nullopt);

  /// Sets the remaining lifetime. It may be longer or shorter than before. The time is rounded up to whole seconds.
  awaitable<void> set_lifetime(std::chrono::milliseconds time);
  /// Returns measurements of the sandbox's load. The list may be empty if the sandbox is new.
  /// \param from, to  the time range, in seconds since 1970. Absent: the default of the service.
  awaitable<std::vector<sandbox_metrics>> metrics(std::optional<std::int64_t> from = std::nullopt,
                                                  std::optional<std::int64_t> to = std::nullopt);

  /// Returns the newest lines of the log that the service keeps for the sandbox, at most a thousand, oldest first.
  /// \throws error{exec_errc::unsupported}, or another error of the service, if the service keeps no log.
  awaitable<std::vector<sandbox_log_line>> logs();

  /// Returns the running processes that the sandbox's daemon has started, for this client and for all others. What a
  /// warden has started is not among them, such as the processes that a command has left before `detach()`; a command
  /// in the sandbox, such as `pgrep`, finds those. With `command_transport::daemon`, the list has each command.
  awaitable<std::vector<running_process>> processes();
  /// Kills a process from `processes()`, but not its children.
  /// \return  false if there is no such process.
  awaitable<bool> end_process(std::int64_t pid);

  /// Writes to the standard input of a process.
  /// \param pid   the number of the process, from `processes()`.
  /// \param data  the bytes. The caller keeps them until the awaitable completes.
  /// \throws error{exec_errc::not_found} if there is no such process.
  /// \throws the error of the sandbox's daemon if the process was started without an open input.
  awaitable<void> send_input(std::int64_t pid, bytes_view data);
  /// Ends the standard input of a process from `processes()`.
  /// \throws error{exec_errc::not_found} if there is no such process.
  awaitable<void> end_input(std::int64_t pid);

  /// Opens a stream of the output that a running process writes from now on.
  /// \throws error{exec_errc::not_found} if there is no such process. Some versions of the sandbox's daemon report this
  ///     only later: then `process_follower::next` throws the error.
  awaitable<process_follower> follow(std::int64_t pid);

  /// Opens a stream of the changes in a folder from now on.
  /// \param path   relative to the workspace; `.` is the workspace itself.
  /// \param depth  `watch_depth::folder` for the files of this folder only, `watch_depth::tree` for all folders beneath
  ///               it too.
  /// \throws error{exec_errc::not_found} if the folder does not exist.
  /// \throws error{exec_errc::unsupported} if `depth` is `watch_depth::tree` and the sandbox's daemon can only watch
  ///     single folders.
  awaitable<folder_watch> watch(std::string path, watch_depth depth = watch_depth::folder);

  /// Returns a URL with which any client can read one file (GET). Treat the URL as a secret.
  /// \param path        relative to the workspace. The sandbox's daemon follows symbolic links in the path, with the
  ///                    rights of root.
  /// \param expiration  the end of the URL's validity, in seconds since 1970. If absent, the URL is valid as long as
  ///                    the sandbox exists.
  std::string download_url(const std::string& path, std::optional<std::int64_t> expiration = std::nullopt) const;
  /// Returns a URL with which any client can write one file (POST, as `multipart/form-data`). Treat the URL as a
  /// secret. The parameters are those of `download_url`.
  std::string upload_url(const std::string& path, std::optional<std::int64_t> expiration = std::nullopt) const;

  /// Returns the id of the sandbox, for `in_sandbox`.
  const std::string& id() const;
  /// Returns the service's information about the sandbox, from the time when the environment was opened.
  const sandbox_info& info() const;
  /// Returns the absolute path of the workspace in the sandbox.
  const std::string& workspace() const;
  /// Returns the URL of a port in the sandbox, for example of a server that a command has started.
  /// \throws error{exec_errc::unsupported} if `provider::sandbox_url` does not contain `{port}` and `{id}`, so that no
  ///     URL leads to the port.
  std::string port_url(std::uint16_t port) const;
  /// Ends all commands and the sandbox. If the environment comes from `in_sandbox`, only the processes of its commands
  /// are ended, and the sandbox continues. Pending commands fail with error{exec_errc::environment_closed}. Cannot be
  /// cancelled. A second call waits for the first.
  /// \throws error{exec_errc::provider_lost} if the service cannot be reached any more. The sandbox ends at the end of
  ///     its lifetime in this case.
  awaitable<void> close();

 private:
  friend class code_interpreter;
  using shared = std::shared_ptr<detail::sandbox>;

  const shared& get() const;

  std::string url(const std::string& path, file_access access, std::optional<std::int64_t> expiration) const;

  static awaitable<std::vector<running_process>> list_processes(shared inside);

  static awaitable<bool> kill_process(shared inside, std::int64_t pid);

  static awaitable<void> write_input(shared inside, std::int64_t pid, bytes_view data);

  static awaitable<void> close_input(shared inside, std::int64_t pid);

  static awaitable<std::vector<forked>> make_copies(shared inside, std::size_t count);

  static awaitable<process_follower> begin_following(shared inside, std::int64_t pid);

  static awaitable<folder_watch> begin_watch(shared inside, std::string path, watch_depth depth);

  cofferdam::detail::environment_handle<detail::sandbox> handle_;
};

/// One result of `environment::fork`: an environment in a copy of the sandbox, or the reason why there is no copy.
class forked {
 public:
  /// Makes an object for a copy.
  explicit forked(environment opened) : opened_(std::move(opened)) {}
  /// Makes an object for a copy that was not created.
  explicit forked(error reason) : failure_(std::move(reason)) {}

  /// Returns true if there is a copy.
  bool ok() const noexcept { return !failure_; }
  /// Returns the environment in the copy. `close()` ends the copy.
  /// \throws the error of `failure()` if there is no copy.
  environment& copy() {
    if (failure_) throw *failure_;
    return opened_;
  }
  /// Returns the reason why there is no copy; null if there is one.
  const error* failure() const noexcept { return failure_ ? &*failure_ : nullptr; }

 private:
  environment opened_;
  std::optional<error> failure_;
};

/// A recipe for environments in E2B or in a compatible service: `e2b::from_template("base")`. Each `open()` returns an
/// environment in one sandbox. A value type that holds no connection. Setters can be chained.
///
/// By default the API key is read from the environment variable E2B_API_KEY, and the service is e2b.app. Other
/// environment variables (E2B_DOMAIN, E2B_API_URL, E2B_SANDBOX_URL) and the setters override these defaults. `open()`
/// reads the environment variables. TLS certificates are always verified. No error, warning or result contains the key
/// or a token. Redirects are not followed.
///
/// There are three time limits: `request_timeout` for one call to the service, `default_timeout` for a command,
/// `lifetime` for the sandbox. If the service is too busy for a call (429, 503), the call is repeated after growing
/// pauses, which are at least as long as the service requests. Other failed calls are repeated only if a repetition
/// cannot execute them twice.
///
/// The workspace is the folder `workspace` in the user's home. It is created if it does not exist. The environment
/// variable HOME of commands is the path of the workspace.
class provider {
 public:
  explicit provider(std::shared_ptr<const detail::sandbox_settings> settings) : settings_(std::move(settings)) {}

  /// Sets the API key. Default: the value of E2B_API_KEY.
  provider& api_key(std::string key);
  /// Sets the domain of the service. Default: the value of E2B_DOMAIN, otherwise `e2b.app`.
  provider& domain(std::string name);
  /// Sets the base URL of the API that creates and ends sandboxes. Default: the value of E2B_API_URL, otherwise
  /// `https://api.DOMAIN`.
  provider& api_url(std::string url);
  /// Sets one base URL for the daemons of all sandboxes. `{port}`, `{id}` and `{domain}` in it are replaced. Default:
  /// the value of E2B_SANDBOX_URL, otherwise `https://PORT-ID.DOMAIN`.
  provider& sandbox_url(std::string url);
  /// Sets all options of the account at once. They replace the options that were set before, for example by `api_key`.
  provider& account(account_options new_options);
  /// Trusts the certificates in this PEM file instead of the certificates of the system.
  provider& ca_file(std::string path);
  /// Permits `http://` URLs to other machines. An attacker on the network can then read the key and all data.
  provider& allow_plain_http();
  /// Sets the form of the calls that create and connect. Default: `dialect::automatic`.
  provider& api_dialect(dialect which);
  /// Sets the time limit of one call to the service, including its retries. More than zero. Default: 60 seconds.
  provider& request_timeout(std::chrono::milliseconds limit);
  /// Sets the pause before the first retry of a call. It is doubled for each further retry. More than zero. Default:
  /// 250 ms.
  provider& first_pause(std::chrono::milliseconds time);
  /// Limits how often sandboxes are created. All copies of the rate limiter share this limit.
  provider& rate_limit(rate_limiter limiter);

  /// Sets the template of the sandbox: its id or name, or the name of a snapshot. Default: `base`.
  provider& template_id(std::string name);
  /// Sets the time after which an unused sandbox ends. It is rounded up to whole seconds. A service may impose a
  /// maximum. More than zero. Default: 5 minutes.
  provider& lifetime(std::chrono::milliseconds time);
  /// Adds an entry to the metadata that the service stores with the sandbox.
  provider& metadata(std::string key, std::string value);
  /// Pauses the sandbox at the end of its lifetime, instead of ending it. Operations then throw
  /// error{exec_errc::unavailable}, whose `cause()` is sandbox_errc::paused. `environment::resume()` continues the
  /// sandbox, and `close()` ends it.
  /// \param stored  what the pause stores.
  provider& auto_pause(stored_state stored = stored_state::memory_and_files);
  /// Resumes the sandbox after a pause by `auto_pause`, when a request for it arrives. The pause must store the memory.
  provider& auto_resume();
  /// Adds a volume of the account to the sandbox.
  /// \param name  the name of the volume.
  /// \param path  the absolute path of the volume in the sandbox.
  /// \throws error{exec_errc::invalid_argument} if the path is not absolute.
  provider& volume(std::string name, std::string path);
  /// Sets an environment variable for all processes in the sandbox.
  provider& variable(std::string name, std::string value);
  /// Denies the sandbox access to the internet. Default: the setting of the service, which usually permits access.
  provider& without_internet();
  /// Sets rules for the outgoing connections of the sandbox and for access to its ports.
  provider& network(network_rules rules);
  /// Creates the sandbox without an access token, so that any client can use the sandbox's daemon. This is for services
  /// that do not support tokens.
  provider& without_token();
  /// Adds members to the JSON object of the request that creates the sandbox. They replace members of the same name
  /// that the other options have set.
  provider& create_fields(boost::json::object fields);

  /// Sets how commands are started. Default: by a warden, if it can run in the sandbox.
  provider& by(command_transport how);
  /// Sets the user under which commands run. Default: the user that the template has set. `command::user` sets another
  /// user for one command.
  provider& user(std::string name);
  /// Sets the folder of the workspace. The path is absolute, or relative to the user's home. Default: `workspace`.
  provider& workspace(std::string path);
  /// Sets the time limit of commands that have no time limit of their own. More than zero, or `no_timeout`. Default: 5
  /// minutes.
  provider& default_timeout(std::chrono::milliseconds limit);
  /// Sets the grace period: the time from SIGTERM to SIGKILL when a command is ended. Zero or more. Default: 500 ms.
  provider& kill_grace(std::chrono::milliseconds time);
  /// Reads the settings from `around` instead of the environment variables of this program, for tests.
  provider& variables_from(surroundings around);

  /// Creates a sandbox, or connects to an existing one, and prepares the workspace. After an error, a sandbox that this
  /// call has created is ended. If the service cannot be reached to end it, the sandbox ends at the end of its
  /// lifetime.
  /// \throws error{exec_errc::invalid_argument} if there is no API key, or an option is invalid.
  /// \throws error{exec_errc::permission_denied} if the service refuses the API key.
  /// \throws error{exec_errc::not_found} if the template or the sandbox does not exist.
  /// \throws error{exec_errc::provider_failed} if the service cannot be reached or fails.
  /// \throws error{exec_errc::provider_lost} if the sandbox was created, but its daemon does not answer.
  /// \throws error{exec_errc::cancelled} if the coroutine is cancelled.
  /// \par Cancellation  takes effect after the service's response to a creation that is under way, so that no sandbox
  ///                    is left behind: at most after `request_timeout`. Then the sandbox is ended, which takes
  ///                    further calls.
  awaitable<environment> open() const;

 private:
  static awaitable<environment> open_with(std::shared_ptr<const detail::sandbox_settings> settings);

  static void require_positive(std::chrono::milliseconds time, const char* name);

  template <class Change>
  provider& with(Change change);

  std::shared_ptr<const detail::sandbox_settings> settings_;
};

/// Returns a recipe that creates a new sandbox for each environment: `e2b::from_template("base")`.
/// \param name  the id or the name of a template, or the name of a snapshot.
provider from_template(std::string name = "base");

/// Returns a recipe that connects to an existing sandbox. `open()` resumes the sandbox if it is paused, and extends its
/// remaining lifetime to at least `lifetime`. `close()` leaves the sandbox running. Environment variables that
/// `provider::variable` has set apply to each command, not to the processes that the sandbox already runs.
/// \param id  the result of `environment::id()`.
/// \throws error{exec_errc::invalid_argument} if `id` is not a valid sandbox id.
provider in_sandbox(std::string id);

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/impl/e2b.ipp>
#endif
