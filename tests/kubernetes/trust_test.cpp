// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The verification of a real API server's certificate.

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/cluster_choice.hpp>
#include <cofferdam/backends/kubernetes/cluster_info.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/with.hpp>

#include "kubernetes/kube_support.hpp"
#include "net/certificates.hpp"
#include "support/error_of.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace {

using namespace cofferdam;
using cofferdam::kubernetes::cluster_choice;
using cofferdam::kubernetes::cluster_info;
using cofferdam::kubernetes::examine_cluster;
using cofferdam_test::failure_of;
using cofferdam_test::kubeconfig_text;
using cofferdam_test::run;
using cofferdam_test::server_field;

class KubernetesTrust : public ::testing::Test {
 protected:
  void SetUp() override { COFFERDAM_NEEDS_CLUSTER("that the certificate of a real API server is verified"); }

  std::string unverified() const {
    return folder_.write("unverified", kubeconfig_text(server_field() + ", insecure-skip-tls-verify: true")).string();
  }

  static kubernetes::provider pods(const std::string& kubeconfig, bool is_insecure) {
    kubernetes::pod_options options;
    options.kubeconfig(kubeconfig).pull(kubernetes::pull_policy::never);
    options.cpus(0.05).memory(std::uint64_t{64} << 20U);
    if (is_insecure) options.allow_insecure();
    return kubernetes::from_image("cofferdam-test/busybox:1").options(options);
  }

  cofferdam_test::temporary_folder folder_;
};

TEST_F(KubernetesTrust, an_unverified_server_is_refused_unless_the_caller_allows_it) {
  const std::string file = unverified();
  const error refused = failure_of(pods(file, false));
  EXPECT_EQ(refused.code(), exec_errc::invalid_argument) << refused.what();
  EXPECT_NE(std::string(refused.what()).find("allow_insecure()"), std::string::npos) << refused.what();
  const auto examines = [&] { run([&] { return examine_cluster(cluster_choice().kubeconfig(file)); }); };
  EXPECT_EQ(cofferdam_test::code_of(examines), exec_errc::invalid_argument);

  const cluster_info info = run([&] { return examine_cluster(cluster_choice().kubeconfig(file).allow_insecure()); });
  EXPECT_TRUE(info.version().starts_with("v1.")) << info.version();
  run([&]() -> awaitable<void> {
    co_await with(pods(file, true), [](kubernetes::environment& env) -> awaitable<void> {
      const command_result result = co_await env.run_command("echo here");
      EXPECT_EQ(result.out().text(), "here\n");
    });
  });
}

TEST_F(KubernetesTrust, permission_to_be_insecure_leaves_other_clusters_verified) {
  const cofferdam_test::certificate stranger("");
  const std::string authority = folder_.write("stranger.pem", stranger.pem()).string();
  const std::string wrong =
      folder_.write("wrong", kubeconfig_text(server_field() + ", certificate-authority: \"" + authority + "\""))
          .string();
  const std::string none = folder_.write("none", kubeconfig_text(server_field())).string();
  for (const std::string& file : {wrong, none})
    for (const bool is_insecure : {false, true}) {
      const error failure = failure_of(pods(file, is_insecure));
      EXPECT_EQ(failure.code(), exec_errc::provider_failed) << failure.what();
      EXPECT_NE(std::string(failure.what()).find("set certificate-authority of the cluster"), std::string::npos)
          << failure.what();
    }
}

}  // namespace
