// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Pods whose NetworkPolicy is enforced by kube-router, seen from outside: what arrives at a server of this machine.

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/network_policies.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/network/allow_hosts.hpp>

#include "kubernetes/kube_support.hpp"
#include "network/canary.hpp"
#include "network/egress_host.hpp"
#include "support/census.hpp"
#include "support/error_of.hpp"
#include "support/paths.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/script_server.hpp"
#include "support/temporary_folder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

using namespace cofferdam;
using cofferdam_test::canary;
using cofferdam_test::run;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// A merge patch that switches IPv6 off in a pod.
constexpr const char* without_ipv6 =
    R"({"spec": {"securityContext": {"sysctls": [{"name": "net.ipv6.conf.all.disable_ipv6", "value": "1"}]}}})";

class KubernetesAllowHosts : public ::testing::Test {
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
    space_.emplace();
  }

  static bool has_firewall() {
    return cofferdam_test::has_cluster() && std::getenv("COFFERDAM_TEST_KUBE_FIREWALL") != nullptr;
  }
  static cofferdam_test::shell_result firewall(const std::string& verb) {
    return cofferdam_test::run_shell("'" + cofferdam_test::source_path("tests/kubernetes/cluster.sh") + "' " + verb +
                                     " '" + std::getenv("COFFERDAM_TEST_KUBE_FOLDER") + "'");
  }

  static std::string run_folder() {
    const std::string admin = std::getenv("COFFERDAM_TEST_KUBECONFIG");
    return admin.substr(0, admin.rfind('/'));
  }
  /// Returns the name of the bridge of the pods on this machine.
  static std::string bridge() {
    const std::string run = run_folder();
    return "cfk" + run.substr(run.rfind('-') + 1);
  }

  /// Returns the options of pods in the namespace of this test.
  kubernetes::pod_options options(kubernetes::pod_network network, const char* patch = without_ipv6) const {
    kubernetes::pod_options result;
    result.kubeconfig(cofferdam_test::kubeconfig_of("kubeconfig")).pull(kubernetes::pull_policy::never);
    result.cpus(0.1).memory(std::uint64_t{128} << 20U).network(network).in_namespace(space_->name());
    if (*patch != '\0') result.merge_patch(patch);
    return result;
  }
  kubernetes::provider pods(kubernetes::pod_network network, const char* patch = without_ipv6,
                            const std::string& image = "debian") const {
    kubernetes::provider result = kubernetes::from_image("cofferdam-test/" + image + ":1");
    result.options(options(network, patch));
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

  /// Returns the error of opening a pod with `allow_hosts`.
  static error refusal_of(const kubernetes::provider& provider) {
    const auto opens = [&provider] { result_in(provider | allow_hosts("a.example.org"), shell("true")); };
    return cofferdam_test::error_of(opens).value_or(error(exec_errc::io_error, "no error"));
  }

  /// Returns a command that sends bytes to the canary by TCP and UDP, at each address of this machine that pods could
  /// reach.
  static command knocks(canary& door) {
    std::string line = "for a in " + cofferdam_test::link_local_address(bridge()) + "%eth0";
    for (const std::string& each : cofferdam_test::own_addresses()) line += " " + each;
    line += "; do echo hello >/dev/udp/$a/" + std::to_string(door.udp_port()) +
            "; timeout 3 bash -c \"exec 3<>/dev/tcp/$a/" + std::to_string(door.tcp_port()) +
            " && echo hello >&3 && head -n 1 <&3\"; done";
    return argv({"bash", "-c", line});
  }

  /// Returns the number of pods in the namespace of this test with this value of the label for the network.
  std::size_t count_pods(const std::string& network) const {
    std::size_t count = 0;
    run([&]() -> awaitable<void> {
      const auto api = co_await cofferdam_test::open_api(space_->name());
      const std::optional<boost::json::object> list =
          co_await api->find(api->path("pods") + "?labelSelector=cofferdam%2Fnetwork%3D" + network, "list pods");
      count = list->at("items").as_array().size();
      co_await api->close();
    });
    return count;
  }

  void create(const std::string& kind, const std::string& group, const std::string& body) const {
    run([&]() -> awaitable<void> {
      const auto api = co_await cofferdam_test::open_api(space_->name());
      co_await api->ask("POST", api->path(kind, group), body, "create an object", std::vector<int>());
      co_await api->close();
    });
  }
  /// Creates a policy that allows connections of the pods of this library.
  void create_hole(const std::string& name) const {
    create("networkpolicies", "/apis/networking.k8s.io/v1",
           R"({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": ")" + name +
               R"("}, "spec": {"podSelector": {}, "policyTypes": ["Egress"],
               "egress": [{"ports": [{"protocol": "TCP", "port": 9}]}]}})");
  }

  cofferdam_test::egress_host servers_;
  std::shared_ptr<cofferdam_test::received_requests> seen_ = std::make_shared<cofferdam_test::received_requests>();
  std::optional<cofferdam_test::scratch_namespace> space_;
};

/// Stops kube-router until the end of the scope, so that it does not notice new pods.
class suspended_plugin {
 public:
  explicit suspended_plugin(const std::string& run_folder) {
    std::ifstream(run_folder + "/firewall.pid") >> pid_;
    if (pid_ <= 1 || ::kill(pid_, SIGSTOP) != 0) throw std::runtime_error("the plugin does not run");
  }
  suspended_plugin(const suspended_plugin&) = delete;
  suspended_plugin& operator=(const suspended_plugin&) = delete;
  ~suspended_plugin() { ::kill(pid_, SIGCONT); }

 private:
  pid_t pid_ = 0;
};

/// A rule of the firewall of this machine for what pods send to it, until the end of the scope.
class firewall_rule {
 public:
  explicit firewall_rule(std::string rule) : rule_(std::move(rule)) {
    if (cofferdam_test::run_shell("iptables -w -I " + rule_).status != 0) throw std::runtime_error("no rule");
  }
  firewall_rule(const firewall_rule&) = delete;
  firewall_rule& operator=(const firewall_rule&) = delete;
  ~firewall_rule() { cofferdam_test::run_shell("iptables -w -D " + rule_); }

 private:
  std::string rule_;
};

/// A server at the address of the node on the link of the pods, at the port of a kubelet.
class kubelet_port {
 public:
  explicit kubelet_port(const std::string& bridge) : socket_(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in6 name{};
    name.sin6_family = AF_INET6;
    name.sin6_port = htons(10250);
    name.sin6_scope_id = ::if_nametoindex(bridge.c_str());
    ::inet_pton(AF_INET6, cofferdam_test::link_local_address(bridge).c_str(), &name.sin6_addr);
    const int on = 1;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0 ||
        ::listen(socket_.get(), 1000) != 0)
      throw std::runtime_error(std::string("no kubelet port: ") + std::strerror(errno));
  }

 private:
  cofferdam_test::canary_socket socket_;
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
      EXPECT_TRUE(contains(wall, "the pod cannot connect to 10.213.255.1:443 (IPv4), and a pod without")) << wall;
    };
    co_await with(place, body);
  });
  EXPECT_EQ(seen_->count(), 1U);
  EXPECT_EQ(door.connections(), 0U);
  EXPECT_EQ(door.datagrams(), 0U);
  EXPECT_EQ(events.size(), 2U);
  EXPECT_TRUE(std::all_of(events.begin(), events.end(), [](const auto& each) { return each.label() == "fetch"; }));
  EXPECT_EQ(count_pods("control"), 0U);
}

TEST_F(KubernetesAllowHosts, an_image_with_nc_in_place_of_bash_will_do) {
  const auto place = pods(kubernetes::pod_network::none, without_ipv6, "busybox") | allow_hosts("a.example.org");
  const command_result result = result_in(place, shell("true"));
  EXPECT_TRUE(contains(result.isolation().of(isolation_kind::network), "(IPv4)"));
}

TEST_F(KubernetesAllowHosts, a_plain_pod_claims_no_wall_and_has_no_control) {
  const command_result result = result_in(pods(kubernetes::pod_network::none), shell("true"));
  EXPECT_EQ(result.isolation().of(isolation_kind::network), "none");
  EXPECT_EQ(count_pods("control"), 0U);
}

TEST_F(KubernetesAllowHosts, control_a_pod_with_the_network_of_the_cluster_reaches_this_machine) {
  canary door;
  const command_result knocked = result_in(pods(kubernetes::pod_network::cluster, ""), knocks(door));
  EXPECT_GE(door.connections(), 2U) << knocked.out_text() << knocked.err_text();
  EXPECT_EQ(door.connections_to(cofferdam_test::link_local_address(bridge())), 1U) << "IPv6 link-local";
  EXPECT_GE(door.datagrams(), 2U);
  EXPECT_EQ(knocked.isolation().of(isolation_kind::network), "none");
}

TEST_F(KubernetesAllowHosts, open_link_local_addresses_are_a_way_out) {
  const kubelet_port server(bridge());
  const error refusal = refusal_of(pods(kubernetes::pod_network::none, ""));
  EXPECT_EQ(refusal.code(), exec_errc::unsupported);
  EXPECT_TRUE(contains(refusal.what(), "IPv6 link-local: the pod could connect to [fe80::")) << refusal.what();
  EXPECT_TRUE(contains(refusal.what(), "switch IPv6 off for pods")) << refusal.what();
  EXPECT_EQ(count_pods("control"), 0U);
}

TEST_F(KubernetesAllowHosts, link_local_addresses_that_the_control_cannot_reach_prove_nothing) {
  const error refusal = refusal_of(pods(kubernetes::pod_network::none, ""));  // nothing listens there
  EXPECT_EQ(refusal.code(), exec_errc::unsupported);
  EXPECT_TRUE(
      contains(refusal.what(), "IPv6 link-local: a control pod without the policy could not connect to [fe80::"))
      << refusal.what();
}

TEST_F(KubernetesAllowHosts, a_pod_with_closed_link_local_addresses_reaches_nothing_there) {
  const kubelet_port server(bridge());
  const cofferdam_test::script_server plugin("tests/kubernetes/link_local_firewall.py", {bridge()});
  canary door;
  const auto place = pods(kubernetes::pod_network::none, "") | allow_hosts("a.example.org");
  const command_result knocked = result_in(place, knocks(door));
  const std::string_view wall = knocked.isolation().of(isolation_kind::network);
  EXPECT_TRUE(contains(wall, "[fe80::") && contains(wall, ":10250 (IPv6 link-local)")) << wall;
  EXPECT_EQ(door.connections(), 0U) << knocked.out_text();
  EXPECT_EQ(door.datagrams(), 0U);
}

TEST_F(KubernetesAllowHosts, another_pod_that_is_reached_is_a_way_out) {
  const kubelet_port server(bridge());
  const cofferdam_test::script_server plugin("tests/kubernetes/link_local_firewall.py", {bridge(), "INPUT"});
  const error refusal = refusal_of(pods(kubernetes::pod_network::none, ""));
  EXPECT_EQ(refusal.code(), exec_errc::unsupported);
  EXPECT_TRUE(contains(refusal.what(), "packets of the pod arrive in another pod")) << refusal.what();
}

TEST_F(KubernetesAllowHosts, a_firewall_that_drops_what_pods_send_to_the_api_server_is_no_proof) {
  const suspended_plugin plugin(run_folder());
  const firewall_rule rule("INPUT -i " + bridge() + " -p tcp --dport " +
                           std::to_string(cofferdam_test::admin_access().port) + " -j DROP");
  const error refusal = refusal_of(pods(kubernetes::pod_network::none));
  EXPECT_EQ(refusal.code(), exec_errc::unsupported);
  EXPECT_TRUE(contains(refusal.what(), "a control pod without the policy could not connect to 10.213.255.1:443 (IPv4)"))
      << refusal.what();
  EXPECT_EQ(count_pods("control"), 0U);
}

TEST_F(KubernetesAllowHosts, an_outage_of_some_seconds_is_no_proof) {
  const suspended_plugin plugin(run_folder());
  std::optional<firewall_rule> rule("INPUT -i " + bridge() + " -p tcp --dport " +
                                    std::to_string(cofferdam_test::admin_access().port) + " -j DROP");
  std::thread ends([&rule, this] {
    cofferdam_test::eventually([this] { return count_pods("control") == 1; });
    std::this_thread::sleep_for(std::chrono::seconds(6));
    rule.reset();
  });
  const error refusal = refusal_of(pods(kubernetes::pod_network::none));
  ends.join();
  EXPECT_EQ(refusal.code(), exec_errc::unsupported);
  EXPECT_TRUE(contains(refusal.what(), "the pod could connect to 10.213.255.1:443 (IPv4)")) << refusal.what();
}

TEST_F(KubernetesAllowHosts, a_firewall_that_refuses_everything_is_no_proof) {
  const suspended_plugin plugin(run_folder());
  const firewall_rule for_node("INPUT -i " + bridge() + " -j REJECT");
  const firewall_rule for_others("FORWARD -i " + bridge() + " -j REJECT");
  const error refusal = refusal_of(pods(kubernetes::pod_network::none));
  EXPECT_EQ(refusal.code(), exec_errc::unsupported);
  EXPECT_TRUE(contains(refusal.what(), "a control pod without the policy could not connect")) << refusal.what();
}

TEST_F(KubernetesAllowHosts, another_policy_that_allows_connections_is_a_hole) {
  create_hole("hole");
  const error refusal = refusal_of(pods(kubernetes::pod_network::none));
  EXPECT_EQ(refusal.code(), exec_errc::unsupported);
  EXPECT_TRUE(contains(refusal.what(), "the NetworkPolicy \"hole\" of the namespace")) << refusal.what();
}

