// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_server_settings.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway {

/// The facts about a sandbox that a service on one of its ports receives.
class sandbox_facts {
 public:
  /// Describes a sandbox. The other members describe the parameters.
  sandbox_facts(std::string id, std::string template_name, std::string home)
      : id_(std::move(id)), template_(std::move(template_name)), home_(std::move(home)) {}
  /// Returns the id of the sandbox.
  const std::string& id() const noexcept { return id_; }
  /// Returns the name of the requested template.
  const std::string& template_name() const noexcept { return template_; }
  /// Returns the absolute path that clients use for the workspace.
  const std::string& home() const noexcept { return home_; }

  /// Sets the workspace's path inside commands. An empty path means that it is not known.
  sandbox_facts& workspace(std::string path) & {
    workspace_ = std::move(path);
    return *this;
  }
  const std::string& workspace() const noexcept { return workspace_; }
  /// Sets the environment variables of all processes in the sandbox, as pairs of name and value.
  sandbox_facts& variables(std::vector<std::pair<std::string, std::string>> pairs) & {
    variables_ = std::move(pairs);
    return *this;
  }
  const std::vector<std::pair<std::string, std::string>>& variables() const noexcept { return variables_; }

 private:
  std::string id_;
  std::string template_;
  std::string home_;
  std::string workspace_;
  std::vector<std::pair<std::string, std::string>> variables_;
};

/// A service on a further port of a sandbox, such as E2B's code interpreter on port 49999. Each sandbox has its own
/// service, which is made at the first request. Before the service receives a request, the gateway has routed it and,
/// if the sandbox is secured (has an access token), has checked the token in the request.
/// \par Lifetime  destroyed after `close()` has ended, but before the environment object. The gateway gives `close()`
///                one second and then closes the environment.
/// \par Threads   the gateway's executor.
class port_service {
 public:
  port_service() = default;
  port_service(const port_service&) = delete;
  port_service& operator=(const port_service&) = delete;
  virtual ~port_service() = default;

  /// Handles one request, like a handler of `http_server`. Several requests may be handled concurrently.
  virtual awaitable<void> serve(http_call& call) = 0;
  /// Ends the service's processes in the environment. When the sandbox ends, the gateway cancels all `serve`
  /// (terminal). It calls `close` of all services when the last `serve` has ended, and closes the environment
  /// afterwards.
  /// \par Cancellation  terminal, if the services have not ended one second after the end of the sandbox. One second
  ///                    later the gateway closes the environment, even if a service has ignored the cancellation. If
  ///                    a `serve` still runs after the first second, `close` is not called.
  virtual awaitable<void> close() = 0;
};

/// A callable that makes the service of a sandbox.
/// \param environment  the environment of the sandbox, which outlives the service.
using port_factory =
    std::function<std::unique_ptr<port_service>(any_environment& environment, const sandbox_facts& facts)>;

/// A callable that makes the provider for a snapshot.
/// \param name  the name of the snapshot, which `snapshot()` of an environment has returned.
using snapshot_provider = std::function<any_provider(const std::string& name)>;

/// The settings of an `e2b_gateway::server`: keys, names and limits.
class options {
 public:
  options() = default;

  /// Adds an API key, which clients send in `X-API-KEY`. Each key has its own sandboxes. If no key was added, clients
  /// may send any key, and the gateway serves only this machine. A key that was added before is not added again.
  /// \param key  1 to 512 visible ASCII characters. E2B's own keys are `e2b_` and 40 hexadecimal digits, and older SDKs
  ///             refuse other keys.
  /// \throws error{exec_errc::invalid_argument} for an invalid key; the message does not show it.
  options& api_key(std::string key) {
    bool is_visible = !key.empty() && key.size() <= 512;
    for (const char c : key) is_visible = is_visible && c > ' ' && c < 0x7F;
    if (!is_visible)
      throw error(exec_errc::invalid_argument, "e2b_gateway: an API key must have 1 to 512 visible ASCII characters");
    if (std::find(api_keys_.begin(), api_keys_.end(), key) == api_keys_.end()) api_keys_.push_back(std::move(key));
    return *this;
  }

  /// Sets the domain of sandboxes. Port 49983 of a sandbox has the host name `49983-ID.DOMAIN`. `sandbox.DOMAIN` is
  /// used with header fields, and `api.DOMAIN` is the API. Clients receive the domain, from which their SDKs make the
  /// host names of ports. Default: `localhost`; clients receive it with the port of the gateway, as `localhost:3000`.
  /// \param name  a DNS name, without a port.
  /// \throws error{exec_errc::invalid_argument} for another name.
  options& domain(std::string name) {
    bool is_name = !name.empty() && name.size() <= 253;
    for (const char c : name)
      is_name = is_name &&
                ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.');
    if (!is_name || name.front() == '.' || name.back() == '.')
      throw error(exec_errc::invalid_argument, "e2b_gateway: the domain must be a DNS name without a port");
    for (char& c : name) c = cofferdam::detail::lowered(c);
    domain_ = std::move(name);
    return *this;
  }

  /// Sets the template names that clients may request, without tags; `*` allows every name. These templates use the
  /// provider of the gateway; `e2b_gateway::server::add_template` adds templates with other providers. Upper and lower
  /// case are the same. Default: `base` and `code-interpreter-v1`.
  options& templates(std::vector<std::string> names) {
    for (std::string& name : names)
      for (char& c : name) c = cofferdam::detail::lowered(c);
    templates_ = std::move(names);
    return *this;
  }

  /// Sets the absolute path that clients use for the workspace. Default: `/home/user`, as in E2B's own templates.
  /// \throws error{exec_errc::invalid_argument} for a path that is not absolute, or not in its shortest form.
  options& home(std::string path) { return absolute(home_, std::move(path)); }

  /// Sets the absolute path of the workspace inside commands, such as `/workspace` in the containers of
  /// `cofferdam::docker`. Clients may use this path instead of the home, because they send back the output of `pwd`. It
  /// is needed only if the environment does not report its workspace, for example behind a layer (middleware).
  /// \throws error{exec_errc::invalid_argument} for a path that is not absolute, or not in its shortest form.
  options& workspace(std::string path) { return absolute(workspace_, std::move(path)); }

  /// Declares that the environments of all providers have no network access. Only then may clients create sandboxes
  /// with `allow_internet_access: false`, because the gateway itself cannot remove the network access.
  options& without_internet() {
    has_internet_ = false;
    return *this;
  }

  /// Sets the treatment of processes that still run when their command has ended. Default: `background_policy::keep`,
  /// as in E2B: `server &` in a command continues until the sandbox ends. If the environment cannot keep such a
  /// process, it ends with the command. With `background_policy::kill`, all processes of a command end with the
  /// command, and a SIGKILL from a client reaches all of them.
  options& background(background_policy policy) {
    background_ = policy;
    return *this;
  }

