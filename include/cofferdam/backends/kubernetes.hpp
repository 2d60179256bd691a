// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/detail/core/environment_handle.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes {

namespace detail {
class sandbox;
class sandbox_settings;
}  // namespace detail

/// An open pod, and the workspace in it. Models every concept that refines `code_exec_environment`, except
/// `suspendable_environment`.
///
/// The first process of a pod that this library has made is a small helper program of this library. When the connection
/// to the pod is lost, or the host program dies, that process ends everything else in the pod, and the pod itself after
/// its hold time (`pod_options::hold_time`). If the network fails without a notice, commands end after 5 minutes at the
/// latest, and the pod ends after its hold time then. A lost connection is never made again, and no command is
/// repeated.
///
/// The environment may be moved while no operation is under way. If it is destroyed without `close()`, its commands end
/// at once, and the pod ends after its hold time. A pod from `from_template` then stays for some minutes, and one from
/// `in_pod` continues.
/// \par Threads  may be used from several threads, under the rules that `local_environment` documents.
class environment {
 public:
  /// Makes an object without an environment. Its operations throw error{exec_errc::environment_closed}.
  environment();
  explicit environment(std::shared_ptr<detail::sandbox> inside);
  environment(environment&&) noexcept;
  environment& operator=(environment&&) noexcept;
  ~environment();

  /// Runs a command to its end. Every outcome of the command is a result, including a time limit. A command is never
  /// started twice.
  /// \throws error{exec_errc::environment_closed}; error{exec_errc::outside_workspace, not_found, not_a_directory} if
  ///     the command's working directory is not a directory of the workspace; error{exec_errc::provider_lost}, with the
  ///     output so far in `partial()`, if the pod or the connection is lost. The text has the cluster's reason, such as
  ///     exceeded memory or a lost node.
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
  ///     error{exec_errc::outside_workspace}; error{exec_errc::environment_closed}; error{exec_errc::provider_lost}.
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes);
  /// Writes a file of the workspace, and makes missing folders. The file is written whole or not at all.
  /// \param path     relative to the workspace.
  /// \param content  the caller keeps these bytes until the awaitable completes.
  /// \throws error{exec_errc::outside_workspace}; error{exec_errc::environment_closed};
  ///     error{exec_errc::provider_lost}.
  awaitable<void> write_file(std::string path, bytes_view content);
  /// Writes a file from temporary bytes, which the awaitable takes over. The awaitable can therefore be stored and
  /// awaited later.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_file(std::string path, Bytes&& content) {
    return cofferdam::write_bytes(*this, std::move(path), std::move(content));
  }
  /// Returns the file operations of the workspace: list, stat, remove, and transfers of whole directory trees.
  file_system files();
  /// Returns the loopback network of the pod, with which this program can reach servers that run there.
  guest_network network();

  /// Returns the ended commands that had `background_policy::keep` and have left processes running. The oldest command
  /// is first.
  std::vector<background_command> background() const;
  /// Ends the processes that a command has left running (see `background()`), and waits for their end. The processes
  /// get SIGTERM, and SIGKILL after the grace period (`provider::kill_grace`). This function cannot be cancelled.
  /// \param number  `background_command::number()`.
  /// \throws error{exec_errc::not_found} if no process of the command is left; error{exec_errc::environment_closed}.
  awaitable<void> end_background(std::uint32_t number);

  /// Returns the name of the pod.
  const std::string& pod_name() const;
  /// Returns the namespace of the pod.
  const std::string& pod_namespace() const;

  /// Returns true if the pod or the connection to it is known to be lost, so that every command would fail. Also
  /// returns true after `close()`, and for an object without an environment. Sends nothing to the cluster. Any thread
  /// may call this function.
  bool is_lost() const noexcept;

  /// Ends all commands and deletes the pod; a pod from `in_pod` is not deleted. For a pod from `from_template`, deletes
  /// the claim, and the cluster then deletes the sandbox and its pod. Commands that are still running fail with
  /// error{exec_errc::environment_closed}. This function cannot be cancelled, and a second call waits for the first.
  ///
  /// If the connection to the API server breaks, or the server is busy, the request is repeated; it is sent at most
  /// three times.
  /// \throws error{exec_errc::provider_failed} if the API server cannot be reached any more;
  ///     error{exec_errc::unavailable} if it stays busy. The pod then ends after its hold time, or after its longest
  ///     life if it is from `from_template`.
  awaitable<void> close();

 private:
  cofferdam::detail::environment_handle<detail::sandbox> handle_;
};