TEST_F(KubernetesAllowHosts, a_hole_that_is_made_or_a_policy_that_is_deleted_later_is_found_by_another_call) {
  run([&]() -> awaitable<void> {
    const auto api = co_await cofferdam_test::open_api(space_->name());
    const kubernetes::provider provider = pods(kubernetes::pod_network::none);
    kubernetes::environment env = co_await provider.open();
    const std::string wall = co_await env.network().enforced_policy();
    EXPECT_TRUE(contains(wall, "(IPv4)")) << wall;
    co_await api->ask("DELETE", api->path("networkpolicies", "/apis/networking.k8s.io/v1") + "/cofferdam-no-network",
                      std::string(), "delete the policy", std::vector<int>());
    std::optional<error> refusal;
    try {
      co_await env.network().enforced_policy();
    } catch (const error& reason) {
      refusal = reason;
    }
    EXPECT_TRUE(refusal && contains(refusal->what(), "\"cofferdam-no-network\"") &&
                contains(refusal->what(), "was deleted or changed"))
        << (refusal ? refusal->what() : "no error");
    const command_result result = co_await env.run_command(shell("true"));
    EXPECT_EQ(result.isolation().of(isolation_kind::network), "none");
    co_await env.close();
    co_await api->close();
  });
}

TEST_F(KubernetesAllowHosts, a_user_who_may_not_list_policies_is_told_so) {
  const std::string user = "no-list-" + std::to_string(::getpid());
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
  const std::string head = R"({"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "no-list"}, )";
  create("roles", rbac, head + R"("kind": "Role", "rules": [
      {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get", "watch", "delete"]},
      {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get", "create"]},
      {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create"]},
      {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": ["get", "create"]}]})");
  create("rolebindings", rbac,
         head + R"("kind": "RoleBinding",
      "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "no-list"},
      "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": ")" +
             user + R"("}]})");
  const cofferdam_test::temporary_folder folder;
  const std::string text = cofferdam_test::kubeconfig_text(cofferdam_test::verified_fields(), "as: \"" + user + "\"");
  kubernetes::provider provider = pods(kubernetes::pod_network::none);
  provider.options(options(kubernetes::pod_network::none).kubeconfig(folder.write("kubeconfig", text).string()));
  const error refusal = refusal_of(provider);
  EXPECT_EQ(refusal.code(), exec_errc::permission_denied);
  EXPECT_TRUE(contains(refusal.what(), "the right to list networkpolicies.networking.k8s.io")) << refusal.what();
  EXPECT_EQ(count_pods("control"), 0U);
}

TEST_F(KubernetesAllowHosts, all_pages_of_policies_are_read) {
  create_hole("z-last");
  run([&]() -> awaitable<void> {
    const auto api = co_await cofferdam_test::open_api(space_->name());
    co_await api->ask("POST", api->path("networkpolicies", "/apis/networking.k8s.io/v1"),
                      boost::json::serialize(kubernetes::detail::network_policy()), "create the policy",
                      std::vector<int>());
    std::optional<error> refusal;
    try {
      boost::json::object labels;
      labels["cofferdam/network"] = "none";
      co_await kubernetes::detail::require_no_hole(api, labels, 1);  // one policy in each page
    } catch (const error& reason) {
      refusal = reason;
    }
    EXPECT_TRUE(refusal && contains(refusal->what(), "\"z-last\"")) << (refusal ? refusal->what() : "no error");
    co_await api->close();
  });
}

TEST_F(KubernetesAllowHosts, a_cancelled_check_leaves_no_control) {
  for (const int wait : {0, 300}) {  // before the control runs, and while attempts are made
    const kubernetes::provider provider = pods(kubernetes::pod_network::none);
    cofferdam_test::driven<void> opening([](const kubernetes::provider& from) -> awaitable<void> {
      const auto place = from | allow_hosts("a.example.org");
      auto env = co_await place.open();
      co_await env.close();
    }(provider));
    for (int i = 0; i < 200 && count_pods("control") == 0; ++i)
      opening.context().run_for(std::chrono::milliseconds(30));
    EXPECT_EQ(count_pods("control"), 1U);
    opening.context().run_for(std::chrono::milliseconds(wait));
    EXPECT_FALSE(opening.ended());
    opening.cancel();
    opening.run_to_end();
    EXPECT_ANY_THROW(opening.result());
    EXPECT_EQ(count_pods("control"), 0U);
    EXPECT_EQ(count_pods("none"), 0U);
  }
}

TEST_F(KubernetesAllowHosts, a_pod_with_the_network_of_the_cluster_is_refused) {
  const error refusal = refusal_of(pods(kubernetes::pod_network::cluster));
  EXPECT_EQ(refusal.code(), exec_errc::unsupported);
  EXPECT_TRUE(contains(refusal.what(), "1 network interface besides the loopback interface")) << refusal.what();
}

}  // namespace
