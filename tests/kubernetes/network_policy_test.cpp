// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The NetworkPolicy of this library in a namespace with pods of others. The test cluster enforces no policy, so the
// test asks the API server which pods the policy selects.

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>

#include "kubernetes/kube_support.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::kubernetes::detail::cluster_api;
using cofferdam::kubernetes::detail::network_policy_name;
using cofferdam_test::open_api;
using cofferdam_test::run;

/// Returns the names of the pods that a NetworkPolicy selects.
awaitable<std::set<std::string>> selected_pods(std::shared_ptr<cluster_api> api, boost::json::object policy) {
  std::string selector;
  for (const auto& [key, value] : policy.at("spec").at("podSelector").at("matchLabels").as_object())
    selector += (selector.empty() ? "" : ",") + std::string(key) + "=" + std::string(value.as_string());
  const std::string path = api->path("pods") + "?labelSelector=" + cofferdam::detail::percent_encoded(selector);
  const std::optional<boost::json::object> list = co_await api->find(path, "list the selected pods");
  std::set<std::string> names;
  for (const boost::json::value& pod : list->at("items").as_array())
    names.emplace(pod.at("metadata").at("name").as_string());
  co_return names;
}

awaitable<kubernetes::environment> open_pod(std::string space, kubernetes::pod_network network) {
  kubernetes::pod_options options;
  options.kubeconfig(cofferdam_test::kubeconfig_of("kubeconfig")).in_namespace(space).network(network);
  options.pull(kubernetes::pull_policy::never).cpus(0.05).memory(std::uint64_t{64} << 20U);
  kubernetes::provider provider = kubernetes::from_image("cofferdam-test/busybox:1");
  provider.options(options);
  kubernetes::environment env = co_await provider.open();
  co_return env;
}

TEST(KubernetesNetworkPolicy, only_pods_of_this_library_without_a_network_are_selected) {
  COFFERDAM_NEEDS_CLUSTER("that pods of others keep their network");
  const cofferdam_test::scratch_namespace space;
  run([&]() -> awaitable<void> {
    const std::shared_ptr<cluster_api> api = co_await open_api(space.name());
    // Pods that never run: one without labels, and one with the labels of many Helm charts and a similar one.
    const std::string end = R"(}, "spec": {"schedulerName": "none", "containers": [{"name": "c", "image": "x"}]}})";
    const std::string plain = R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "plain")" + end;
    const std::string labelled = R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "labelled", "labels":
        {"app.kubernetes.io/name": "web", "app.kubernetes.io/managed-by": "cofferdam", "network": "none"})" +
                                 end;
    for (const std::string& body : {plain, labelled})
      co_await api->ask("POST", api->path("pods"), body, "create a foreign pod", std::vector<int>());

    kubernetes::environment walled = co_await open_pod(space.name(), kubernetes::pod_network::none);
    kubernetes::environment connected = co_await open_pod(space.name(), kubernetes::pod_network::cluster);
    const std::string policies = "/apis/networking.k8s.io/v1";
    const std::optional<boost::json::object> list =
        co_await api->find(api->path("networkpolicies", policies), "list the policies");
    const boost::json::array& all = list->at("items").as_array();
    EXPECT_EQ(all.size(), 1U);
    const boost::json::object& policy = all.at(0).as_object();
    EXPECT_EQ(policy.at("metadata").at("name").as_string(), network_policy_name);
    // Anything else, such as an empty selector or matchExpressions, could select pods of others.
    EXPECT_EQ(boost::json::serialize(policy.at("spec").at("podSelector")),
              R"({"matchLabels":{"cofferdam/network":"none"}})");
    const std::set<std::string> selected = co_await selected_pods(api, policy);
    EXPECT_EQ(selected, std::set<std::string>{walled.pod_name()});
    co_await walled.close();
    co_await connected.close();
    co_await api->close();
  });
}

TEST(KubernetesNetworkPolicy, a_policy_that_nobody_enforces_does_not_let_allow_hosts_begin) {
  COFFERDAM_NEEDS_CLUSTER("that allow_hosts refuses pods whose NetworkPolicy is not enforced");
  run([]() -> awaitable<void> {
    kubernetes::environment env = co_await open_pod("default", kubernetes::pod_network::none);
    const std::uint32_t others = co_await env.network().other_interfaces();
    EXPECT_EQ(others, 1U);
    std::optional<error> refusal;
    try {
      co_await env.network().enforced_policy();
    } catch (const error& reason) {
      refusal = reason;
    }
    EXPECT_TRUE(refusal && refusal->code() == exec_errc::unsupported) << (refusal ? refusal->what() : "no error");
    co_await env.close();
  });
}

}  // namespace
