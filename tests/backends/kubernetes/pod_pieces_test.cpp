// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/kubernetes/detail/control_pod.hpp>
#include <cofferdam/backends/kubernetes/detail/credentials.hpp>
#include <cofferdam/backends/kubernetes/detail/ended_pods.hpp>
#include <cofferdam/backends/kubernetes/detail/merge_patch.hpp>
#include <cofferdam/backends/kubernetes/detail/names.hpp>
#include <cofferdam/backends/kubernetes/detail/network_facts.hpp>
#include <cofferdam/backends/kubernetes/detail/network_policies.hpp>
#include <cofferdam/backends/kubernetes/detail/network_wall.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/detail/quantity.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam::kubernetes::detail;
using namespace std::string_view_literals;
namespace json = boost::json;

TEST(KubernetesNames, labels_of_rfc_1123) {
  for (const std::string_view name : {"a", "0", "a-b", "sandbox-1", "x--y"}) EXPECT_TRUE(is_label(name)) << name;
  for (const std::string_view name : {""sv, "-a"sv, "a-"sv, "A"sv, "a.b"sv, "a_b"sv, "a b"sv, "a\0"sv, "\xc3\xa4"sv})
    EXPECT_FALSE(is_label(name)) << name;
  EXPECT_TRUE(is_label(std::string(63, 'a')));
  EXPECT_FALSE(is_label(std::string(64, 'a')));
}

TEST(KubernetesNames, subdomains_are_labels_with_dots) {
  for (const std::string_view name : {"a", "a.b", "registry.example.com"}) EXPECT_TRUE(is_subdomain(name)) << name;
  for (const std::string_view name : {"", ".", "a.", ".a", "a..b", "a.-b", "a/b", "A.b"})
    EXPECT_FALSE(is_subdomain(name)) << name;
  std::string longest;
  for (int part = 0; part < 4; ++part) longest += (part > 0 ? "." : "") + std::string(part < 3 ? 63 : 61, 'a');
  EXPECT_EQ(longest.size(), 253U);
  EXPECT_TRUE(is_subdomain(longest));
  EXPECT_FALSE(is_subdomain(longest + "a"));
}

TEST(KubernetesNames, keys_of_labels_may_have_a_prefix) {
  for (const std::string_view key : {"team", "Team_1.x", "example.com/team", "nvidia.com/gpu"})
    EXPECT_TRUE(is_label_key(key)) << key;
  for (const std::string_view key : {"", "/a", "a/", "a/b/c", "A.com/b", "-a", "a-", "a b", "example.com/"})
    EXPECT_FALSE(is_label_key(key)) << key;
  EXPECT_TRUE(is_label_value(""));
  EXPECT_FALSE(is_label_value("a/b"));
}

TEST(KubernetesNetwork, only_an_attempt_that_was_made_shows_a_wall) {
  using cofferdam::error_kind;
  EXPECT_EQ(attempt_after(error_kind::timeout, "try "), connect_attempt::failed);
  EXPECT_EQ(attempt_after(error_kind::none, "try no"), connect_attempt::failed);
  EXPECT_EQ(attempt_after(error_kind::none, "try yes"), connect_attempt::connected);
  EXPECT_EQ(attempt_after(error_kind::timeout, "try yes"), connect_attempt::connected);
  EXPECT_EQ(attempt_after(error_kind::timeout, ""), connect_attempt::not_tried);  // the shell did not come so far
  EXPECT_EQ(attempt_after(error_kind::none, ""), connect_attempt::not_tried);     // the image has no program for it
  EXPECT_EQ(attempt_after(error_kind::none, "try "), connect_attempt::not_tried);
  EXPECT_EQ(attempt_after(error_kind::out_of_memory, "try "), connect_attempt::not_tried);
  EXPECT_EQ(attempt_after(error_kind::execution_error, "try no"), connect_attempt::not_tried);
}

const json::object& pod_labels() {
  static const json::object labels = json::parse(R"({"cofferdam/network": "none", "team": "a"})").as_object();
  return labels;
}

bool may_allow(const std::string& spec) {
  return may_allow_connections(json::parse(R"({"spec": )" + spec + "}").as_object(), pod_labels());
}

bool expression_selects(const std::string& expression) {
  return may_allow(R"({"podSelector": {"matchExpressions": [)" + expression + R"(]}, "egress": [{}]})");
}