  /// Sets the maximum number of sandboxes of all keys together. A request for more gets status 429. If there are
  /// several keys, each has an equal share, at least one sandbox. Default: 20; at least 1.
  options& sandboxes(std::size_t count) { return at_least_one(sandboxes_, count); }
  /// Sets the maximum number of running processes in a sandbox. Default: 256; at least 1.
  options& processes(std::size_t count) { return at_least_one(processes_, count); }
  /// Sets the maximum number of streams that listen to one process. Default: 32; at least 1.
  options& subscribers(std::size_t count) { return at_least_one(subscribers_, count); }
  /// Sets the maximum number of directory watchers in a sandbox. Default: 32; at least 1.
  options& watchers(std::size_t count) { return at_least_one(watchers_, count); }
  /// Sets the maximum size in bytes of one request that is not an upload. Default: 4 MiB; at least 1.
  options& message(std::size_t max_bytes) { return at_least_one(message_, max_bytes); }
  /// Sets the time limit for the arrival of a request that is not an upload, including its wait for memory. A late
  /// request gets status 408, or status 503 if it waited for memory. From 10 ms to one hour; default: one minute.
  options& message_timeout(std::chrono::milliseconds duration) {
    if (duration < std::chrono::milliseconds(10) || duration > std::chrono::hours(1))
      throw error(exec_errc::invalid_argument, "e2b_gateway: the message time must be from 10 ms to an hour");
    message_timeout_ = duration;
    return *this;
  }
  /// Sets the maximum memory of all requests that are not uploads, in bytes. Requests of up to 16 KiB do not count;
  /// other requests wait until there is memory. The requests of one key may use a quarter of it, and always enough for
  /// one request. Default: 64 MiB; at least the size of `message`.
  options& memory(std::size_t max_bytes) { return at_least_one(memory_, max_bytes); }
  /// Sets the maximum size of one upload in bytes. Default: 4 GiB. An upload is streamed, so it is never in memory as a
  /// whole.
  options& upload(std::uint64_t max_bytes) {
    upload_ = max_bytes;
    return *this;
  }
  /// Sets the maximum lifetime that a client may request for a sandbox, counted from the request. A longer lifetime
  /// gets status 400, except in a `timeout` request, which shortens it. From one second to one year; default: 24 hours.
  options& max_lifetime(std::chrono::seconds lifetime) {
    if (lifetime < std::chrono::seconds(1) || lifetime > std::chrono::hours(24 * 365))
      throw error(exec_errc::invalid_argument, "e2b_gateway: the maximum lifetime must be from one second to a year");
    max_lifetime_ = lifetime;
    return *this;
  }
  /// Sets how long a sandbox is kept after the end of its lifetime, if its client wants it to be paused then, but the
  /// environment cannot be paused. Meanwhile it keeps running, and counts in `sandboxes`. A request that sets a
  /// lifetime begins a new one. From one second to one year; default: 24 hours.
  options& max_kept(std::chrono::seconds time) {
    if (time < std::chrono::seconds(1) || time > std::chrono::hours(24 * 365))
      throw error(exec_errc::invalid_argument, "e2b_gateway: the maximum kept time must be from one second to a year");
    max_kept_ = time;
    return *this;
  }
  /// Sets the interval at which a watched directory is listed if the environment cannot watch it (see
  /// `directory_watch::lists`). From 10 ms to one hour; default: 250 ms.
  options& watch_interval(std::chrono::milliseconds time) {
    if (time < std::chrono::milliseconds(10) || time > std::chrono::hours(1))
      throw error(exec_errc::invalid_argument, "e2b_gateway: the watch interval must be from 10 ms to an hour");
    watch_interval_ = time;
    return *this;
  }

  /// Sets the number of processors and the memory that clients see in the description of a sandbox. The gateway does
  /// not enforce them. Default: those of this machine.
  /// \param cpus    at least 1.
  /// \param memory  in bytes; at least 1 MiB.
  options& shown_resources(std::size_t cpus, std::uint64_t memory) {
    if (cpus == 0 || memory < std::uint64_t{1} << 20U)
      throw error(exec_errc::invalid_argument, "e2b_gateway: a sandbox has at least one processor and 1 MiB of memory");
    shown_cpus_ = cpus;
    shown_memory_ = memory;
    return *this;
  }

  /// Adds a service on a further port of every sandbox, such as `e2b_gateway::code_interpreter()` on port 49999. A
  /// request for a port without a service is passed to the server on this port in the sandbox, if the environments have
  /// a `guest_network`; otherwise it gets status 501. Requests to switch to another protocol are not passed on.
  /// \param number   1 to 65535, but not 49983, which is the port of envd (E2B's daemon in a sandbox).
  /// \param factory  makes the service for each sandbox.
  /// \throws error{exec_errc::invalid_argument} for another port or an empty factory.
  options& port(std::uint16_t number, port_factory factory) {
    if (number == 0 || number == 49983 || !factory)
      throw error(exec_errc::invalid_argument,
                  "e2b_gateway: a service needs a factory, and a port other than 0 and 49983");
    ports_[number] = std::move(factory);
    return *this;
  }

  /// Sets the provider of sandboxes that are made from a snapshot, such as
  /// `[](const std::string& name) { return any_provider(e2b::from_template(name)); }`. Without it, clients can take
  /// snapshots, if the environment supports that, but forks and sandboxes from snapshots are refused. The gateway does
  /// not delete snapshots.
  options& snapshots(snapshot_provider factory) {
    snapshots_ = std::move(factory);
    return *this;
  }

  /// Sets the limits of the HTTP server. `allowed_hosts` in it are further host names of the gateway, which checks them
  /// itself. Web pages of an `origin` in it may use the API, the files and commands of sandboxes, and the services of
  /// `port`. They may also send requests to the servers of the guest, which must let them read the replies themselves
  /// (CORS). Pages of other origins may send nothing. `on_error` gets the reasons for which sandboxes could not be
  /// opened; clients get only a class of reasons. Default: 1024 connections, 10 minutes for a client that does not
  /// read, and 640 s between two requests. E2B's clients keep an unused connection for a shorter time than that.
  options& server(http_server_settings settings) {
    server_ = std::move(settings);
    return *this;
  }

