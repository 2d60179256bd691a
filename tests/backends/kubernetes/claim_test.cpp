// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/kubernetes/detail/claim_request.hpp>
#include <cofferdam/backends/kubernetes/detail/claim_status.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_status.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/error.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using namespace cofferdam::kubernetes;
using namespace cofferdam::kubernetes::detail;
using namespace std::chrono_literals;
namespace json = boost::json;

json::object parsed(const std::string& text) { return json::parse(text).as_object(); }

TEST(ClaimRequest, a_claim_names_the_pool_and_ends_after_its_longest_life) {
  const pod_options options = pod_options().longest_life(90s).label("team", "red").annotation("note", "any text");
  const std::chrono::system_clock::time_point now{std::chrono::seconds(1767225599)};  // 2025-12-31T23:59:59Z
  const json::object claim = claim_request("cofferdam-1", "pool", options, now);
  EXPECT_EQ(claim, parsed(R"({
    "apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxClaim",
    "metadata": {"name": "cofferdam-1", "annotations": {"note": "any text"},
                 "labels": {"app.kubernetes.io/managed-by": "cofferdam", "cofferdam/sandbox": "1", "team": "red"}},
    "spec": {"warmPoolRef": {"name": "pool"},
             "lifecycle": {"shutdownTime": "2026-01-01T00:01:29Z", "shutdownPolicy": "Delete",
                           "ttlSecondsAfterFinished": 60}}})"));
}

TEST(ClaimRequest, the_pool_with_the_most_ready_sandboxes_is_chosen) {
  const auto pool = [](const std::string& name, const std::string& of, const std::string& rest) {
    return R"({"metadata": {"name": ")" + name + R"("}, "spec": {"sandboxTemplateRef": {"name": ")" + of + R"("}})" +
           rest + "}";
  };
  const json::object list = parsed(
      "{\"items\": [" + pool("none", "t", "") + "," + pool("two", "t", R"(, "status": {"readyReplicas": 2})") + "," +
      pool("one", "t", R"(, "status": {"readyReplicas": 1})") + "," +
      pool("other", "u", R"(, "status": {"readyReplicas": 9})") +
      R"(, {"metadata": {"name": "ends", "deletionTimestamp": "x"}, "spec": {"sandboxTemplateRef": {"name": "v"}}}]})");
  EXPECT_EQ(choose_pool(list, "t"), "two");
  EXPECT_EQ(choose_pool(list, "u"), "other");
  EXPECT_EQ(choose_pool(list, "v"), "");
  EXPECT_EQ(choose_pool(json::object(), "t"), "");
  EXPECT_EQ(template_of(pool_request("t")), "t");
  EXPECT_EQ(pool_request("t").at("spec").at("replicas"), 0);
}

TEST(ClaimRequest, the_pod_of_a_sandbox_has_its_name_or_the_noted_one) {
  EXPECT_EQ(pod_of(parsed(R"({"metadata": {"name": "s"}})")), "s");
  EXPECT_EQ(pod_of(parsed(R"({"metadata": {"name": "s", "annotations": {"agents.x-k8s.io/pod-name": "p"}}})")), "p");
}

std::string with_ready(const std::string& status, const std::string& reason, const std::string& message = "") {
  return R"({"status": {"conditions": [{"type": "Finished", "status": "True", "reason": "x"},
            {"type": "Ready", "status": ")" +
         status + R"(", "reason": ")" + reason + R"(", "message": ")" + message + R"("}]}})";
}

TEST(ClaimStatus, each_condition_has_its_phase) {
  const std::string forbidden = R"(Error seen: pods \"c\" is forbidden: exceeded quota: q, requested: pods=1)";
  const std::vector<std::pair<std::string, claim_phase>> rows{
      {"{}", claim_phase::unseen},
      {R"({"status": {"conditions": []}})", claim_phase::unseen},
      {with_ready("True", "DependenciesReady"), claim_phase::ready},
      {with_ready("False", "DependenciesNotReady", "Pod exists with phase: Pending"), claim_phase::waiting},
      {with_ready("False", "SandboxMissing"), claim_phase::waiting},
      {with_ready("False", "AdoptionConflict"), claim_phase::waiting},
      {with_ready("False", "SandboxSuspended"), claim_phase::waiting},
      {with_ready("False", "TemplateNotFound"), claim_phase::no_template},
      {with_ready("False", "WarmPoolNotFound"), claim_phase::no_pool},
      {with_ready("False", "ReconcilerError", "Error seen: connection refused"), claim_phase::waiting},
      {with_ready("False", "ReconcilerError", forbidden), claim_phase::refused},
      {with_ready("False", "ReconcilerError", R"(Pod \"c\" is invalid: spec.containers[0].image: Required value)"),
       claim_phase::refused},
      {with_ready("False", "ReconcilerError", R"(admission webhook \"w\" denied the request: no)"),
       claim_phase::refused},
      {with_ready("False", "VolumeClaimTemplatesError"), claim_phase::unusable},
      {with_ready("False", "ClaimExpired"), claim_phase::expired},
      {with_ready("False", "SandboxExpired"), claim_phase::expired},
      {with_ready("False", "PodFailed"), claim_phase::ended},
      {with_ready("False", "PodSucceeded"), claim_phase::ended},
      {R"({"metadata": {"deletionTimestamp": "x"}})", claim_phase::deleted}};
  for (const auto& [claim, phase] : rows) EXPECT_EQ(judge_claim(parsed(claim)).phase(), phase) << claim;
  EXPECT_EQ(judge_claim(parsed(with_ready("False", "R", "m"))).words(), "R: m");
  EXPECT_EQ(sandbox_of(parsed(R"({"status": {"sandbox": {"name": "s"}}})")), "s");
  EXPECT_EQ(sandbox_of(parsed(R"({"status": {"sandbox": {}}})")), "");
}

