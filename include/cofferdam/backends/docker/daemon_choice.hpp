// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::docker {

/// The choice of a Docker daemon. A default-constructed object chooses the daemon that the docker command would use.
class daemon_choice {
 public:
  daemon_choice() = default;

  /// Selects the daemon at an address. DOCKER_HOST and contexts are then ignored.
  /// \param text  an address in the form of DOCKER_HOST: `unix:///run/docker.sock`, `tcp://host:2376`,
  ///              `ssh://user@host`.
  daemon_choice& address(std::string text) {
    address_ = std::move(text);
    return *this;
  }

  /// Selects the daemon of a docker context.
  /// \param name  the name of the context, as shown by `docker context ls`.
  daemon_choice& context(std::string name) {
    context_ = std::move(name);
    return *this;
  }

  /// Uses TLS with the files `ca.pem`, `cert.pem` and `key.pem` of a folder of this machine.
  daemon_choice& tls_folder(std::string path) {
    tls_folder_ = std::move(path);
    return *this;
  }

  /// Uses TLS without verifying the daemon's identity.
  daemon_choice& without_verification() {
    verifies_ = false;
    return *this;
  }

  const std::string& address() const noexcept { return address_; }
  const std::string& context() const noexcept { return context_; }
  const std::string& tls_folder() const noexcept { return tls_folder_; }
  /// Returns true if the daemon's identity is verified when TLS is used.
  bool verifies() const noexcept { return verifies_; }

 private:
  std::string address_;
  std::string context_;
  std::string tls_folder_;
  bool verifies_ = true;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker
