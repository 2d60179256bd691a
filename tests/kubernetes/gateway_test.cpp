// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// E2B's official SDKs against the gateway over pods of a real cluster: an E2B service on a cluster of one's own.

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>

#include "kubernetes/kube_support.hpp"
#include "serve/sdk_support.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace {

using namespace cofferdam;
using cofferdam_test::run_sdk_script;
using cofferdam_test::sdk_peers;
using cofferdam_test::sdk_script;

class KubernetesGateway : public ::testing::Test {
 protected:
  void SetUp() override {
    COFFERDAM_NEEDS_CLUSTER("what E2B's own SDKs say to the gateway over pods");
    COFFERDAM_NEEDS("e2b-peers", !sdk_peers().empty(), "what E2B's own SDKs say to the gateway over pods");
  }

  /// Returns the place that clients expect: their home is the workspace, for files and for commands.
  static any_provider pods() {
    kubernetes::pod_options options;
    options.kubeconfig(cofferdam_test::kubeconfig_of("kubeconfig")).pull(kubernetes::pull_policy::never);
    options.cpus(0.2).memory(std::uint64_t{256} << 20U).working_directory("/home/user");
    return any_provider(kubernetes::from_image("cofferdam-test/debian:1").options(std::move(options)));
  }
};

TEST_F(KubernetesGateway, the_official_javascript_sdk_is_served) {
  run_sdk_script("env COFFERDAM_GATEWAY_WALLS=1 '" + sdk_peers() + "/node' '" + sdk_script("sdk_test.mjs") + "' '" +
                     sdk_peers() + "/js'",
                 38, e2b_gateway::options(), pods());
}

TEST_F(KubernetesGateway, the_official_javascript_sdk_of_the_code_interpreter_is_served) {
  run_sdk_script(
      "'" + sdk_peers() + "/node' '" + sdk_script("interpreter_test.mjs") + "' '" + sdk_peers() + "/js'", 19,
      e2b_gateway::options().port(e2b_gateway::code_interpreter::usual_port, e2b_gateway::code_interpreter()), pods());
}

TEST_F(KubernetesGateway, the_official_python_sdk_is_served) {
  run_sdk_script(
      "env COFFERDAM_GATEWAY_WALLS=1 '" + sdk_peers() + "/python/bin/python' '" + sdk_script("sdk_test.py") + "'", 23,
      e2b_gateway::options(), pods());
}

}  // namespace