/// A recipe for environments in pods of a Kubernetes cluster: `kubernetes::from_image("python:3.12-slim")`. Each
/// `open()` makes a new pod, except for recipes of `in_pod` and `from_template`.
///
/// The defaults of `from_image` are restrictive: no network, no capabilities, no new privileges, a read-only image, no
/// token for the API server, 1 GiB of memory and one CPU. Commands run as a user other than root. `pod_options` changes
/// these settings. Before any command runs, the library compares the pod that the API server has admitted with the
/// requested one. Every result reports the walls in `isolation()`. The wall around the network is a NetworkPolicy,
/// which has no effect in clusters without a network plugin that enforces it. `isolation()` does not report this wall
/// until `network().enforced_policy()` has shown it, as `allow_hosts` does in `open()`. The number of processes has no
/// limit of this library: the cluster's kubelets set one (`podPidsLimit`), or none.
///
/// These defaults do not apply to `in_pod` and `from_template`: there, others have made the pod, and commands have the
/// user of the container, who may be root.
///
/// The user of the kubeconfig needs these rights in the namespace: pods (create, get, watch, delete), pods/exec (get,
/// create), configmaps (get, create), and networkpolicies (get, create). `allow_hosts` and `enforced_policy()` need the
/// right to list networkpolicies, and make a second pod for some seconds. The right to list nodes is used to choose the
/// architecture, and the right to list pods to delete pods that dead programs have left.
///
/// Without the right to create ConfigMaps, the helper program comes by an exec instead. The image then needs a shell
/// (`sh`) and the usual small programs (`sleep`, `mkdir`, `head`, `wc`, `chmod`, `uname`), and /.cofferdam is a small
/// volume in which commands may write. The walls and the end of the pod stay the same: its first process waits for the
/// helper program for at most the hold time, and becomes it.
///
/// `open()` creates two objects that stay: a ConfigMap with the helper program, and a NetworkPolicy that selects only
/// pods of this library. To spare the API server, one program creates at most 20 pods or claims at once in a cluster,
/// and 10 per second after that; `open()` waits for its turn.
///
/// Commands get the environment variables of the image and of the options, and PATH, HOME (the workspace), LANG, TERM
/// and TMPDIR.
///
/// If the commands exceed the memory of the pod, the kernel may end all of them, and with them the environment, unlike
/// in a container of Docker. Operations then fail with error{exec_errc::provider_lost}, whose `cause()` is
/// `std::errc::not_enough_memory` if the cluster reports it within three seconds; `partial()` has the output of each
/// command so far.
///
/// A provider is a value: it holds no connection and can be copied. Its setters can be chained.
class provider {
 public:
  explicit provider(std::shared_ptr<const detail::sandbox_settings> settings) : settings_(std::move(settings)) {}

