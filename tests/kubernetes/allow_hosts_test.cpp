// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Pods whose NetworkPolicy is enforced by kube-router, seen from outside: what arrives at a server of this machine.

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/network/allow_hosts.hpp>

#include "kubernetes/kube_support.hpp"
#include "network/canary.hpp"
#include "network/egress_host.hpp"
#include "support/error_of.hpp"
#include "support/paths.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam_test::canary;
using cofferdam_test::run;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

class KubernetesAllowHosts : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!has_firewall()) return;
    const auto started = firewall("start-firewall");
    if (started.status != 0) throw std::runtime_error("the firewall does not start: " + started.output);
  }
  static void TearDownTestSuite() {
    if (has_firewall()) firewall("stop-firewall");
  }
  void SetUp() override {
    COFFERDAM_NEEDS_CLUSTER("that allow_hosts works in pods");
    COFFERDAM_NEEDS("kube", has_firewall(), "that allow_hosts works in pods whose NetworkPolicy is enforced");
  }

  static bool has_firewall() {
    return cofferdam_test::has_cluster() && std::getenv("COFFERDAM_TEST_KUBE_FIREWALL") != nullptr;
  }
  static cofferdam_test::shell_result firewall(const std::string& verb) {
    return cofferdam_test::run_shell("'" + cofferdam_test::source_path("tests/kubernetes/cluster.sh") + "' " + verb +
                                     " '" + std::getenv("COFFERDAM_TEST_KUBE_FOLDER") + "'");
  }

  static kubernetes::provider pods(kubernetes::pod_network network, const std::string& space = {}) {
    kubernetes::pod_options options;
    options.kubeconfig(cofferdam_test::kubeconfig_of("kubeconfig")).pull(kubernetes::pull_policy::never);
    options.cpus(0.1).memory(std::uint64_t{128} << 20U).network(network);
    if (!space.empty()) options.in_namespace(space);
    kubernetes::provider result = kubernetes::from_image("cofferdam-test/debian:1");
    result.options(std::move(options));
    return result;
  }

  template <class Provider>
  static command_result result_in(const Provider& provider, const command& c) {
    command_result result;
    run([&]() -> awaitable<void> {
      const auto body = [&](auto& env) -> awaitable<void> { result = co_await env.run_command(c); };
      co_await with(provider, body);
    });
    return result;
  }

  /// Returns a command that sends bytes to the canary by TCP and UDP, at each address of this machine.
  static command knocks(canary& door) {
    std::string line = "for a in";
    for (const std::string& each : cofferdam_test::own_addresses()) line += " " + each;
    line += "; do echo hello >/dev/udp/$a/" + std::to_string(door.udp_port()) +
            "; timeout 3 bash -c \"exec 3<>/dev/tcp/$a/" + std::to_string(door.tcp_port()) +
            " && echo hello >&3 && head -n 1 <&3\"; done";
    return argv({"bash", "-c", line});
  }

  cofferdam_test::egress_host servers_;
  std::shared_ptr<cofferdam_test::received_requests> seen_ = std::make_shared<cofferdam_test::received_requests>();
};

/// Returns a command that sends a request for a plain URL to the proxy that its variables name, with the user name and
/// the password of the proxy's URL, "fetch" and "x".
command fetch(const std::string& host) {
  const std::string head = "GET http://" + host + "/ HTTP/1.1\\r\\nHost: " + host +
                           "\\r\\nProxy-Authorization: Basic ZmV0Y2g6eA==\\r\\nConnection: close\\r\\n\\r\\n";
  const std::string line = "exec 3<>/dev/tcp/127.0.0.1/${http_proxy##*:}; printf '" + head + "' >&3; cat <&3";
  return argv({"bash", "-c", line}).label("fetch");
}

TEST_F(KubernetesAllowHosts, a_pod_reaches_named_hosts_and_nothing_else) {
  const std::uint16_t port = servers_.start(cofferdam_test::echo_server(seen_));
  canary door;
  std::vector<network_event> events;
  const auto place =
      pods(kubernetes::pod_network::none) |
      allow_hosts(host_rule("a.example.org:80").at("127.0.0.1", port)).log([&events](const network_event& event) {
        events.push_back(event);
      });
  run([&]() -> awaitable<void> {
    const auto body = [&](auto& env) -> awaitable<void> {
      const command_result allowed = co_await env.run_command(fetch("a.example.org"));
      EXPECT_TRUE(contains(allowed.out_text(), "200 OK")) << allowed.out_text() << allowed.err_text();
      const command_result refused = co_await env.run_command(fetch("b.example.org"));
      EXPECT_TRUE(contains(refused.out_text(), "403 ")) << refused.out_text() << refused.err_text();
      EXPECT_TRUE(contains(refused.out_text(), "a.example.org")) << "the sentence names what is allowed";
      const command_result knocked = co_await env.run_command(knocks(door));
      EXPECT_FALSE(contains(knocked.out_text(), "HTTP/1.1")) << knocked.out_text();
      const std::string_view wall = allowed.isolation().of(isolation_kind::network);
      EXPECT_TRUE(contains(wall, "NetworkPolicy") && contains(wall, "a firewall refused")) << wall;
    };
    co_await with(place, body);
  });
  EXPECT_EQ(seen_->count(), 1U);
  EXPECT_EQ(door.connections(), 0U);
  EXPECT_EQ(door.datagrams(), 0U);
  EXPECT_EQ(events.size(), 2U);
  EXPECT_TRUE(std::all_of(events.begin(), events.end(), [](const auto& each) { return each.label() == "fetch"; }));
}

TEST_F(KubernetesAllowHosts, control_a_pod_with_the_network_of_the_cluster_reaches_this_machine) {
  canary door;
  const command_result knocked = result_in(pods(kubernetes::pod_network::cluster), knocks(door));
  EXPECT_GE(door.connections(), 1U) << knocked.out_text() << knocked.err_text();
  EXPECT_GE(door.datagrams(), 1U);
  EXPECT_EQ(knocked.isolation().of(isolation_kind::network), "none");
}

TEST_F(KubernetesAllowHosts, another_policy_that_allows_connections_is_a_hole) {
  const cofferdam_test::scratch_namespace space;
  run([&]() -> awaitable<void> {
    const auto api = co_await cofferdam_test::open_api(space.name());
    const std::string hole = R"({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": "hole"}, "spec": {"podSelector": {}, "policyTypes": ["Egress"],
        "egress": [{"ports": [{"protocol": "TCP", "port": 9}]}]}})";
    co_await api->ask("POST", api->path("networkpolicies", "/apis/networking.k8s.io/v1"), hole, "create a policy",
                      std::vector<int>());
    co_await api->close();
  });
  const auto opens = [&] {
    result_in(pods(kubernetes::pod_network::none, space.name()) | allow_hosts("a.example.org"), shell("true"));
  };
  EXPECT_EQ(cofferdam_test::code_of(opens), exec_errc::unsupported);
}

TEST_F(KubernetesAllowHosts, a_pod_with_the_network_of_the_cluster_is_refused) {
  const auto opens = [] {
    result_in(pods(kubernetes::pod_network::cluster) | allow_hosts("a.example.org"), shell("true"));
  };
  const std::optional<error> refusal = cofferdam_test::error_of(opens);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->code(), exec_errc::unsupported);
  EXPECT_TRUE(contains(refusal->what(), "1 network interface besides the loopback interface")) << refusal->what();
}

}  // namespace
