// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Pools of pods of a real cluster.

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/pool.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/timeout.hpp>

#include "kubernetes/kube_support.hpp"
#include "support/census.hpp"
#include "support/pause.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam::kubernetes::detail::cluster_api;
using cofferdam_test::open_api;
using cofferdam_test::pause_for;
using cofferdam_test::run;

class KubernetesPool : public ::testing::Test {
 protected:
  void SetUp() override { COFFERDAM_NEEDS_CLUSTER("that pools of pods hand each pod out once"); }

  static std::string mark() { return std::to_string(::getpid()); }

  static kubernetes::provider pods() {
    kubernetes::pod_options options;
    options.kubeconfig(cofferdam_test::kubeconfig_of("kubeconfig")).pull(kubernetes::pull_policy::never);
    options.cpus(0.05).memory(std::uint64_t{64} << 20U).label("pool-test", mark());
    return kubernetes::from_image("cofferdam-test/busybox:1").options(std::move(options));
  }

  /// Returns true if no process of these pods is left. The control groups of its processes have the pod's id.
  static bool have_ended(const std::vector<std::string>& ids) {
    for (const cofferdam_test::process_entry& each : cofferdam_test::process_table()) {
      const std::string groups = cofferdam_test::read_proc("/proc/" + std::to_string(each.pid) + "/cgroup");
      for (const std::string& id : ids)
        if (groups.find(id) != std::string::npos) return false;
    }
    return true;
  }

  /// Returns a field of the metadata of the pods of this program that exist, such as "name".
  static awaitable<std::vector<std::string>> of_pods(std::string field) {
    const std::shared_ptr<cluster_api> api = co_await open_api();
    const std::optional<boost::json::object> list =
        co_await api->find(api->path("pods") + "?labelSelector=pool-test%3D" + mark(), "list the pods of the test");
    co_await api->close();
    std::vector<std::string> found;
    for (const boost::json::value& pod : list->at("items").as_array())
      found.emplace_back(pod.at("metadata").at(field).as_string());
    co_return found;
  }

  static void expect_no_pods() {
    std::size_t left = 0;
    run([&]() -> awaitable<void> {
      for (int i = 0; i < 200; ++i) {
        const std::vector<std::string> found = co_await of_pods("name");
        left = found.size();
        if (left == 0) co_return;
        co_await pause_for(100ms);
      }
    });
    EXPECT_EQ(left, 0U);
  }
};

TEST_F(KubernetesPool, each_pod_is_handed_out_once_and_none_is_left) {
  const std::size_t rounds = cofferdam_test::is_soak() ? 500 : 3;  // two pods each
  std::set<std::string> seen;
  std::vector<std::chrono::nanoseconds> took;  // the hand-outs of a pod that was ready
  run(
      [&]() -> awaitable<void> {
        co_await with(pool(pods(), 4), [&](auto& pool) -> awaitable<void> {
          for (std::size_t i = 0; i < rounds; ++i) {
            co_await with(pool.provider() | timeout(60s), [&](auto& env) -> awaitable<void> {
              command_result result = co_await env.run_command("ls -A . /tmp; touch used /tmp/used");
              EXPECT_TRUE(result.ok()) << result.reason();
              EXPECT_EQ(result.out_text().find("used"), std::string::npos) << result.out_text();
            });
            for (int k = 0; k < 60'000 && pool.counts().idle() == 0; ++k) co_await pause_for(1ms);
            const auto begin = std::chrono::steady_clock::now();
            kubernetes::environment env = co_await pool.provider().open();
            took.push_back(std::chrono::steady_clock::now() - begin);
            EXPECT_TRUE(seen.insert(env.pod_name()).second) << env.pod_name();
            co_await env.close();
          }
          EXPECT_EQ(pool.counts().handed_out(), 2 * rounds);
          EXPECT_EQ(pool.counts().failed(), 0U);
          EXPECT_EQ(pool.counts().discarded(), 0U);
        });
      },
      3000s);
  EXPECT_EQ(seen.size(), rounds);
  std::sort(took.begin(), took.end());
  std::cout << 2 * rounds << " hand-outs; p50 of those of a ready pod: " << took[took.size() / 2].count() / 1000
            << " us\n";
  expect_no_pods();
}

TEST_F(KubernetesPool, a_pod_that_was_deleted_while_it_waited_is_not_handed_out) {
  run(
      [&]() -> awaitable<void> {
        co_await with(pool(any_provider(pods()) | timeout(60s), 2), [&](auto& pool) -> awaitable<void> {
          for (int i = 0; i < 60'000 && pool.counts().idle() < 2; ++i) co_await pause_for(1ms);
          const std::shared_ptr<cluster_api> api = co_await open_api();
          const std::vector<std::string> waiting = co_await of_pods("name");
          const std::vector<std::string> ids = co_await of_pods("uid");
          for (const std::string& name : waiting)
            co_await api->ask("DELETE", api->pod_path(name) + "?gracePeriodSeconds=0", std::string(), "delete a pod",
                              std::vector<int>());
          co_await api->close();
          for (int i = 0; i < 600 && !have_ended(ids); ++i) co_await pause_for(100ms);
          co_await pause_for(3s);  // the connections end
          co_await with(pool.provider(), [](auto& env) -> awaitable<void> {
            command_result result = co_await env.run_command("echo fine");
            EXPECT_EQ(result.out_text(), "fine\n") << result.reason();
          });
          EXPECT_EQ(pool.counts().discarded(), 2U);
        });
      },
      120s);
  expect_no_pods();
}

}  // namespace