  /// Sets the settings of the pod, such as its cluster, namespace, user and limits.
  provider& options(pod_options new_options);
  /// Sets the shell that runs commands given as a shell line.
  /// \param path  absolute path in the container. The shell must accept `-c -- LINE`. Default: bash, or /bin/sh if the
  ///              container has no bash.
  /// \throws error{exec_errc::invalid_argument}.
  provider& shell(std::string path);
  /// Sets the time limit for the start of the pod, the download of its image included.
  /// \param limit  more than zero. Default: 5 minutes.
  provider& open_timeout(std::chrono::milliseconds limit);
  /// Sets the time limit of commands that have no timeout of their own.
  /// \param limit  more than zero, or `no_timeout` for no limit. Default: 5 minutes.
  provider& default_timeout(std::chrono::milliseconds limit);
  /// Sets the grace period: the time from SIGTERM to SIGKILL when processes are ended.
  /// \param time  zero or more. Default: 500 ms.
  provider& kill_grace(std::chrono::milliseconds time);
  /// Sets how long processes that a command leaves behind may continue to write output after the command has ended.
  /// \param time  zero or more. Default: 100 ms.
  provider& output_grace(std::chrono::milliseconds time);

  /// Makes or adopts a pod, and returns an environment in it. Follows a new pod by a watch, and throws as soon as the
  /// cluster reports a failure.
  /// \throws error{exec_errc::invalid_argument} for an invalid kubeconfig or merge patch, or an option without effect;
  ///     error{exec_errc::not_found, permission_denied} if the image cannot be had; error{exec_errc::not_found} if the
  ///     namespace does not exist; error{exec_errc::permission_denied} if the login is invalid or expired, if a right
  ///     is missing (for ConfigMaps: if the image has no shell, too), or if a policy of the cluster forbids the pod;
  ///     error{exec_errc::provider_failed} if the cluster cannot be reached, if no node fits, if a quota is used up, or
  ///     if the admitted pod differs from the requested one; error{exec_errc::cancelled}. After an exception, a new
  ///     pod or claim is deleted; if that fails, it ends as after `close()`.
  /// \par Cancellation  terminal: deletes a new pod or claim, then throws error{exec_errc::cancelled}.
  awaitable<environment> open() const;

 private:
  static awaitable<environment> open_with(std::shared_ptr<const detail::sandbox_settings> settings);

  template <class Change>
  provider& with(Change change);

  std::shared_ptr<const detail::sandbox_settings> settings_;
};

/// Returns a provider that runs commands in new pods of an image, with the restrictive defaults of `pod_options`.
/// \param name  an image name as for a pod, such as `python:3.12-slim`.
/// \throws error{exec_errc::invalid_argument} if the name is empty, or has blanks or NUL bytes.
provider from_image(std::string_view name);

/// Returns a provider that runs commands in an existing, running pod. The pod is called adopted: it is never deleted or
/// changed. `close()` ends the processes of the commands, and the pod continues. Several environments may be open in
/// one pod.
///
/// By an exec, each environment copies a warden (the helper program that starts the commands) into a private folder in
/// /tmp, or in another folder that allows writing and executing; the folder is removed soon after `close()`. The
/// container needs a shell (`sh`) and the usual small programs (`mkdir`, `rm`, `head`, `wc`). Commands have the user of
/// the container, who may be root, and **all its environment variables**, also those that come from Secrets.
///
/// Only these options have an effect: `kubeconfig`, `context`, `in_namespace`, `allow_insecure`, the environment
/// variables, and `working_directory` (made if it is missing, never emptied; default: a new folder, removed soon after
/// `close()`). `open` refuses every other option whose value differs from the default. `open_timeout` limits the time
/// until the shell has taken the warden.
///
/// The isolation of the pod itself is unknown, so `isolation()` reports only the guarantees that this library adds. A
/// process of the same user can kill the warden; on Linux 6.12 and newer, Landlock prevents this for the commands of
/// this library. If the warden is killed, operations fail with error{exec_errc::provider_lost}, and running processes
/// may continue, because the first process of the pod does not belong to this library. If this program dies, the
/// warden ends all commands. The user of the kubeconfig needs these rights: pods (get) and pods/exec (get, create).
/// \param name       the name of the pod.
/// \param container  the name of a container of the pod; empty for the one that kubectl would use, which is mostly the
///                   first.
/// \throws error{exec_errc::invalid_argument} if a name is invalid. `open` throws error{exec_errc::not_found} if the
///     pod does not exist; error{exec_errc::invalid_argument} if it has no such container, or if an option has no
///     effect;
///     error{exec_errc::provider_failed} if it does not run, has no shell, or does not answer in time;
///     error{exec_errc::unsupported} if it has no folder that allows both writing and executing.
provider in_pod(std::string_view name, std::string_view container = {});