  /// Returns the keys that clients may use.
  const std::vector<std::string>& api_keys() const noexcept { return api_keys_; }
  const std::string& domain() const noexcept { return domain_; }
  const std::vector<std::string>& templates() const noexcept { return templates_; }
  const std::string& home() const noexcept { return home_; }
  const std::string& workspace() const noexcept { return workspace_; }
  /// Returns false if `without_internet` was called.
  bool has_internet() const noexcept { return has_internet_; }
  background_policy background() const noexcept { return background_; }
  std::size_t sandboxes() const noexcept { return sandboxes_; }
  std::size_t processes() const noexcept { return processes_; }
  std::size_t subscribers() const noexcept { return subscribers_; }
  std::size_t watchers() const noexcept { return watchers_; }
  std::size_t message() const noexcept { return message_; }
  std::chrono::milliseconds message_timeout() const noexcept { return message_timeout_; }
  std::size_t memory() const noexcept { return memory_ < message_ ? message_ : memory_; }
  std::uint64_t upload() const noexcept { return upload_; }
  std::chrono::seconds max_lifetime() const noexcept { return max_lifetime_; }
  std::chrono::seconds max_kept() const noexcept { return max_kept_; }
  /// Returns the number of processors that clients see; 0 for those of this machine.
  std::size_t shown_cpus() const noexcept { return shown_cpus_; }
  /// Returns the memory that clients see, in bytes; 0 for that of this machine.
  std::uint64_t shown_memory() const noexcept { return shown_memory_; }
  std::chrono::milliseconds watch_interval() const noexcept { return watch_interval_; }
  /// Returns the services of all sandboxes, by port.
  const std::map<std::uint16_t, port_factory>& ports() const noexcept { return ports_; }
  /// Returns the factory of providers for snapshots; it may be empty.
  const snapshot_provider& snapshots() const noexcept { return snapshots_; }
  const http_server_settings& server() const noexcept { return server_; }

 private:
  options& at_least_one(std::size_t& which, std::size_t value) {
    if (value == 0) throw error(exec_errc::invalid_argument, "e2b_gateway: a limit must be at least 1");
    which = value;
    return *this;
  }
  options& absolute(std::string& which, std::string path) {
    if (path.size() < 2 || path.front() != '/' || path.back() == '/' || path.find("//") != std::string::npos ||
        path.find("/.") != std::string::npos)
      throw error(exec_errc::invalid_argument,
                  "e2b_gateway: the home and the workspace must be absolute paths in "
                  "their shortest form, such as /home/user, not \"" +
                      one_line(path) + '"');
    which = std::move(path);
    return *this;
  }
  static http_server_settings usual_server() {
    return http_server_settings()
        .connections(1024)
        .write_timeout(std::chrono::minutes(10))
        .idle_timeout(std::chrono::seconds(640));
  }

  std::vector<std::string> api_keys_;
  std::string domain_ = "localhost";
  std::vector<std::string> templates_{"base", "code-interpreter-v1"};
  std::string home_ = "/home/user";
  std::string workspace_;
  bool has_internet_ = true;
  background_policy background_ = background_policy::keep;
  std::size_t sandboxes_ = 20;
  std::size_t processes_ = 256;
  std::size_t subscribers_ = 32;
  std::size_t watchers_ = 32;
  std::size_t message_ = std::size_t{4} * 1024 * 1024;
  std::chrono::milliseconds message_timeout_{60'000};
  std::size_t memory_ = std::size_t{64} * 1024 * 1024;
  std::uint64_t upload_ = std::uint64_t{4} * 1024 * 1024 * 1024;
  std::chrono::seconds max_lifetime_{24 * 3600};
  std::chrono::seconds max_kept_{24 * 3600};
  std::size_t shown_cpus_ = 0;
  std::uint64_t shown_memory_ = 0;
  std::chrono::milliseconds watch_interval_{250};
  std::map<std::uint16_t, port_factory> ports_;
  snapshot_provider snapshots_;
  http_server_settings server_ = usual_server();
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway
