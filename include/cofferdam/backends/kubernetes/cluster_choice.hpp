// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes {

/// The choice of a Kubernetes cluster. A default-constructed object chooses the cluster that kubectl would use: the
/// current context of the files in KUBECONFIG, or of ~/.kube/config. If there is no such file and the program runs in a
/// pod, the choice is the pod's own cluster.
class cluster_choice {
 public:
  cluster_choice() = default;

  /// Reads this kubeconfig file only, instead of those of KUBECONFIG.
  /// \param path  an absolute path, or a path relative to the working directory; the file must exist. `~` is not
  ///              expanded.
  cluster_choice& kubeconfig(std::string path) {
    kubeconfig_ = std::move(path);
    return *this;
  }
  /// Uses this context instead of the current one.
  /// \param name  the name of the context, as shown by `kubectl config get-contexts`.
  cluster_choice& context(std::string name) {
    context_ = std::move(name);
    return *this;
  }
  /// Uses this namespace instead of the context's.
  cluster_choice& namespace_name(std::string name) {
    namespace_ = std::move(name);
    return *this;
  }
  /// Allows a kubeconfig with `insecure-skip-tls-verify: true`. Without this call such a cluster is refused, because an
  /// attacker on the network could read and change everything, the credentials included. Clusters whose kubeconfig does
  /// not have the entry are verified in any case.
  cluster_choice& allow_insecure() {
    allows_insecure_ = true;
    return *this;
  }

  /// Returns the path of the kubeconfig file; empty if none was chosen.
  const std::string& kubeconfig() const noexcept { return kubeconfig_; }
  /// Returns the name of the context; empty if none was chosen.
  const std::string& context() const noexcept { return context_; }
  /// Returns the name of the namespace; empty if none was chosen.
  const std::string& namespace_name() const noexcept { return namespace_; }
  /// Returns true if `allow_insecure` was called.
  bool allows_insecure() const noexcept { return allows_insecure_; }

 private:
  std::string kubeconfig_;
  std::string context_;
  std::string namespace_;
  bool allows_insecure_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes
