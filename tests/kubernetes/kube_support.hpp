// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/cluster_choice.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_access.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>

#include "support/error_of.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

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
/// \param space  the namespace; empty for the default one.
inline cofferdam::awaitable<std::shared_ptr<cofferdam::kubernetes::detail::cluster_api>> open_api(
    std::string space = {}) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  cofferdam::kubernetes::detail::cluster_access access = admin_access();
  if (!space.empty()) access.namespace_name = space;
  co_return std::make_shared<cofferdam::kubernetes::detail::cluster_api>(executor, std::move(access));
}

/// Returns the error of `open()`. Fails the test if there is none.
inline cofferdam::error failure_of(const cofferdam::kubernetes::provider& provider) {
  const auto opens = [&provider] {
    run([&]() -> cofferdam::awaitable<void> {
      cofferdam::kubernetes::environment env = co_await provider.open();
      co_await env.close();
    });
  };
  return error_of(opens).value_or(cofferdam::error(cofferdam::exec_errc::io_error, "no error"));
}

/// A namespace for one test. The destructor removes it with its objects.
class scratch_namespace {
 public:
  scratch_namespace() {
    static int count = 0;
    name_ = "scratch-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
    run([&]() -> cofferdam::awaitable<void> {
      const auto api = co_await open_api();
      const std::string body = R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ")" + name_ + R"("}})";
      co_await api->ask("POST", "/api/v1/namespaces", body, "create a namespace", std::vector<int>());
      co_await api->close();
    });
  }
  scratch_namespace(const scratch_namespace&) = delete;
  scratch_namespace& operator=(const scratch_namespace&) = delete;
  ~scratch_namespace() {
    try {
      run([&]() -> cofferdam::awaitable<void> { co_await remove(); });
    } catch (const std::exception& failure) {
      ADD_FAILURE() << "the namespace " << name_ << " is left: " << failure.what();
    }
  }

  const std::string& name() const noexcept { return name_; }

 private:
  cofferdam::awaitable<void> remove() {
    const auto api = co_await open_api(name_);
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
    for (const std::string& path : {api->path("pods") + "?gracePeriodSeconds=0", api->path("configmaps"),
                                    api->path("networkpolicies", "/apis/networking.k8s.io/v1"),
                                    api->path("rolebindings", rbac), api->path("roles", rbac)})
      co_await api->ask("DELETE", path, std::string(), "empty a namespace", std::vector<int>());
    const std::string own = "/api/v1/namespaces/" + name_;
    co_await api->ask("DELETE", own, std::string(), "delete a namespace", std::vector<int>());
    // The test cluster has no controller that finishes the deletion.
    const std::string body = R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ")" + name_ +
                             R"("}, "spec": {"finalizers": []}})";
    co_await api->ask("PUT", own + "/finalize", body, "finish the deletion of a namespace", std::vector<int>());
    co_await api->close();
  }

  std::string name_;
};

}  // namespace cofferdam_test

/// Skips a test, with a message that is counted, if there is no cluster.
#define COFFERDAM_NEEDS_CLUSTER(unproven) COFFERDAM_NEEDS("kube", ::cofferdam_test::has_cluster(), unproven)
