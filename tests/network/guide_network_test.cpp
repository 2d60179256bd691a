// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The C++ blocks of the guide's page about the network, packaging/docs/network.md.

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/network/allow_hosts.hpp>
#include <cofferdam/network/egress_policy.hpp>
#include <cofferdam/network/egress_proxy.hpp>
#include <cofferdam/network/host_rule.hpp>
#include <cofferdam/network/network_event.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <iostream>

namespace cofferdam_guide {

using namespace cofferdam;

auto packages_only() {
  return jail() | allow_hosts("packages.example.org", "*.files.example.org")
                      .header("api.example.com", "Authorization", secret_string("Bearer ..."));
}

auto pods_without_ipv6() {
  return kubernetes::pod_options().merge_patch(R"({"spec": {"securityContext": {"sysctls":
      [{"name": "net.ipv6.conf.all.disable_ipv6", "value": "1"}]}}})");
}

egress_policy named_hosts(secret_string key) {
  return egress_policy("packages.example.org", "*.files.example.org")
      .allow(host_rule("api.example.com:8443").methods({"GET", "POST"}).paths({"/v1/"}))
      .header("models.example.com", "Authorization", key)
      .log([](const network_event& event) {
        std::cout << event.label() << " " << event.host() << ":" << event.port() << " " << event.reason() << "\n";
      });
}

TEST(GuideNetwork, a_jail_is_wrapped) { static_assert(code_exec_provider<decltype(packages_only())>); }

TEST(GuideNetwork, the_patch_of_a_pod_is_json) {
  EXPECT_NO_THROW(boost::json::parse(pods_without_ipv6().merge_patch()).at("spec"));
}

TEST(GuideNetwork, the_policy_has_its_rules_in_the_order_of_their_weight) {
  const egress_policy policy = named_hosts(secret_string("Bearer x"));
  ASSERT_EQ(policy.rules().size(), 4U);
  EXPECT_EQ(policy.rules()[0].place(), "models.example.com") << "the rule with the secret";
  EXPECT_EQ(policy.rules()[1].place(), "packages.example.org");
  EXPECT_EQ(policy.rules()[3].place(), "*.files.example.org");
  EXPECT_NE(egress_proxy(policy).authority_pem(), "");
  EXPECT_EQ(egress_proxy(egress_policy("packages.example.org")).authority_pem(), "");
}

}  // namespace cofferdam_guide