TEST(KubernetesNetwork, policies_add_up) {
  EXPECT_TRUE(may_allow(R"({"podSelector": {}, "ingress": [{}]})"));
  EXPECT_TRUE(may_allow(R"({"egress": [{}]})"));
  EXPECT_TRUE(may_allow(R"({"podSelector": {"matchLabels": {"team": "a"}}, "egress": [{}]})"));
  EXPECT_FALSE(may_allow(R"({"podSelector": {"matchLabels": {"team": "b"}}, "egress": [{}]})"));
  EXPECT_FALSE(may_allow(R"({"podSelector": {}, "policyTypes": ["Ingress"], "ingress": []})"));
  EXPECT_FALSE(may_allow_connections(network_policy(), pod_labels()));
}

TEST(KubernetesNetwork, expressions_of_a_selector_are_evaluated) {
  EXPECT_TRUE(expression_selects(R"({"key": "team", "operator": "In", "values": ["b", "a"]})"));
  EXPECT_FALSE(expression_selects(R"({"key": "team", "operator": "In", "values": ["b"]})"));
  EXPECT_FALSE(expression_selects(R"({"key": "x", "operator": "In", "values": ["", "a"]})"));
  EXPECT_TRUE(expression_selects(R"({"key": "team", "operator": "NotIn", "values": ["b"]})"));
  EXPECT_TRUE(expression_selects(R"({"key": "x", "operator": "NotIn", "values": ["b"]})"));
  EXPECT_FALSE(expression_selects(R"({"key": "team", "operator": "NotIn", "values": ["b", "a"]})"));
  EXPECT_TRUE(expression_selects(R"({"key": "team", "operator": "Exists"})"));
  EXPECT_FALSE(expression_selects(R"({"key": "x", "operator": "Exists"})"));
  EXPECT_TRUE(expression_selects(R"({"key": "x", "operator": "DoesNotExist"})"));
  EXPECT_FALSE(expression_selects(R"({"key": "team", "operator": "DoesNotExist"})"));
  EXPECT_TRUE(expression_selects(R"({"key": "team", "operator": "Gt", "values": ["7"]})")) << "unknown: may select";
  EXPECT_TRUE(expression_selects("7")) << "no expression: may select";
  const std::string here = R"({"key": "team", "operator": "Exists"}, )";
  EXPECT_FALSE(expression_selects(here + R"({"key": "x", "operator": "Exists"})")) << "all must hold";
  EXPECT_FALSE(may_allow(R"({"podSelector": {"matchLabels": {"team": "b"}, "matchExpressions": [)" + here +
                         R"({"key": "team", "operator": "Exists"}]}, "egress": [{}]})"));
}

TEST(KubernetesNetwork, rules_count_for_the_directions_of_their_policy) {
  const std::string egress = R"("podSelector": {}, "egress": [{}])";
  const std::string ingress = R"("podSelector": {}, "ingress": [{}])";
  EXPECT_FALSE(may_allow("{" + egress + R"(, "policyTypes": ["Ingress"]})"));
  EXPECT_TRUE(may_allow("{" + egress + R"(, "policyTypes": ["Ingress", "Egress"]})"));
  EXPECT_FALSE(may_allow("{" + ingress + R"(, "policyTypes": ["Egress"]})"));
  EXPECT_TRUE(may_allow("{" + ingress + R"(, "policyTypes": ["Ingress"]})"));
  EXPECT_TRUE(may_allow("{" + ingress + R"(, "policyTypes": []})"));
  EXPECT_TRUE(may_allow("{" + egress + R"(, "policyTypes": []})"));
  EXPECT_TRUE(may_allow("{" + egress + "}"));
}

// The files of a pod in a cluster with one address family, and a bridge.
constexpr const char* pod_files =
    "=route\nIface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "eth0\t00000000\t0140D50A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    "eth0\t0040D50A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
    "=if_inet6\nfe8000000000000018787cfffe4ccf87 02 40 20 80     eth0\n"
    "00000000000000000000000000000001 01 80 10 80       lo\n=ipv6_route\n"
    "=arp\nIP address       HW type     Flags       HW address            Mask     Device\n"
    "10.213.64.9      0x1         0x2         96:ba:10:cd:99:00     *        eth0\n"
    "10.213.64.1      0x1         0x2         96:ba:10:cd:99:66     *        eth0\n=end\n";

std::string with(std::string text, const std::string& old, const std::string& replacement) {
  return text.replace(text.find(old), old.size(), replacement);
}

