// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/cluster_choice.hpp>
#include <cofferdam/core/asio.hpp>

#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes {

/// A right that this library uses in a cluster: a verb on a kind of objects.
class cluster_right {
 public:
  /// Combines the properties of a right.
  cluster_right(std::string group, std::string resource, std::string verb, bool needed, bool allowed)
      : group_(std::move(group)),
        resource_(std::move(resource)),
        verb_(std::move(verb)),
        needed_(needed),
        allowed_(allowed) {}

  /// Returns the API group, such as "networking.k8s.io"; empty for the core group.
  const std::string& group() const noexcept { return group_; }
  /// Returns the kind of objects, such as "pods" or "pods/exec".
  const std::string& resource() const noexcept { return resource_; }
  /// Returns the verb, such as "create".
  const std::string& verb() const noexcept { return verb_; }
  /// Returns true if pods of `from_image` with the default options cannot be opened without this right.
  bool is_needed() const noexcept { return needed_; }
  /// Returns true if the cluster allows it to the user of the kubeconfig.
  bool is_allowed() const noexcept { return allowed_; }

 private:
  std::string group_;
  std::string resource_;
  std::string verb_;
  bool needed_;
  bool allowed_;
};

/// A cluster, as `examine_cluster` has found it.
class cluster_info {
 public:
  cluster_info() = default;
  /// Combines the properties of a cluster.
  cluster_info(std::string context, std::string server, std::string namespace_name, std::string version,
               std::vector<cluster_right> rights)
      : context_(std::move(context)),
        server_(std::move(server)),
        namespace_(std::move(namespace_name)),
        version_(std::move(version)),
        rights_(std::move(rights)) {}

  /// Returns the name of the context; "in-cluster" for the cluster of the pod in which this program runs.
  const std::string& context() const noexcept { return context_; }
  /// Returns the URL of the API server.
  const std::string& server() const noexcept { return server_; }
  /// Returns the name of the namespace in which environments are created.
  const std::string& namespace_name() const noexcept { return namespace_; }
  /// Returns the version of the API server, such as "v1.34.4". Chosen by the server, without control characters.
  const std::string& version() const noexcept { return version_; }
  /// Returns the rights that this library uses in the namespace, each with the answer of the cluster. Empty if the
  /// cluster does not tell.
  const std::vector<cluster_right>& rights() const noexcept { return rights_; }
  /// Returns a Role that gives all rights of `rights()` in the namespace, as YAML for `kubectl apply -f -`.
  std::string role() const;

 private:
  std::string context_;
  std::string server_;
  std::string namespace_;
  std::string version_;
  std::vector<cluster_right> rights_;
};

/// Finds a cluster, connects to its API server with the credentials of the kubeconfig, and returns its version and the
/// rights of the user, by one SelfSubjectAccessReview each.
///
/// Understood in a kubeconfig: client certificates, tokens, token files, user names, exec plugins (v1 and v1beta1),
/// `tls-server-name`, `proxy-url` (http:// only), and `as`. The file may be YAML without anchors, tags and several
/// documents, or JSON.
/// \throws  error{exec_errc::invalid_argument} for an invalid kubeconfig, with the file and the line;
///          error{exec_errc::provider_failed} if there is no cluster, if credentials cannot be obtained, or if the
///          server refuses them; error{exec_errc::io_error} if the server cannot be reached.
/// \par Cancellation  terminal: closes the connection and ends an exec plugin; throws error{exec_errc::cancelled}.
awaitable<cluster_info> examine_cluster(cluster_choice choice = cluster_choice());

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/kubernetes/impl/cluster_info.ipp>
#endif
