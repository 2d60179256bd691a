// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/kubernetes/detail/credentials.hpp>
#include <cofferdam/backends/kubernetes/detail/ended_pods.hpp>
#include <cofferdam/backends/kubernetes/detail/merge_patch.hpp>
#include <cofferdam/backends/kubernetes/detail/names.hpp>
#include <cofferdam/backends/kubernetes/detail/network_wall.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/detail/quantity.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
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

TEST(KubernetesNetwork, only_silence_and_a_refusal_show_a_wall) {
  using cofferdam::error_kind;
  const std::string refusal = "bash: connect: Connection refused";
  EXPECT_EQ(attempt_after(error_kind::timeout, "try", ""), forbidden_attempt::no_answer);
  EXPECT_EQ(attempt_after(error_kind::none, "try", refusal), forbidden_attempt::refused);
  EXPECT_EQ(attempt_after(error_kind::timeout, "", ""), forbidden_attempt::other);  // the shell did not come so far
  EXPECT_EQ(attempt_after(error_kind::none, "", refusal), forbidden_attempt::other);
  EXPECT_EQ(attempt_after(error_kind::none, "try", "bash: connect: Network is unreachable"), forbidden_attempt::other);
  EXPECT_EQ(attempt_after(error_kind::none, "try", ""), forbidden_attempt::other);  // connected
  EXPECT_EQ(attempt_after(error_kind::none, "", ""), forbidden_attempt::other);     // the image has no program for it
  EXPECT_EQ(attempt_after(error_kind::out_of_memory, "try", ""), forbidden_attempt::other);
}

TEST(KubernetesNetwork, policies_add_up) {
  const json::object labels = json::parse(R"({"cofferdam/network": "none", "team": "a"})").as_object();
  const auto may = [&labels](const char* spec) {
    return may_allow_connections(json::parse(std::string(R"({"spec": )") + spec + "}").as_object(), &labels);
  };
  EXPECT_TRUE(may(R"({"podSelector": {}, "ingress": [{}]})"));
  EXPECT_TRUE(may(R"({"podSelector": {"matchLabels": {"team": "a"}}, "egress": [{}]})"));
  EXPECT_TRUE(
      may(R"({"podSelector": {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}, "egress": [{}]})"));
  EXPECT_FALSE(may(R"({"podSelector": {"matchLabels": {"team": "b"}}, "egress": [{}]})"));
  EXPECT_FALSE(may(R"({"podSelector": {}, "policyTypes": ["Ingress"], "ingress": []})"));
  EXPECT_FALSE(may_allow_connections(network_policy(), &labels));
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
