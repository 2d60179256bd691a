// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes {

/// The condition under which a node pulls an image from its registry.
enum class pull_policy {
  missing,  ///< only if the node does not have the image
  always,   ///< for each pod, so that a tag means the registry's current image
  never,    ///< never: `open()` throws if the node does not have the image
};

/// The network of a pod.
enum class pod_network {
  none,     ///< a NetworkPolicy forbids all connections; `enforced_policy()` shows if the cluster enforces it
  cluster,  ///< the cluster's network, as for any other pod
};

/// The place of the workspace and of /tmp.
enum class workspace_medium {
  memory,  ///< the node's memory; the content counts against the pod's memory limit, and the size is a hard limit
  disk,    ///< the node's disk; a pod that exceeds the size is evicted, which ends the environment
};

/// The effect of the taints that a `toleration` tolerates.
enum class taint_effect { any, no_schedule, prefer_no_schedule, no_execute };

/// A property of a pod that lets it run on nodes with a taint.
class toleration {
 public:
  /// Tolerates the taints with a key, whatever their value is.
  /// \param key  such as `nvidia.com/gpu`.
  /// \throws error{exec_errc::invalid_argument} if the key is invalid.
  explicit toleration(std::string_view key);
  /// Tolerates the taints with a key and a value.
  toleration(std::string_view key, std::string_view value);

  /// Restricts the toleration to one effect. Default: `taint_effect::any`.
  toleration& effect(taint_effect which) {
    effect_ = which;
    return *this;
  }

  /// Returns the key of the taint; empty for every taint.
  const std::string& key() const noexcept { return key_; }
  /// Returns the value of the taint; empty if any value is tolerated.
  const std::string& value() const noexcept { return value_; }
  /// Returns true if only taints with the value `value()` are tolerated.
  bool has_value() const noexcept { return has_value_; }
  taint_effect effect() const noexcept { return effect_; }

 private:
  std::string key_;
  std::string value_;
  bool has_value_ = false;
  taint_effect effect_ = taint_effect::any;
};

/// The settings of a pod. Each setting has a default, and the defaults are restrictive: no network, no capabilities, a
/// user other than root, a read-only image, no access to the API server, 1 GiB of memory, one CPU. They describe a pod
/// of `from_image`. `in_pod` and `from_template` list the options that they use; `open()` refuses the others there.
///
/// A value. Setters check their arguments and can be chained: `pod_options().memory(std::uint64_t{4} <<
/// 30).runtime_class("gvisor")`. A setter throws error{exec_errc::invalid_argument} for an invalid argument.
/// \par Source  Kubernetes API, PodSpec.
class pod_options {
 public:
  pod_options() = default;

  /// Sets the kubeconfig file. Default: the files that KUBECONFIG names, else ~/.kube/config, else the service account
  /// of the pod in which this program runs.
  /// \param path  a path on this machine; `~` is not expanded.
  pod_options& kubeconfig(std::string_view path);
  /// Sets the context of the kubeconfig: cluster, user and namespace. Default: the current context.
  pod_options& context(std::string_view name);
  /// Sets the namespace of the pod. It must exist. Default: the context's namespace, or `default`.
  pod_options& in_namespace(std::string_view name);
  /// Allows a kubeconfig with `insecure-skip-tls-verify: true`. The identity of the API server is then not verified: an
  /// attacker on the network can read the credentials, all commands and all files, and can change them. Without this
  /// call, `open()` refuses such a kubeconfig. Clusters without that entry are verified in any case.
  pod_options& allow_insecure();

  /// Sets the user and the group of the commands. Default: 1000 and 1000.
  /// \param uid  not 0: commands never run as root.
  /// \param gid  also the group of the workspace.
  pod_options& user(std::uint32_t uid, std::uint32_t gid);
  /// Sets the workspace: the directory in which commands start, and to which relative paths refer. It is always a
  /// volume of its own, and empty at first. Default: /workspace.
  /// \param path  an absolute path, without `..`, that is not /, and not in /proc, /sys, /dev or /.cofferdam.
  pod_options& working_directory(std::string_view path);
  /// Sets the maximum size of the workspace. /tmp may have half of this size.
  /// \param bytes  at least 4096. Default: half of `memory()`.
  pod_options& workspace_size(std::uint64_t bytes);
  /// Sets the place of the workspace and of /tmp. Default: `workspace_medium::memory`.
  pod_options& workspace(workspace_medium where);
  /// Sets an environment variable of all commands. The API server does not store the value: it goes to each command
  /// directly.
  pod_options& variable(std::string_view name, std::string_view value);
  /// Makes the image's files writable, within their permissions and the limit `ephemeral_storage()`. Default: the image
  /// is read-only.
  pod_options& writable_root();