TEST(ClaimStatus, the_error_names_the_claim_the_template_the_words_and_the_advice) {
  class row {
   public:
    std::string claim;
    exec_errc code;
    const char* words;
  };
  const auto refused = [](const std::string& message) { return with_ready("False", "ReconcilerError", message); };
  const std::vector<row> rows{
      {"{}", exec_errc::provider_failed, "--extensions"},
      {with_ready("False", "DependenciesNotReady", "Pod does not exist"), exec_errc::provider_failed,
       "\"DependenciesNotReady: Pod does not exist\"; run kubectl describe"},
      {with_ready("False", "TemplateNotFound"), exec_errc::not_found, "kubectl get sandboxtemplates"},
      {refused(R"(pods \"c\" is forbidden: exceeded quota: q)"), exec_errc::provider_failed, "raise the ResourceQuota"},
      {refused(R"(pods \"c\" is forbidden: violates PodSecurity)"), exec_errc::permission_denied, "the rule"},
      {refused(R"(Pod \"c\" is invalid: spec: x)"), exec_errc::invalid_argument, "change the SandboxTemplate"},
      {with_ready("False", "ClaimExpired"), exec_errc::provider_failed, "the clock of this machine"}};
  for (const row& each : rows) {
    const error failure = claim_error(judge_claim(parsed(each.claim)), "cofferdam-1", "tools");
    EXPECT_EQ(failure.code(), each.code) << failure.what();
    for (const std::string_view part : {std::string_view(each.words), std::string_view("\"cofferdam-1\""),
                                        std::string_view("of the template \"tools\"")})
      EXPECT_NE(std::string(failure.what()).find(part), std::string::npos) << failure.what();
  }
}

std::string pod_in(const std::string& state, const std::string& rest = "", const std::string& policy = "Always") {
  return R"({"spec": {"restartPolicy": ")" + policy + R"("}, "status": {"containerStatuses": [
            {"name": "main", "state": )" +
         state + "}]" + rest + "}}";
}

TEST(SandboxPod, any_container_may_keep_the_pod_from_being_ready) {
  const std::string running = R"({"running": {}})";
  const std::string crashed = R"({"terminated": {"reason": "Error", "exitCode": 1}})";
  const std::string ready = R"(, "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}])";
  const std::string init =
      R"(, "initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "ErrImagePull"}}}])";
  const std::string waits = R"({"waiting": {"reason": "PodInitializing"}})";
  const std::vector<std::pair<std::string, pod_phase>> rows{
      {"{}", pod_phase::starting},
      {pod_in(running), pod_phase::starting},
      {pod_in(running, R"(, "conditions": [{"type": "Ready", "status": "False"}])"), pod_phase::starting},
      {pod_in(running, ready), pod_phase::running},
      {pod_in(waits, init), pod_phase::image},
      {pod_in(R"({"waiting": {"reason": "ImagePullBackOff"}})"), pod_phase::image},
      {pod_in(R"({"waiting": {"reason": "CrashLoopBackOff"}})"), pod_phase::start},
      {pod_in(crashed), pod_phase::starting},
      {pod_in(crashed, R"(, "phase": "Failed")", "Never"), pod_phase::start},
      {pod_in(R"({"terminated": {"exitCode": 0}})", R"(, "phase": "Succeeded")", "OnFailure"), pod_phase::ended},
      {R"({"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}})",
       pod_phase::unschedulable},
      {R"({"metadata": {"deletionTimestamp": "x"}, "status": {}})", pod_phase::deleted}};
  for (const auto& [pod, phase] : rows) EXPECT_EQ(judge_sandbox_pod(parsed(pod), "main").phase(), phase) << pod;
}

TEST(SandboxPod, the_error_advises_to_change_the_template) {
  const auto failure_of = [](const std::string& pod) {
    return sandbox_pod_error(judge_sandbox_pod(parsed(pod), "main"), "pod-1", "tools");
  };
  const error image = failure_of(pod_in(R"({"waiting": {"reason": "ErrImageNeverPull", "message": "no x"}})"));
  EXPECT_EQ(image.code(), exec_errc::not_found);
  EXPECT_STREQ(image.what(),
               "kubernetes: the pod \"pod-1\" of the template \"tools\" cannot get its image: \"ErrImageNeverPull: no "
               "x\"; check the image and its pull secrets in the SandboxTemplate");
  const error ended = failure_of(pod_in(R"({"terminated": {"exitCode": 0}})", R"(, "phase": "Succeeded")"));
  EXPECT_NE(std::string(ended.what()).find("must not end by itself"), std::string::npos) << ended.what();
}

}  // namespace
