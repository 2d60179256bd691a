// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/kubernetes/detail/creation_rate.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_check.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_status.hpp>

#include "support/error_of.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using namespace cofferdam::kubernetes;
using namespace cofferdam::kubernetes::detail;
using cofferdam_test::sentence_of;
namespace json = boost::json;

json::object asked(const pod_options& options = pod_options()) {
  return pod_request("python:3.12-slim", "cofferdam-1", "x86_64", options).body();
}

/// Returns the pod as a real API server admits it: with its additions, and with its spelling of quantities.
json::object admitted(json::object pod) {
  json::value changes = json::parse(R"({"metadata": {"namespace": "default", "uid": "1", "resourceVersion": "5"},
    "spec": {"schedulerName": "default-scheduler", "serviceAccountName": "default", "priority": 0,
      "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300}]},
    "status": {"phase": "Pending", "qosClass": "Guaranteed"}})");
  json::value whole = pod;
  apply_merge_patch(whole, changes);
  json::object& container = whole.at("spec").at("containers").at(0).as_object();
  container["terminationMessagePath"] = "/dev/termination-log";
  container["resources"].at("limits").as_object() =
      json::parse(R"({"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"})").as_object();
  container.erase("args");
  whole.at("spec").as_object().erase("shareProcessNamespace");
  return whole.as_object();
}

TEST(PodCheck, a_pod_with_only_the_servers_defaults_has_all_walls) {
  const pod_check check = check_pod(asked(), admitted(asked()));
  EXPECT_TRUE(check.missing().empty()) << check.missing().front();
  EXPECT_NO_THROW(check.require());
  EXPECT_EQ(check.isolation().of(isolation_kind::memory), "limit of 1073741824 bytes");
  EXPECT_EQ(check.isolation().of(isolation_kind::system_calls),
            "no capabilities, no new privileges, the runtime's filter");
  EXPECT_EQ(check.isolation().of(isolation_kind::files), "the image's files, read-only");
  EXPECT_EQ(check.isolation().of(isolation_kind::process_tree), "all of the pod");
  EXPECT_EQ(check.isolation().of(isolation_kind::processor_time), "limit of 1000m of a CPU");
  EXPECT_EQ(check.isolation().of(isolation_kind::network), "none");
}

/// Sets the value at a path of members and indexes. Makes what is missing.
void set_at(json::value& in, const std::string& path, json::value value) {
  json::value* at = &in;
  for (std::size_t from = 1; from <= path.size();) {
    const std::size_t end = std::min(path.find('/', from), path.size());
    const std::string name = path.substr(from, end - from);
    from = end + 1;
    if (json::array* const array = at->if_array()) {
      const auto index = static_cast<std::size_t>(name[0] - '0');
      if (index >= array->size()) array->resize(index + 1);
      at = &(*array)[index];
    } else {
      if (!at->is_object()) at->emplace_object();
      at = &at->get_object()[name];
    }
  }
  *at = std::move(value);
}

