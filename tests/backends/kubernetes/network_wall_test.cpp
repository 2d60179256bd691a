// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// What is taken for a proof that a NetworkPolicy is enforced, with two pods whose answers are given.
// tests/kubernetes/allow_hosts_test.cpp has real ones.

#include <cofferdam/backends/kubernetes/detail/cluster_access.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/network_facts.hpp>
#include <cofferdam/backends/kubernetes/detail/network_wall.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>

#include "support/run.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using namespace cofferdam::kubernetes::detail;

/// A pod whose attempts to connect end as a text says: 'y' connected, 'n' not, '-' not tried; the last letter repeats.
class scripted_pod {
 public:
  explicit scripted_pod(std::string ends) : ends(std::move(ends)) {}

  std::string ends;
  std::size_t attempts = 0;
  int strays = 0;                   ///< the packets that have arrived
  scripted_pod* reached = nullptr;  ///< the pod in which the packets of this one arrive
  std::string gateway = "96:ba:10:cd:99:66";

  std::string answer(const command& c) {
    const std::string_view line = c.words().at(2);
    const auto has = [line](std::string_view part) { return line.find(part) != std::string_view::npos; };
    if (line == network_facts::script)
      return "=route\neth0 00000000 0140D50A 0003 0 0 0 00000000 0 0 0\n=if_inet6\n" + inet6 +
             "=ipv6_route\n=arp\n10.213.64.1 0x1 0x2 " + gateway + " * eth0\n=end\n";
    if (line == stray_packets::script)
      return "Tcp: OutRsts\nTcp: " + std::to_string(strays) + "\nUdp: NoPorts\nUdp: " + std::to_string(strays) +
             "\n=end\n";
    if (has("sent")) {
      const bool is_self = std::find(c.words().begin(), c.words().end(), address) != c.words().end();
      if (is_self) ++strays;
      if (!is_self && reached != nullptr) ++reached->strays;
      return "sent";
    }
    tried.push_back(c.words().at(3) + " " + c.words().at(4));
    const char end = ends[std::min(attempts++, ends.size() - 1)];
    return end == 'y' ? "try yes" : end == 'n' ? "try no" : "";
  }

  std::string address;
  std::string inet6;
  std::vector<std::string> tried;
};

network_wall::runner runner_of(scripted_pod& pod) {
  return [&pod](command c) -> awaitable<command_result> {
    command_result result = command_result::exited(0);
    const std::string text = pod.answer(c);
    const bytes_view view = as_bytes(text);
    result.out(captured_output(bytes(view.begin(), view.end()), bytes(), view.size()));
    co_return result;
  };
}

boost::json::object pod_at(const std::string& address) {
  return boost::json::parse(R"({"status": {"podIPs": [{"ip": ")" + address + R"("}], "hostIP": "192.0.2.2"}})")
      .as_object();
}

/// Returns the description of the wall, or the error.
std::string proof(scripted_pod& guest, scripted_pod& control) {
  guest.address = "10.213.64.2";
  control.address = "10.213.64.3";
  std::string text;
  cofferdam_test::run([&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto api = std::make_shared<cluster_api>(executor, cluster_access());
    const std::vector<std::string> variables{"KUBERNETES_SERVICE_HOST=10.213.255.1", "KUBERNETES_SERVICE_PORT=443"};
    const auto wall = std::make_shared<const network_wall>(api, "/bin/sh", variables, pod_at(guest.address),
                                                           std::chrono::milliseconds(200));
    try {
      text = co_await network_wall::prove(wall, runner_of(guest), runner_of(control), pod_at(control.address));
    } catch (const error& reason) {
      EXPECT_EQ(reason.code(), exec_errc::unsupported);
      text = reason.what();
    }
  });
  return text;
}

std::string proof(const std::string& guest_ends, const std::string& control_ends) {
  scripted_pod guest(guest_ends);
  scripted_pod control(control_ends);
  return proof(guest, control);
}

bool is_proof(const std::string& text) { return text.starts_with("a NetworkPolicy against all connections"); }

TEST(KubernetesWall, the_control_must_connect_before_and_after_the_pod_has_failed_to) {
  EXPECT_TRUE(is_proof(proof("n", "y"))) << proof("n", "y");
  EXPECT_TRUE(is_proof(proof("yyn", "y"))) << "the plugin needs time";
  EXPECT_TRUE(is_proof(proof("n", "nnny"))) << "also for the control";
  const std::string no_control = "a control pod without the policy could not connect to 10.213.255.1:443 (IPv4)";
  EXPECT_NE(proof("n", "n").find(no_control), std::string::npos) << proof("n", "n");
  EXPECT_NE(proof("n", "yn").find(no_control), std::string::npos) << "an outage that begins after the first attempt";
  EXPECT_NE(proof("n", "yyn").find(no_control), std::string::npos);
  EXPECT_NE(proof("y", "y").find("the pod could connect to 10.213.255.1:443 (IPv4)"), std::string::npos);
  EXPECT_FALSE(is_proof(proof("ny", "y"))) << "a lost packet";
  EXPECT_NE(proof("-", "y").find("could not be tried"), std::string::npos) << proof("-", "y");
  EXPECT_NE(proof("n", "-").find("the image has no program"), std::string::npos) << proof("n", "-");
}

TEST(KubernetesWall, packets_between_the_pods_must_not_arrive) {
  for (const bool is_guest : {true, false}) {
    scripted_pod guest("n");
    scripted_pod control("y");
    (is_guest ? guest : control).reached = is_guest ? &control : &guest;
    const std::string text = proof(guest, control);
    EXPECT_NE(text.find(is_guest ? "of the pod arrive in another pod" : "of another pod arrive in the pod"),
              std::string::npos)
        << text;
  }
}

TEST(KubernetesWall, both_pods_must_have_the_same_end_of_the_link) {
  scripted_pod guest("n");
  scripted_pod control("y");
  guest.inet6 = "fe8000000000000018787cfffe4ccf87 02 40 20 80 eth0\n";
  EXPECT_NE(proof(guest, control).find("(IPv6 link-local)"), std::string::npos);
  EXPECT_EQ(guest.tried.back(), "fe80::94ba:10ff:fecd:9966%eth0 10250");
  control.gateway = "96:ba:10:cd:99:67";
  const std::string text = proof(guest, control);
  EXPECT_NE(text.find("for IPv6 link-local: the address of the node on the pod's link is not known"), std::string::npos)
      << text;
}

TEST(KubernetesWall, an_address_that_stays_tentative_or_has_no_counterpart_proves_nothing) {
  scripted_pod guest("n");
  scripted_pod control("y");
  guest.inet6 = "fd000000000000000000000000000002 02 40 00 40 eth0\n";
  EXPECT_NE(proof(guest, control).find("stays tentative"), std::string::npos);
  guest.inet6 = "fd000000000000000000000000000002 02 40 00 80 eth0\n";  // the node has no IPv6 address
  EXPECT_NE(proof(guest, control).find("for IPv6: the node has no address of this kind"), std::string::npos);
}

}  // namespace
