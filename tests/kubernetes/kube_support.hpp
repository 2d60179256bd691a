// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/cluster_choice.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_access.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/core/asio.hpp>

#include "support/require.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <cstdlib>
#include <memory>
#include <string>

namespace cofferdam_test {

/// Returns true if the tests have a cluster: that of tests/kubernetes/cluster.sh.
inline bool has_cluster() { return std::getenv("COFFERDAM_TEST_KUBECONFIG") != nullptr; }

/// Returns the path of a kubeconfig of the cluster.
/// \param user  the name of the file: "kubeconfig" for the admin, "guest.kubeconfig" for a user without any right.
inline std::string kubeconfig_of(const std::string& user) {
  const std::string admin = std::getenv("COFFERDAM_TEST_KUBECONFIG");
  return admin.substr(0, admin.rfind('/') + 1) + user;
}

/// Returns the admin's access to the cluster.
inline cofferdam::kubernetes::detail::cluster_access admin_access() {
  cofferdam::kubernetes::cluster_choice choice;
  choice.kubeconfig(kubeconfig_of("kubeconfig"));
  return cofferdam::kubernetes::detail::find_cluster(
      cofferdam::kubernetes::detail::kube_surroundings::of_this_process(), choice);
}

/// Returns the text of a kubeconfig for the admin of the cluster.
/// \param cluster  the fields of its cluster, in flow style: `server: "https://127.0.0.1:6443", ...`.
/// \param user     further fields of its user, such as `as: "guest"`.
inline std::string kubeconfig_text(const std::string& cluster, const std::string& user = {}) {
  const std::string token(admin_access().user.token.reveal());
  return "apiVersion: v1\nkind: Config\ncurrent-context: test\nclusters:\n- name: test\n  cluster: {" + cluster +
         "}\nusers:\n- name: test\n  user: {token: \"" + token + "\"" + (user.empty() ? "" : ", " + user) +
         "}\ncontexts:\n- name: test\n  context: {cluster: test, user: test}\n";
}

/// Returns the field `server` of the cluster for `kubeconfig_text`.
inline std::string server_field() { return "server: \"" + admin_access().url() + "\""; }

/// Returns the fields of a cluster whose certificate is verified, for `kubeconfig_text`.
inline std::string verified_fields() {
  return server_field() + ", tls-server-name: kubernetes, certificate-authority: \"" +
         admin_access().cluster.authority.path + "\"";
}

/// Returns a client of the API server, for the admin. The caller closes it.
inline cofferdam::awaitable<std::shared_ptr<cofferdam::kubernetes::detail::cluster_api>> open_api() {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  co_return std::make_shared<cofferdam::kubernetes::detail::cluster_api>(executor, admin_access());
}

}  // namespace cofferdam_test

/// Skips a test, with a message that is counted, if there is no cluster.
#define COFFERDAM_NEEDS_CLUSTER(unproven) COFFERDAM_NEEDS("kube", ::cofferdam_test::has_cluster(), unproven)