TEST(PodCheck, each_wall_that_is_missing_is_named) {
  const std::vector<std::pair<const char*, const char*>> changes{
      {"/securityContext/capabilities/drop|[]", "capabilities were not dropped"},
      {"/securityContext/capabilities/add|[\"NET_ADMIN\"]", "capabilities were added"},
      {"/securityContext/allowPrivilegeEscalation|true", "may gain privileges"},
      {"/securityContext/privileged|true", "may gain privileges"},
      {"/securityContext/runAsUser|0", "root"},
      {"/securityContext/runAsUser|1001", "its user is not the requested one"},
      {"/securityContext/seccompProfile|{\"type\":\"Unconfined\"}", "seccomp"},
      {"/securityContext/readOnlyRootFilesystem|false", "not read-only"},
      {"/resources/limits/memory|\"2Gi\"", "memory limit"},
      {"/resources/limits/cpu|\"3\"", "CPU limit"},
      {"/resources/limits|{}", "disk limit"},
      {"/securityContext/runAsGroup|0", "runAsGroup is not the requested one"},
      {"^securityContext/fsGroup|0", "fsGroup is not the requested one"},
      {"^securityContext/supplementalGroups|[0,42]", "supplementalGroups is not the requested one"},
      {"/securityContext/appArmorProfile|{\"type\":\"Unconfined\"}", "AppArmor"},
      {"/image|\"debian:12\"", "its image is \"debian:12\""},
      {"/terminationMessagePath|\"/etc/passwd\"", "terminationMessagePath"},
      {"^dnsPolicy|\"ClusterFirst\"", "dnsPolicy"},
      {"^hostAliases|[{\"ip\":\"1.2.3.4\"}]", "names of hosts"},
      {"/command|[\"/bin/sh\"]", "first process"},
      {"/args|[\"x\"]", "first process"},
      {"/lifecycle|{\"postStart\":{}}", "lifecycle"},
      {"/livenessProbe|{\"exec\":{}}", "livenessProbe"},
      {"/env|[{\"name\":\"A\"}]", "variables"},
      {"/envFrom|[{}]", "variables"},
      {"/ports|[{\"hostPort\":80}]", "a port of the node"},
      {"/volumeDevices|[{}]", "devices"},
      {"/volumeMounts/3|{\"name\":\"x\",\"mountPath\":\"/var/run/secrets\"}",
       "mount at \"/var/run/secrets\" was added"},
      {"/volumeMounts|[]", "is missing"},
      {"/volumeMounts/0/readOnly|false", "is another one"},
      {"/name|\"other\"", "its container is missing"},
      {"^hostNetwork|true", "hostNetwork is on"},
      {"^hostPID|true", "hostPID is on"},
      {"^hostIPC|true", "hostIPC is on"},
      {"^shareProcessNamespace|true", "shareProcessNamespace is on"},
      {"^automountServiceAccountToken|true", "token"},
      {"^enableServiceLinks|true", "services"},
      {"^restartPolicy|\"Always\"", "restarted"},
      {"^activeDeadlineSeconds|null", "longest life"},
      {"^initContainers|[{\"name\":\"istio-init\"}]", "\"istio-init\" was added"},
      {"^containers/1|{\"name\":\"istio-proxy\"}", "\"istio-proxy\" was added"},
      {"^volumes/3|{\"name\":\"kube-api-access\",\"projected\":{}}", "\"kube-api-access\" was added"},
      {"^volumes/1/emptyDir|{\"sizeLimit\":\"536870912\"}", "\"workspace\" is missing, or is another one"},
      {"^volumes/1/emptyDir/sizeLimit|\"1Ti\"", "\"workspace\" is missing, or is another one"},
      {"^volumes/0/configMap/name|\"x\"", "\"cofferdam-programs\" is missing, or is another one"},
      {"=labels|{}", "labels"},
      {"=annotations|{}", "annotation"}};
  for (const auto& [change, words] : changes) {
    const std::string text = change;
    const std::size_t bar = text.find('|');
    json::value pod = admitted(asked());
    std::string pointer = text.substr(1, bar - 1);
    pointer = (text[0] == '/' ? "/spec/containers/0/" : text[0] == '^' ? "/spec/" : "/metadata/") + pointer;
    set_at(pod, pointer, json::parse(text.substr(bar + 1)));
    const std::string sentence = sentence_of([&] { check_pod(asked(), pod.as_object()).require(); });
    EXPECT_NE(sentence.find(words), std::string::npos) << change << ": " << sentence;
  }
}

TEST(PodCheck, a_mirror_may_replace_the_registry_of_the_image) {
  json::value pod = admitted(asked());
  set_at(pod, "/spec/containers/0/image", "mirror.example/docker.io/library/python:3.12-slim");
  EXPECT_NO_THROW(check_pod(asked(), pod.as_object()).require());
}

TEST(PodCheck, a_pod_that_waits_for_its_warden_is_checked_like_any_other) {
  const json::object request = pod_request("x", "cofferdam-1", "", pod_options()).body();
  const pod_check check = check_pod(request, admitted(request));
  EXPECT_TRUE(check.missing().empty()) << check.missing().front();
  EXPECT_EQ(check.isolation().of(isolation_kind::files), "the image's files, read-only");
  const std::vector<std::pair<const char*, const char*>> changes{
      {"/spec/containers/0/command/2|\"sleep 1000\"", "first process"},
      {"/spec/volumes/0|{\"name\":\"cofferdam-programs\",\"hostPath\":{\"path\":\"/bin\"}}",
       "\"cofferdam-programs\" is missing, or is another one"},
      {"/spec/volumes/0/emptyDir/sizeLimit|\"1Ti\"", "\"cofferdam-programs\" is missing, or is another one"}};
  for (const auto& [change, words] : changes) {
    const std::string text = change;
    const std::size_t bar = text.find('|');
    json::value pod = admitted(request);
    set_at(pod, text.substr(0, bar), json::parse(text.substr(bar + 1)));
    const std::string sentence = sentence_of([&] { check_pod(request, pod.as_object()).require(); });
    EXPECT_NE(sentence.find(words), std::string::npos) << change << ": " << sentence;
  }
}

