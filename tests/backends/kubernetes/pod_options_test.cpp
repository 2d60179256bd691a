// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>

#include "support/error_of.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace cofferdam;
using namespace cofferdam::kubernetes;
using cofferdam::kubernetes::detail::pod_request;
using cofferdam_test::code_of;
using cofferdam_test::sentence_of;
using namespace std::chrono_literals;
using namespace std::string_view_literals;
namespace json = boost::json;

template <class Set>
void refuses(Set set) {
  EXPECT_EQ(code_of(set), exec_errc::invalid_argument);
}

json::object body_of(const pod_options& options) {
  return pod_request("python:3.12-slim", "cofferdam-1", "x86_64", options).body();
}

const json::object& container_of(const json::object& pod) { return pod.at("spec").at("containers").at(0).get_object(); }

TEST(PodOptions, the_defaults_are_the_narrow_ones) {
  const pod_options options;
  EXPECT_EQ(options.network(), pod_network::none);
  EXPECT_EQ(options.memory(), std::uint64_t{1} << 30);
  EXPECT_EQ(options.workspace_size(), std::uint64_t{1} << 29);
  EXPECT_EQ(options.cpu_thousandths(), 1000U);
  EXPECT_EQ(options.uid(), 1000U);
  EXPECT_EQ(options.hold_time(), 1min);
  EXPECT_TRUE(options.has_read_only_root());
  EXPECT_EQ(options.gpus(), 0U);
  EXPECT_FALSE(options.allows_insecure());
  EXPECT_TRUE(pod_options().allow_insecure().allows_insecure());
}

TEST(PodOptions, commands_never_run_as_root) {
  refuses([] { pod_options().user(0, 0); });
  refuses([] { pod_options().user(1000, 0x80000000); });
  EXPECT_EQ(pod_options().user(5, 0).uid(), 5U);
}

TEST(PodOptions, invalid_names_are_refused_at_once) {
  refuses([] { pod_options().in_namespace("A"); });
  refuses([] { pod_options().in_namespace("a.b"); });
  refuses([] { pod_options().runtime_class("g/v"); });
  refuses([] { pod_options().node_selector("a b", "c"); });
  refuses([] { pod_options().node_selector("a", "c d"); });
  refuses([] { pod_options().pull_secret(""); });
  refuses([] { pod_options().label("cofferdam/sandbox", "x"); });
  refuses([] { pod_options().label("a", "b/c"); });
  refuses([] { pod_options().annotation("cofferdam/x", "y"); });
  refuses([] { pod_options().gpus(1, "gpu"); });
  refuses([] { pod_options().gpus(0); });
  refuses([] { toleration("a b"); });
  refuses([] { pod_options().variable("A=B", ""); });
  refuses([] { pod_options().context(""); });
}

TEST(PodOptions, amounts_are_checked) {
  refuses([] { pod_options().memory((16 << 20) - 1); });
  refuses([] { pod_options().cpus(std::numeric_limits<double>::quiet_NaN()); });
  refuses([] { pod_options().cpus(0); });
  EXPECT_EQ(pod_options().cpus(0.0104).cpu_thousandths(), 10U);
  refuses([] { pod_options().ephemeral_storage(1); });
  refuses([] { pod_options().workspace_size(4095); });
  refuses([] { pod_options().hold_time(999ms); });
  refuses([] { pod_options().hold_time(25h); });
  refuses([] { pod_options().longest_life(0s); });
  refuses([] { pod_options().node_wait(-1s); });
}

TEST(PodOptions, errors_have_the_value) {
  const auto expect = [](auto set, const char* text) {
    EXPECT_NE(sentence_of(set).find(text), std::string::npos) << sentence_of(set);
  };
  expect([] { pod_options().memory(512); }, "at least 16777216 (16 MiB) bytes, not 512");
  expect([] { pod_options().memory(std::uint64_t{1} << 63); }, "at most 4611686018427387904 bytes, not 9223372036854");
  expect([] { pod_options().cpus(0); }, "not 0.0");
  expect([] { pod_options().workspace_size(1); }, "at least 4096 bytes, not 1");
  expect([] { pod_options().hold_time(999ms); }, "not 999 ms");
  expect([] { pod_options().longest_life(0s); }, "not 0");
  expect([] { pod_options().node_wait(-1s); }, "-1 s");
  expect([] { pod_options().user(0, 0); }, "the user id must be from 1 to 2147483647, not 0");
  expect([] { pod_options().user(1, 0x80000000); }, "not 2147483648");
  expect([] { pod_options().gpus(0); }, "not 0");
  expect([] { pod_options().runtime_class("a..b"); }, "beside another dot");
  expect([] { pod_options().merge_patch(R"({"spec": 3})"); }, "spec must be an object");
}