TEST(KubernetesNetwork, each_family_of_a_pod_is_found) {
  using set = std::set<address_family>;
  const network_facts facts = network_facts::read(pod_files);
  EXPECT_TRUE(facts.is_whole());
  EXPECT_FALSE(facts.is_tentative());
  EXPECT_EQ(facts.families(), (set{address_family::ipv4, address_family::link_local}));
  EXPECT_EQ(facts.host_end(), "fe80::94ba:10ff:fecd:9966%eth0");
  EXPECT_EQ(facts.ipv6_addresses(), std::vector<std::string>{"fe80:0000:0000:0000:1878:7cff:fe4c:cf87%eth0"});
  const std::string tentative = with(pod_files, "02 40 20 80     eth0", "02 40 20 c0     eth0");
  EXPECT_TRUE(network_facts::read(tentative).is_tentative());
  const std::string global = with(pod_files, "=ipv6_route", "fd000000000000000000000000000002 02 40 00 80 eth0\n=x");
  EXPECT_TRUE(network_facts::read(global).families().contains(address_family::ipv6));
  EXPECT_TRUE(network_facts::read("=route\n=if_inet6\n=end\n").families().empty());
  EXPECT_FALSE(network_facts::read(std::string_view(pod_files).substr(0, 500)).is_whole());
}

TEST(KubernetesNetwork, the_end_of_the_host_is_that_of_the_gateway_or_unknown) {
  const std::string unresolved = with(pod_files, "0x2         96:ba:10:cd:99:66", "0x0         00:00:00:00:00:00");
  EXPECT_EQ(network_facts::read(unresolved).host_end(), "");
  EXPECT_EQ(network_facts::read(with(pod_files, "0140D50A", "00000000")).host_end(), "");
  EXPECT_EQ(network_facts::read(with(pod_files, "cd:99:66     *        eth0", "cd:99:66     *        net1")).host_end(),
            "");
  const std::string zeros(32, '0');
  const std::string routed =
      with(pod_files, "=ipv6_route\n",
           "=ipv6_route\n" + zeros + " 00 " + zeros +
               " 00 fe80000000000000eceeeefffeeeeeee 00000400 00000001 00000000 00450003     eth0\n");
  EXPECT_EQ(network_facts::read(routed).host_end(), "fe80:0000:0000:0000:ecee:eeff:feee:eeee%eth0");
}

TEST(KubernetesNetwork, packets_without_a_receiver_are_counted) {
  const std::string printed =
      "Ip: Forwarding DefaultTTL\nIp: 1 64\nIcmp: InMsgs\nIcmp: 0\n"
      "Tcp: RtoAlgorithm InSegs OutRsts InCsumErrors\nTcp: 1 10 7 0\n"
      "Udp: InDatagrams NoPorts InErrors\nUdp: 5 3 0\nUdpLite: InDatagrams NoPorts\nUdpLite: 90 90\n"
      "Udp6InDatagrams                 \t80\nUdp6NoPorts                     \t4\n=end\n";
  const stray_packets packets = stray_packets::read(printed);
  EXPECT_TRUE(packets.is_whole());
  EXPECT_EQ(packets.tcp(), 7U);
  EXPECT_EQ(packets.udp(), 7U);
  EXPECT_FALSE(stray_packets::read(printed.substr(0, printed.size() - 6)).is_whole());
  EXPECT_FALSE(stray_packets::read("Udp: NoPorts\nUdp: 3\n=end\n").is_whole());
  EXPECT_FALSE(stray_packets::read("=end\n").is_whole());
}

TEST(KubernetesNetwork, the_control_is_not_selected_and_runs_on_the_node) {
  json::object container = json::parse(R"({"resources": {"limits": {"cpu": "1", "nvidia.com/gpu": "1"},
      "requests": {"cpu": "1", "nvidia.com/gpu": "1"}}})")
                               .as_object();
  json::object body = json::parse(R"({"metadata": {"labels": {"cofferdam/sandbox": "1", "cofferdam/network": "none"}},
      "spec": {"affinity": {"podAntiAffinity": {}}, "topologySpreadConstraints": [{}], "containers": []}})")
                          .as_object();
  body["spec"].as_object()["containers"].as_array().push_back(container);
  const json::object made = control_body(body, "node-7", "nvidia.com/gpu");
  const json::object& labels = made.at("metadata").at("labels").as_object();
  EXPECT_EQ(labels.at("cofferdam/sandbox"), "1");  // so that it is found if it is left
  EXPECT_FALSE(may_select(object_at(object_at(network_policy(), "spec"), "podSelector"), labels));
  EXPECT_EQ(json::serialize(made.at("spec")),
            R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
            R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["node-7"]}]}]}}},)"
            R"("containers":[{"resources":{"limits":{"cpu":"1"},"requests":{"cpu":"1"}}}]})");
}