  /// Sets the memory of the pod: both limit and reservation.
  /// \param bytes  at least 16 MiB. Default: 1 GiB. If the pod exceeds the limit, all of its processes end, and with
  ///               them the environment.
  pod_options& memory(std::uint64_t bytes);
  /// Sets the processor time of the pod, in CPUs: both limit and reservation.
  /// \param count  from 0.01 to 65536; rounded to thousandths. Default: 1.
  pod_options& cpus(double count);
  /// Sets the limit of the node's disk space that the pod may use: both limit and reservation.
  /// \param bytes  at least 1 MiB. Default: 1 GiB.
  pod_options& ephemeral_storage(std::uint64_t bytes);
  /// Sets the number of GPUs. Default: none.
  /// \param count     1 or more.
  /// \param resource  the name of the resource that the cluster's device plugin offers.
  pod_options& gpus(unsigned count, std::string_view resource = "nvidia.com/gpu");
  /// Sets the network of the pod. Default: `pod_network::none`.
  pod_options& network(pod_network which);

  /// Sets the RuntimeClass of the pod, such as one for gVisor or Kata Containers. Default: the cluster's default.
  pod_options& runtime_class(std::string_view name);
  /// Restricts the pod to nodes with a label. May be called for several labels.
  pod_options& node_selector(std::string_view key, std::string_view value);
  /// Lets the pod run on nodes with a taint. May be called several times.
  pod_options& tolerate(toleration which);
  /// Adds a secret of the namespace that contains the login for a registry.
  pod_options& pull_secret(std::string_view name);
  /// Sets when a node pulls the image. Default: `pull_policy::missing`.
  pod_options& pull(pull_policy when);
  /// Sets a label of the pod.
  /// \param key    must not start with `cofferdam/`, the prefix of this library's own labels.
  /// \param value  at most 63 letters, digits, `-`, `_` and `.`; may be empty.
  pod_options& label(std::string_view key, std::string_view value);
  /// Sets an annotation of the pod, such as one that keeps a service mesh from adding its container.
  /// \param key    must not start with `cofferdam/`.
  /// \param value  any text.
  pod_options& annotation(std::string_view key, std::string_view value);
  /// Sets a JSON merge patch (RFC 7386) that is applied to the pod before it is created. Objects are merged, arrays are
  /// replaced as a whole. `open()` throws error{exec_errc::invalid_argument} if the patch changes the container,
  /// volumes or labels that this library needs. Walls that the patch removes are missing in `isolation()`.
  /// \param json  a JSON object, such as `{"spec": {"priorityClassName": "low"}}`; at most 64 KiB.
  pod_options& merge_patch(std::string_view json);

  /// Sets how long the pod stays when the connection to it is lost. Commands end at once; the pod then waits for this
  /// time, and ends. A new pod waits for its first session as long, so a second is too short on a busy cluster.
  /// \param time  from 1 second to 1 day. Default: 1 minute.
  pod_options& hold_time(std::chrono::milliseconds time);
  /// Sets the longest life of the pod. The cluster ends the pod after this time, even if it is in use and this program
  /// still runs.
  /// \param time  at least 1 second. Default: 24 hours.
  pod_options& longest_life(std::chrono::seconds time);
  /// Sets how long the pod may wait for a node that has room for it. In a cluster that adds nodes when they are needed,
  /// this should be some minutes.
  /// \param time  zero or more. Default: zero, so that `open()` throws as soon as the scheduler reports that no node
  ///              fits.
  pod_options& node_wait(std::chrono::seconds time);