TEST(PodOptions, the_workspace_is_a_directory_of_its_own) {
  EXPECT_EQ(pod_options().working_directory("//a/./b/").working_directory(), "/a/b");
  for (const std::string_view path : {""sv, "a"sv, "/"sv, "/a/../b"sv, "/proc/x"sv, "/sys"sv, "/dev/shm"sv,
                                      "/.cofferdam"sv, "/.cofferdam/a"sv, "/a:b"sv, "/a\0b"sv, "/a\xff"sv})
    refuses([&] { pod_options().working_directory(path); });
}

TEST(PodOptions, a_merge_patch_is_an_object) {
  for (const std::string_view text : {"", "[]", "1", "{", "null"}) refuses([&] { pod_options().merge_patch(text); });
  EXPECT_EQ(pod_options().merge_patch("{}").merge_patch(), "{}");
}

TEST(PodRequest, the_default_pod_is_this_one) {
  const std::string expected = R"({
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "cofferdam-1",
      "labels": {"app.kubernetes.io/managed-by": "cofferdam", "cofferdam/sandbox": "1", "cofferdam/network": "none"},
      "annotations": {"cofferdam/hold-seconds": "60"}},
    "spec": {
      "restartPolicy": "Never", "automountServiceAccountToken": false, "enableServiceLinks": false,
      "shareProcessNamespace": false, "terminationGracePeriodSeconds": 0, "activeDeadlineSeconds": 86400,
      "hostname": "sandbox", "dnsPolicy": "None", "dnsConfig": {"nameservers": ["127.0.0.1"]},
      "securityContext": {"runAsNonRoot": true, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000,
        "seccompProfile": {"type": "RuntimeDefault"}},
      "nodeSelector": {"kubernetes.io/os": "linux"},
      "containers": [{
        "name": "sandbox", "image": "python:3.12-slim", "imagePullPolicy": "IfNotPresent",
        "command": ["/.cofferdam/x86_64", "hold", "60000"], "args": [], "workingDir": "/",
        "securityContext": {"runAsNonRoot": true, "runAsUser": 1000, "runAsGroup": 1000,
          "seccompProfile": {"type": "RuntimeDefault"}, "allowPrivilegeEscalation": false, "privileged": false,
          "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}},
        "resources": {
          "limits": {"cpu": "1000m", "memory": "1073741824", "ephemeral-storage": "1073741824"},
          "requests": {"cpu": "1000m", "memory": "1073741824", "ephemeral-storage": "1073741824"}},
        "volumeMounts": [
          {"name": "cofferdam-programs", "mountPath": "/.cofferdam", "readOnly": true},
          {"name": "workspace", "mountPath": "/workspace"}, {"name": "tmp", "mountPath": "/tmp"}]}],
      "volumes": [
        {"name": "cofferdam-programs", "configMap": {"name": "MAP", "defaultMode": 365}},
        {"name": "workspace", "emptyDir": {"medium": "Memory", "sizeLimit": "536870912"}},
        {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "268435456"}}]}})";
  std::string text = expected;
  text.replace(text.find("MAP"), 3, cofferdam::kubernetes::detail::warden_map_name());
  EXPECT_EQ(json::value(body_of(pod_options())), json::parse(text)) << json::serialize(body_of(pod_options()));
}

TEST(PodRequest, a_pod_that_waits_for_its_warden_has_a_shell_and_a_volume_in_place_of_the_map) {
  const json::object pod = pod_request("x", "cofferdam-1", "", pod_options().hold_time(1500ms)).body();
  const json::object& container = container_of(pod);
  EXPECT_EQ(container.at("command").get_array().size(), 3U);
  EXPECT_EQ(container.at("command").at(0), "sh");
  const std::string script(container.at("command").at(2).as_string());
  EXPECT_EQ(script, cofferdam::kubernetes::detail::waiting_script(1500ms));
  EXPECT_NE(script.find("-lt 16 ]"), std::string::npos) << "turns of a tenth of a second: " << script;
  EXPECT_NE(script.find("exec \"$d/warden\" hold 1500;"), std::string::npos) << script;
  EXPECT_EQ(json::serialize(container.at("volumeMounts").at(0)),
            R"({"name":"cofferdam-programs","mountPath":"/.cofferdam"})");
  EXPECT_EQ(json::serialize(pod.at("spec").at("volumes").at(0)),
            R"({"name":"cofferdam-programs","emptyDir":{"medium":"Memory","sizeLimit":"1048576"}})");
  EXPECT_EQ(json::serialize(pod).find("configMap"), std::string::npos);
}

