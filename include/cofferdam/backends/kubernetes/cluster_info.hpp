// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/cluster_choice.hpp>
#include <cofferdam/core/asio.hpp>

#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes {

/// A cluster, as `examine_cluster` has found it.
class cluster_info {
 public:
  cluster_info() = default;
  /// Combines the properties of a cluster.
  cluster_info(std::string context, std::string server, std::string namespace_name, std::string version)
      : context_(std::move(context)),
        server_(std::move(server)),
        namespace_(std::move(namespace_name)),
        version_(std::move(version)) {}

  /// Returns the name of the context; "in-cluster" for the cluster of the pod in which this program runs.
  const std::string& context() const noexcept { return context_; }
  /// Returns the URL of the API server.
  const std::string& server() const noexcept { return server_; }
  /// Returns the name of the namespace in which environments are created.
  const std::string& namespace_name() const noexcept { return namespace_; }
  /// Returns the version of the API server, such as "v1.34.4". Chosen by the server, without control characters.
  const std::string& version() const noexcept { return version_; }

 private:
  std::string context_;
  std::string server_;
  std::string namespace_;
  std::string version_;
};

/// Finds a cluster, connects to its API server with the credentials of the kubeconfig, and returns its version.
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