  const std::string& kubeconfig() const noexcept { return kubeconfig_; }
  const std::string& context() const noexcept { return context_; }
  const std::string& in_namespace() const noexcept { return namespace_; }
  /// Returns true if `allow_insecure()` was called.
  bool allows_insecure() const noexcept { return allows_insecure_; }
  /// Returns the user of commands.
  std::uint32_t uid() const noexcept { return uid_; }
  /// Returns the group of commands.
  std::uint32_t gid() const noexcept { return gid_; }
  const std::string& working_directory() const noexcept { return working_directory_; }
  /// Returns true if `working_directory(path)` was called.
  bool has_working_directory() const noexcept { return has_working_directory_; }
  std::uint64_t workspace_size() const noexcept { return workspace_size_ != 0 ? workspace_size_ : memory_ / 2; }
  workspace_medium workspace() const noexcept { return workspace_; }
  /// Returns the environment variables, by name.
  const std::map<std::string, std::string>& variables() const noexcept { return variables_; }
  /// Returns true if the image's files are read-only.
  bool has_read_only_root() const noexcept { return read_only_root_; }
  std::uint64_t memory() const noexcept { return memory_; }
  /// Returns the processor time in thousandths of a CPU.
  std::uint64_t cpu_thousandths() const noexcept { return cpu_thousandths_; }
  std::uint64_t ephemeral_storage() const noexcept { return ephemeral_storage_; }
  /// Returns the number of GPUs; 0 if the pod has none.
  unsigned gpus() const noexcept { return gpus_; }
  /// Returns the name of the resource that `gpus()` counts.
  const std::string& gpu_resource() const noexcept { return gpu_resource_; }
  pod_network network() const noexcept { return network_; }
  const std::string& runtime_class() const noexcept { return runtime_class_; }
  /// Returns the labels that a node must have, by key.
  const std::map<std::string, std::string>& node_selector() const noexcept { return node_selector_; }
  /// Returns the taints of nodes that the pod tolerates, in the order in which they were added.
  const std::vector<toleration>& tolerations() const noexcept { return tolerations_; }
  /// Returns the names of the secrets with which the node pulls the image.
  const std::vector<std::string>& pull_secrets() const noexcept { return pull_secrets_; }
  pull_policy pull() const noexcept { return pull_; }
  /// Returns the labels of the pod, by key.
  const std::map<std::string, std::string>& labels() const noexcept { return labels_; }
  /// Returns the annotations of the pod, by key.
  const std::map<std::string, std::string>& annotations() const noexcept { return annotations_; }
  /// Returns the JSON merge patch; empty if there is none.
  const std::string& merge_patch() const noexcept { return merge_patch_; }
  std::chrono::milliseconds hold_time() const noexcept { return hold_time_; }
  std::chrono::seconds longest_life() const noexcept { return longest_life_; }
  std::chrono::seconds node_wait() const noexcept { return node_wait_; }

 private:
  std::string kubeconfig_;
  std::string context_;
  std::string namespace_;
  bool allows_insecure_ = false;
  std::uint32_t uid_ = 1000;
  std::uint32_t gid_ = 1000;
  std::string working_directory_ = "/workspace";
  bool has_working_directory_ = false;
  std::uint64_t workspace_size_ = 0;
  workspace_medium workspace_ = workspace_medium::memory;
  std::map<std::string, std::string> variables_;
  bool read_only_root_ = true;
  std::uint64_t memory_ = std::uint64_t{1} << 30;
  std::uint64_t cpu_thousandths_ = 1000;
  std::uint64_t ephemeral_storage_ = std::uint64_t{1} << 30;
  unsigned gpus_ = 0;
  std::string gpu_resource_;
  pod_network network_ = pod_network::none;
  std::string runtime_class_;
  std::map<std::string, std::string> node_selector_;
  std::vector<toleration> tolerations_;
  std::vector<std::string> pull_secrets_;
  pull_policy pull_ = pull_policy::missing;
  std::map<std::string, std::string> labels_;
  std::map<std::string, std::string> annotations_;
  std::string merge_patch_;
  std::chrono::milliseconds hold_time_{std::chrono::minutes(1)};
  std::chrono::seconds longest_life_{std::chrono::hours(24)};
  std::chrono::seconds node_wait_{0};
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/kubernetes/impl/pod_options.ipp>
#endif