/// Returns a provider that runs commands in sandboxes of agent-sandbox (kubernetes-sigs/agent-sandbox, version 0.5 or
/// newer). A SandboxTemplate of the namespace describes the sandboxes. Each `open()` makes a SandboxClaim, and waits
/// until the pod of the sandbox is ready. `close()` deletes the claim, and the cluster then deletes the sandbox and its
/// pod. This also happens after a failed or cancelled `open()`.
///
/// A claim takes its sandbox from a SandboxWarmPool of the template: one that is already running, or a new one. If the
/// template has several pools, the one with the most ready sandboxes is used. If it has none, `open()` creates the pool
/// `cofferdam-NAME` without replicas, which stays, and costs nothing.
///
/// By an exec, a warden is brought into the pod as for `in_pod`. The same conditions apply: the container needs a shell
/// and a folder that allows writing and executing, and commands have the user of the container, who may be root, and
/// all its environment variables. The container is the one that kubectl would use.
///
/// Only these options have an effect: `kubeconfig`, `context`, `in_namespace`, `allow_insecure`, the environment
/// variables, `working_directory`, `node_wait`, `label` and `annotation` (of the claim, not of the pod), `hold_time`,
/// and `longest_life`. `open` refuses every other option whose value differs from the default. A variable goes to each
/// command directly, and not into the claim. `open_timeout` limits the time until the pod runs and its shell has taken
/// the warden.
///
/// The isolation of the pod is that of the template, which this library does not know, so `isolation()` reports only
/// the guarantees that this library adds.
///
/// If this program dies, or an environment is destroyed without `close()`, the warden ends all commands, and the
/// controller of agent-sandbox deletes the claim and the pod after `hold_time()`, and at least 3 minutes. For this, the
/// claim has a shutdown time that is near, and is moved on three times in each such period. If the user may not change
/// claims, or in any case when `longest_life()` is over (default: 24 hours, from the creation of the claim), the
/// controller deletes the claim then, even if it is in use. `kubectl delete sandboxclaims -l cofferdam/sandbox=1`
/// deletes all claims of this library in a namespace. A claim whose pod has ended is deleted after one minute.
///
/// When the controller deletes a claim, commands continue for the grace period of the pod, which is 30 seconds unless
/// the template sets `terminationGracePeriodSeconds`. One second is a good value for it.
///
/// The user of the kubeconfig needs these rights: sandboxclaims of extensions.agents.x-k8s.io (create, get, watch,
/// delete; patch for the short life after a death), sandboxtemplates (get) and sandboxwarmpools (list) of the same
/// group, sandboxes of agents.x-k8s.io (get), pods (get, watch), and pods/exec (get, create). If the template has no
/// pool: sandboxwarmpools (get, create).
/// \param name  the name of the SandboxTemplate.
/// \throws error{exec_errc::invalid_argument} if the name is invalid. `open` throws error{exec_errc::unsupported} if
///     agent-sandbox is not installed; error{exec_errc::not_found} if the template or an image does not exist;
///     error{exec_errc::permission_denied} if a right is missing or a policy of the cluster forbids the pod;
///     error{exec_errc::invalid_argument} if the controller or the API server rejects the template, or if an option
///     has no effect;
///     error{exec_errc::provider_failed} if a quota is used up, if no node fits, if a container cannot run, or if the
///     pod is not ready in time; and the errors of `in_pod` for a pod without a shell or without a folder.
/// \par Source  sigs.k8s.io/agent-sandbox v0.5.6, extensions.agents.x-k8s.io/v1beta1.
provider from_template(std::string_view name);

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/impl/kubernetes.ipp>
#endif