TEST(PodCheck, a_runtime_class_that_was_dropped_is_named) {
  const json::object request = asked(pod_options().runtime_class("gvisor"));
  json::object pod = admitted(request);
  pod["spec"].as_object().erase("runtimeClassName");
  EXPECT_NE(sentence_of([&] { check_pod(request, pod).require(); }).find("runtime class"), std::string::npos);
}

TEST(PodCheck, an_answer_without_a_spec_has_no_walls) {
  const pod_check check = check_pod(asked(), json::object());
  EXPECT_GE(check.missing().size(), 10U);
  for (std::size_t kind = 0; kind < isolation_report::count; ++kind)
    EXPECT_EQ(check.isolation().of(static_cast<isolation_kind>(kind)), "none") << kind;
}

TEST(PodCheck, a_wall_that_the_patch_removes_is_no_error_but_is_not_reported_either) {
  const json::object request = asked(pod_options().merge_patch(R"({"spec": {"automountServiceAccountToken": true}})"));
  const pod_check check = check_pod(request, admitted(request));
  EXPECT_TRUE(check.missing().empty());
  EXPECT_EQ(check.isolation().of(isolation_kind::secrets), "none");
}

pod_verdict verdict_of(const std::string& status, const std::string& metadata = "{}") {
  return judge_pod(json::parse(R"({"metadata":)" + metadata + R"(,"status":)" + status + "}").as_object());
}

std::string in_state(const std::string& state, const std::string& rest = "") {
  return R"({"phase":"Pending","containerStatuses":[{"name":"other","state":{"running":{}}},{"name":"sandbox","state":)" +
         state + "}]" + rest + "}";
}

TEST(PodStatus, each_state_has_its_phase) {
  const auto waiting = [](const std::string& reason) {
    return in_state(R"({"waiting":{"reason":")" + reason + R"("}})");
  };
  const auto failed = [](const std::string& reason) { return R"({"phase":"Failed","reason":")" + reason + "\"}"; };
  const auto disrupted = [](const std::string& reason) {
    return R"({"phase":"Running","conditions":[{"type":"DisruptionTarget","status":"True","reason":")" + reason +
           "\"}]}";
  };
  const std::vector<std::pair<std::string, pod_phase>> states{
      {"{}", pod_phase::starting},
      {R"({"phase":"Pending"})", pod_phase::starting},
      {waiting("ContainerCreating"), pod_phase::starting},
      {in_state(R"({"running":{"startedAt":"x"}})"), pod_phase::running},
      {waiting("ErrImagePull"), pod_phase::image},
      {waiting("ImagePullBackOff"), pod_phase::image},
      {waiting("InvalidImageName"), pod_phase::image},
      {waiting("ErrImageNeverPull"), pod_phase::image},
      {waiting("CreateContainerConfigError"), pod_phase::configuration},
      {waiting("CreateContainerError"), pod_phase::start},
      {waiting("RunContainerError"), pod_phase::start},
      {R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"}]})",
       pod_phase::unschedulable},
      {R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]})",
       pod_phase::starting},
      {in_state(R"({"terminated":{"reason":"OOMKilled","exitCode":137}})"), pod_phase::out_of_memory},
      {in_state(R"({"terminated":{"reason":"Completed","exitCode":0}})"), pod_phase::ended},
      {in_state(R"({"terminated":{"reason":"StartError","exitCode":128}})"), pod_phase::start},
      {in_state(R"({"terminated":{"reason":"Error","exitCode":137}})", R"(,"reason":"DeadlineExceeded")"),
       pod_phase::deadline},
      {in_state(R"({"terminated":{"reason":"Error","exitCode":143}})"), pod_phase::evicted},
      {failed("Evicted"), pod_phase::evicted},
      {failed("DeadlineExceeded"), pod_phase::deadline},
      {failed("OutOfmemory"), pod_phase::evicted},
      {failed("NodeLost"), pod_phase::node_lost},
      {failed("Terminated"), pod_phase::node_lost},
      {failed(""), pod_phase::evicted},
      {R"({"phase":"Running","reason":"NodeLost"})", pod_phase::node_lost},
      {R"({"phase":"Unknown"})", pod_phase::node_lost},
      {R"({"phase":"Succeeded"})", pod_phase::ended},
      {disrupted("DeletionByTaintManager"), pod_phase::node_lost},
      {disrupted("PreemptionByScheduler"), pod_phase::evicted}};
  for (const auto& [status, phase] : states) EXPECT_EQ(verdict_of(status).phase(), phase) << status;
  EXPECT_EQ(verdict_of(in_state(R"({"running":{}})"), R"({"deletionTimestamp":"x"})").phase(), pod_phase::deleted);
}

TEST(PodStatus, the_error_names_the_pod_the_words_and_the_advice) {
  struct row {
    std::string status;
    exec_errc code;
    const char* words;
  };
  const auto image = [](const std::string& message) {
    return in_state(R"({"waiting":{"reason":"ErrImagePull","message":")" + message + R"("}})");
  };
  const std::vector<row> rows{
      {image("manifest unknown"), exec_errc::not_found, "check the name and the tag"},
      {image("401 Unauthorized"), exec_errc::permission_denied, "pull_secret()"},
      {image("dial tcp: i/o timeout"), exec_errc::provider_failed, "reaches its registry"},
      {in_state(R"({"waiting":{"reason":"InvalidImageName"}})"), exec_errc::invalid_argument, "spelling"},
      {R"({"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes"}]})",
       exec_errc::provider_failed, "\"0/3 nodes\"; lower memory()"},
      {in_state(R"({"terminated":{"reason":"OOMKilled","exitCode":137}})"), exec_errc::provider_failed,
       "raise memory()"}};
  for (const row& each : rows) {
    const error failure = pod_error(verdict_of(each.status), "cofferdam-1", false);
    EXPECT_EQ(failure.code(), each.code) << failure.what();
    EXPECT_NE(std::string(failure.what()).find(each.words), std::string::npos) << failure.what();
    EXPECT_NE(std::string(failure.what()).find("the pod \"cofferdam-1\""), std::string::npos);
  }
  EXPECT_EQ(pod_error(verdict_of(R"({"phase":"Unknown"})"), "p", true).code(), exec_errc::provider_lost);
  const error ended = pod_error(verdict_of(R"({"phase":"Succeeded"})"), "p", true);
  EXPECT_EQ(std::string(ended.what()).find("no session came"), std::string::npos) << ended.what();
  EXPECT_EQ(pod_error(verdict_of(R"({"phase":"Unknown"})"), "p", true).cause(), std::error_code());
  const error full = pod_error(verdict_of(in_state(R"({"terminated":{"reason":"OOMKilled"}})")), "p", true);
  EXPECT_EQ(full.code(), exec_errc::provider_lost);
  EXPECT_EQ(full.cause(), std::errc::not_enough_memory);
}

TEST(CreationRate, a_burst_is_free_and_then_pods_are_spaced) {
  using namespace std::chrono_literals;
  creation_rate rate;
  const creation_rate::clock::time_point begin{1h};
  for (int i = 0; i < 20; ++i) EXPECT_EQ(rate.reserve("https://a", begin), 0ms) << i;
  EXPECT_EQ(rate.reserve("https://a", begin), 100ms);
  EXPECT_EQ(rate.reserve("https://a", begin), 200ms);
  EXPECT_EQ(rate.reserve("https://b", begin), 0ms);
  EXPECT_EQ(rate.reserve("https://a", begin + 300ms), 0ms);  // three intervals have passed
  EXPECT_EQ(rate.reserve("https://a", begin + 300ms), 100ms);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(rate.reserve("https://a", begin + 1h), 0ms) << i;
  EXPECT_EQ(rate.reserve("https://a", begin + 1h), 100ms);
  rate.give_back("https://a");
  EXPECT_EQ(rate.reserve("https://a", begin + 1h), 100ms);
}

TEST(PodStatus, a_node_of_the_other_architecture_is_recognized) {
  EXPECT_TRUE(is_wrong_machine(verdict_of(in_state(
      R"({"terminated":{"reason":"StartError","exitCode":128,"message":"exec /.cofferdam/x86_64: exec format error"}})"))));
  EXPECT_FALSE(is_wrong_machine(verdict_of(in_state(R"({"terminated":{"reason":"StartError","exitCode":128}})"))));
}

}  // namespace