TEST(PodRequest, each_option_has_its_field) {
  pod_options options;
  options.user(7, 8).working_directory("/tmp").workspace(workspace_medium::disk).workspace_size(8192);
  options.writable_root().gpus(2).network(pod_network::cluster).runtime_class("gvisor").pull(pull_policy::always);
  options.node_selector("disk", "ssd").pull_secret("login").label("team", "a").annotation("x.io/y", "z w");
  options.tolerate(toleration("a")).tolerate(toleration("b", "c").effect(taint_effect::no_execute));
  options.hold_time(1500ms).longest_life(90s).cpus(0.5);
  const json::object pod = body_of(options);
  const json::object& spec = pod.at("spec").get_object();
  const json::object& container = container_of(pod);
  EXPECT_EQ(container.at("securityContext").at("runAsUser"), 7);
  EXPECT_EQ(spec.at("securityContext").at("fsGroup"), 8);
  EXPECT_EQ(spec.at("volumes").get_array().size(), 2U);
  EXPECT_EQ(json::serialize(spec.at("volumes").at(1).at("emptyDir")), R"({"sizeLimit":"8192"})");
  EXPECT_EQ(container.at("securityContext").at("readOnlyRootFilesystem"), false);
  EXPECT_EQ(container.at("resources").at("limits").at("nvidia.com/gpu"), "2");
  EXPECT_EQ(container.at("resources").at("requests").at("cpu"), "500m");
  EXPECT_EQ(pod.at("metadata").at("labels").at("cofferdam/network"), "cluster");
  EXPECT_FALSE(spec.contains("dnsPolicy"));
  EXPECT_EQ(spec.at("runtimeClassName"), "gvisor");
  EXPECT_EQ(container.at("imagePullPolicy"), "Always");
  EXPECT_EQ(spec.at("nodeSelector").at("disk"), "ssd");
  EXPECT_EQ(json::serialize(spec.at("imagePullSecrets")), R"([{"name":"login"}])");
  EXPECT_EQ(pod.at("metadata").at("labels").at("team"), "a");
  EXPECT_EQ(pod.at("metadata").at("annotations").at("x.io/y"), "z w");
  EXPECT_EQ(json::serialize(spec.at("tolerations")),
            R"([{"key":"a","operator":"Exists"},{"key":"b","operator":"Equal","value":"c","effect":"NoExecute"}])");
  EXPECT_EQ(container.at("command").at(2), "1500");
  EXPECT_EQ(pod.at("metadata").at("annotations").at("cofferdam/hold-seconds"), "2");
  EXPECT_EQ(spec.at("activeDeadlineSeconds"), 90);
}

TEST(PodRequest, values_of_variables_are_not_in_the_pod) {
  const json::object pod = body_of(pod_options().variable("KEY", "secret-value"));
  EXPECT_EQ(json::serialize(pod).find("secret-value"), std::string::npos);
}

TEST(PodRequest, a_merge_patch_is_applied_last) {
  const json::object pod = body_of(pod_options().merge_patch(
      R"({"spec": {"priorityClassName": "low", "dnsConfig": null, "dnsPolicy": "Default"}})"));
  EXPECT_EQ(pod.at("spec").at("priorityClassName"), "low");
  EXPECT_FALSE(pod.at("spec").get_object().contains("dnsConfig"));
}

TEST(PodRequest, a_merge_patch_cannot_change_what_the_library_needs) {
  for (const char* const patch :
       {R"({"kind": "Job"})", R"({"metadata": {"name": "x"}})", R"({"metadata": {"namespace": "x"}})",
        R"({"metadata": null})", R"({"metadata": {"labels": {"cofferdam/sandbox": null}}})",
        R"({"metadata": {"labels": {"cofferdam/network": "cluster"}}})", R"({"metadata": {"annotations": null}})",
        R"({"spec": null})", R"({"spec": {"containers": []}})", R"({"spec": {"containers": [{"name": "sandbox"}]}})",
        R"({"spec": {"volumes": []}})", R"({"spec": {"restartPolicy": "Always"}})",
        R"({"spec": {"shareProcessNamespace": true}})", R"({"spec": {"hostPID": true}})",
        R"({"spec": {"hostNetwork": true}})"})
    refuses([&] { body_of(pod_options().merge_patch(patch)); });
}

TEST(PodRequest, malformed_names_are_refused) {
  refuses([] { pod_request("", "a", "x86_64", pod_options()); });
  refuses([] { pod_request("a b", "a", "x86_64", pod_options()); });
  refuses([] { pod_request("a", "A", "x86_64", pod_options()); });
}

TEST(PodRequest, the_wardens_are_in_an_immutable_map_of_less_than_a_megabyte) {
  const json::object map = cofferdam::kubernetes::detail::warden_map();
  EXPECT_EQ(map.at("immutable"), true);
  EXPECT_EQ(map.at("binaryData").get_object().size(), 2U);
  EXPECT_LT(json::serialize(map).size(), std::size_t{1} << 20);
  EXPECT_TRUE(map.at("binaryData").at("aarch64").get_string().starts_with("f0VMR"));  // "\x7f" "ELF"
  EXPECT_TRUE(cofferdam::kubernetes::detail::is_subdomain(cofferdam::kubernetes::detail::warden_map_name()));
}

TEST(PodRequest, the_network_policy_selects_only_pods_of_this_library) {
  const json::object policy = cofferdam::kubernetes::detail::network_policy();
  EXPECT_EQ(json::serialize(policy.at("spec")),
            R"({"podSelector":{"matchLabels":{"cofferdam/network":"none"}},"policyTypes":["Ingress","Egress"]})");
}

}  // namespace