TEST(KubernetesLeftovers, pods_without_an_owner_are_left) {
  const auto now = *parse_kube_time("2026-01-01T12:00:00Z");
  const auto left = [now](const std::string& phase, const std::string& born, const std::string& rest = {}) {
    return is_left(json::parse(R"({"metadata": {"labels": {"cofferdam/sandbox": "1"},
        "annotations": {"cofferdam/opening-seconds": "60"}, "creationTimestamp": ")" +
                               born + R"("}, "status": {"phase": ")" + phase + "\"" + rest + "}}")
                       .as_object(),
                   now);
  };
  EXPECT_TRUE(left("Pending", "2026-01-01T11:50:00Z"));
  EXPECT_FALSE(left("Pending", "2026-01-01T11:56:00Z"));
  EXPECT_TRUE(left("Failed", "2026-01-01T11:50:00Z", R"(, "containerStatuses": [{"state": {"waiting": {}}}])"));
  EXPECT_FALSE(left("Failed", "2026-01-01T11:50:00Z",
                    R"(, "conditions": [{"type": "Ready", "lastTransitionTime": "2026-01-01T11:59:55Z"}])"));
  EXPECT_FALSE(left("Running", "2026-01-01T10:00:00Z"));
  EXPECT_FALSE(is_left(json::parse(R"({"metadata": {"labels": {"cofferdam/sandbox": "1"},
      "creationTimestamp": "2026-01-01T10:00:00Z"}, "status": {"phase": "Pending"}})")
                           .as_object(),
                       now));
}

TEST(KubernetesQuantity, each_form_has_its_value) {
  const std::vector<std::pair<std::string_view, std::uint64_t>> quantities{{"0", 0},
                                                                           {"1", 1000},
                                                                           {"+1", 1000},
                                                                           {"0.5", 500},
                                                                           {".5", 500},
                                                                           {"1.", 1000},
                                                                           {"2000m", 2000},
                                                                           {"250m", 250},
                                                                           {"1k", 1000000},
                                                                           {"1Ki", 1024000},
                                                                           {"1.5Gi", 1610612736000},
                                                                           {"1e3", 1000000},
                                                                           {"1E3", 1000000},
                                                                           {"1e-3", 1},
                                                                           {"12e+1", 120000},
                                                                           {"100u", 1},
                                                                           {"1n", 1},
                                                                           {"0.0001", 1},
                                                                           {"1.0000", 1000},
                                                                           {"0e99", 0},
                                                                           {"1073741824", 1073741824000}};
  for (const auto& [text, value] : quantities) {
    EXPECT_EQ(quantity_in_thousandths(text), value) << text;
  }
}

TEST(KubernetesQuantity, what_is_none_has_no_value) {
  for (const std::string_view text : {"", ".", "-1", "x", "1x", "1KiB", "1 Gi", "1ki", "m", "Gi", "1e", "1e+", "1e3x",
                                      "1.2.3", "--1", "1E", "99999999999999999999", "1e30", "9999999999Ei"})
    EXPECT_EQ(quantity_in_thousandths(text), std::nullopt) << text;
}

TEST(KubernetesQuantity, different_spellings_are_equal) {
  EXPECT_TRUE(is_same_quantity("1Gi", "1073741824"));
  EXPECT_TRUE(is_same_quantity("2", "2000m"));
  EXPECT_TRUE(is_same_quantity("0.1", "100m"));
  EXPECT_FALSE(is_same_quantity("1Gi", "1G"));
  EXPECT_FALSE(is_same_quantity("x", "x"));
}

TEST(KubernetesMergePatch, the_examples_of_the_rfc) {
  const std::vector<std::vector<std::string_view>> examples{
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", R"(null)", R"(null)"},
      {R"({"a":"foo"})", R"("bar")", R"("bar")"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"}};
  for (const std::vector<std::string_view>& example : examples) {
    json::value target = json::parse(json::string_view(example[0].data(), example[0].size()));
    apply_merge_patch(target, json::parse(json::string_view(example[1].data(), example[1].size())));
    EXPECT_EQ(target, json::parse(json::string_view(example[2].data(), example[2].size()))) << example[1];
  }
}

}  // namespace
