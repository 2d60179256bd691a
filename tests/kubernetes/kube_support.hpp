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

/// Returns a client of the API server, for the admin. The caller closes it.
inline cofferdam::awaitable<std::shared_ptr<cofferdam::kubernetes::detail::cluster_api>> open_api() {
  using namespace cofferdam::kubernetes;
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  cluster_choice choice;
  choice.kubeconfig(kubeconfig_of("kubeconfig"));
  co_return std::make_shared<detail::cluster_api>(
      executor, detail::find_cluster(detail::kube_surroundings::of_this_process(), choice));
}

}  // namespace cofferdam_test

/// Skips a test, with a message that is counted, if there is no cluster.
#define COFFERDAM_NEEDS_CLUSTER(unproven) COFFERDAM_NEEDS("kube", ::cofferdam_test::has_cluster(), unproven)
