// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include "support/require.hpp"

#include <cstdlib>
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

}  // namespace cofferdam_test

/// Skips a test, with a message that is counted, if there is no cluster.
#define COFFERDAM_NEEDS_CLUSTER(unproven) COFFERDAM_NEEDS("kube", ::cofferdam_test::has_cluster(), unproven)
