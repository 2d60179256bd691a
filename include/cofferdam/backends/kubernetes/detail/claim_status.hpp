// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/api_error.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_containers.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_status.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// The state of a claim of agent-sandbox.
enum class claim_phase {
  unseen,       ///< the controller has not looked at the claim
  waiting,      ///< the sandbox waits for its pod
  ready,        ///< the pod of the sandbox is ready
  no_template,  ///< the controller does not find the template; its view of the cluster may be late
  no_pool,      ///< the controller does not find the warm pool; its view of the cluster may be late
  refused,      ///< the cluster does not allow the pod: a quota, a policy, or an invalid field
  unusable,     ///< the controller rejects the template
  expired,      ///< the claim, or the sandbox, has reached its shutdown time
  ended,        ///< the pod has ended
  deleted,      ///< the claim does not exist any more
};

/// A judgement on a claim. A final claim does not get a sandbox.
using claim_verdict = cluster_verdict<claim_phase, claim_phase::no_pool>;

/// Returns the HTTP status with which the API server has refused to create a sandbox or a pod, as the words of the
/// controller show it; 0 if it has not refused. The controller passes only the message of the API server.
inline unsigned refusal_in(std::string_view words) {
  const auto holds = [words](std::string_view part) { return words.find(part) != std::string_view::npos; };
  if (holds(" is forbidden: ") || holds("denied the request")) return 403;
  return holds(" is invalid: ") ? 422 : 0;
}

/// Returns what has happened to a claim.
/// \param claim  an object of the kind SandboxClaim, from an answer of the API server or from a watch.
/// \par Source   sigs.k8s.io/agent-sandbox v0.5.6, SandboxClaimReconciler::computeReadyCondition.
inline claim_verdict judge_claim(const boost::json::object& claim) {
  const boost::json::object* const metadata = object_at(claim, "metadata");
  if (metadata != nullptr && metadata->contains("deletionTimestamp"))
    return {claim_phase::deleted, "another program deleted it"};
  const boost::json::object* const ready = condition_of(object_at(claim, "status"), "Ready");
  if (ready == nullptr) return {claim_phase::unseen};
  if (text_at(*ready, "status") == "True") return {claim_phase::ready};
  const std::string_view reason = text_at(*ready, "reason");
  const std::string_view message = text_at(*ready, "message");
  std::string words = reason_and_message(reason, message);
  if (reason == "TemplateNotFound") return {claim_phase::no_template, std::move(words)};
  if (reason == "WarmPoolNotFound") return {claim_phase::no_pool, std::move(words)};
  if (reason == "ClaimExpired" || reason == "SandboxExpired") return {claim_phase::expired, std::move(words)};
  if (reason == "PodSucceeded" || reason == "PodFailed") return {claim_phase::ended, std::move(words)};
  for (const std::string_view each : {"InvalidMetadata", "EnvVarsInjectionRejected", "VolumeClaimTemplatesError"})
    if (reason == each) return {claim_phase::unusable, std::move(words)};
  // The controller tries again after each other error.
  if (reason == "ReconcilerError" && refusal_in(message) != 0) return {claim_phase::refused, std::move(words)};
  return {claim_phase::waiting, std::move(words)};
}

/// Returns the name of the sandbox that a claim has got; empty if it has none so far.
inline std::string sandbox_of(const boost::json::object& claim) {
  return std::string(text_at(object_at(object_at(claim, "status"), "sandbox"), "name"));
}

/// Returns the exception for a claim that has not got a sandbox, with advice.
/// \param claim  the name of the claim.
inline error claim_error(const claim_verdict& verdict, std::string_view claim, std::string_view sandbox_template) {
  exec_errc code = exec_errc::provider_failed;
  std::string what;
  std::string advice;
  switch (verdict.phase()) {
    case claim_phase::unseen:
      what = "was not looked at by the controller of agent-sandbox";
      advice = "check that the controller runs, and that it was started with --extensions";
      break;
    case claim_phase::waiting:
    case claim_phase::ready:
      what = "did not become ready in time";
      advice = "run kubectl describe sandboxclaims,sandboxes,pods to see what it waits for, or raise open_timeout()";
      break;
    case claim_phase::no_template:
      code = exec_errc::not_found;
      what = "has no template";
      advice = "kubectl get sandboxtemplates lists those of a namespace, and in_namespace() chooses it";
      break;
    case claim_phase::no_pool:
      code = exec_errc::not_found;
      what = "has no warm pool, because another program has deleted it";
      advice = "open another environment";
      break;
    case claim_phase::refused: {
      what = "gets no pod, because the cluster refuses it";
      const bool is_quota = verdict.words().find("exceeded quota") != std::string::npos;
      code = judge(api_status::read(refusal_in(verdict.words()), verdict.words())).code;
      advice = is_quota ? "the namespace's quota is used up: end other sandboxes, or raise the ResourceQuota"
                        : "the message names the rule: change the SandboxTemplate, or the rule";
      break;
    }
    case claim_phase::unusable:
      code = exec_errc::invalid_argument;
      what = "cannot be fulfilled";
      advice = "the message names the field: change the SandboxTemplate";
      break;
    case claim_phase::expired:
      what = "reached its longest life";
      advice =
          "raise longest_life(), compare the clock of this machine with the cluster's, or open another environment";
      break;
    case claim_phase::ended:
      what = "has a pod that has ended";
      advice = "the first process of the template's container must not end by itself";
      break;
    case claim_phase::deleted:
      what = "was deleted";
      advice = "find out which program deletes claims in the namespace";
      break;
  }
  std::string text = "kubernetes: the claim \"" + one_line(claim, 120) + "\" for a sandbox of the template \"" +
                     one_line(sandbox_template, 120) + "\" " + what;
  if (!verdict.words().empty()) text += ": \"" + one_line(verdict.words(), 400) + "\"";
  return error(code, text + "; " + advice);
}

/// Returns what has happened to the pod of a sandbox. Any container may keep the pod from being ready. A container that
/// has ended is started again, unless the pod's restart policy forbids this.
/// \param container  the container in which commands run.
inline pod_verdict judge_sandbox_pod(const boost::json::object& pod, std::string_view container) {
  pod_verdict verdict = judge_pod(pod, container);
  const boost::json::object* const status = object_at(pod, "status");
  const boost::json::object* const ours = container_status(pod, container);
  const std::string_view phase = text_at(status, "phase");
  const bool has_ended = object_at(object_at(ours, "state"), "terminated") != nullptr;
  const bool starts_again = text_at(object_at(pod, "spec"), "restartPolicy") != "Never" && phase != "Failed" &&
                            phase != "Succeeded" && verdict.phase() != pod_phase::deleted;
  if (has_ended && starts_again) return {pod_phase::starting, verdict.words()};
  if (verdict.phase() != pod_phase::starting && verdict.phase() != pod_phase::running) return verdict;
  for (const char* const kind : {"initContainerStatuses", "containerStatuses"}) {
    const boost::json::array* const containers = array_at(status, kind);
    for (const boost::json::value& each : containers == nullptr ? boost::json::array() : *containers) {
      const boost::json::object* const waiting = object_at(object_at(each.if_object(), "state"), "waiting");
      if (waiting == nullptr) continue;
      pod_verdict other = pod_judge::of_waiting(*waiting);
      if (other.is_final()) return other;
    }
  }
  const boost::json::object* const ready = condition_of(status, "Ready");
  if (ready != nullptr && text_at(*ready, "status") == "True") return verdict;
  return {pod_phase::starting, verdict.phase() == pod_phase::running ? "it runs, but is not ready" : ""};
}

/// Returns the exception for the pod of a sandbox that cannot be used, with advice.
inline error sandbox_pod_error(const pod_verdict& verdict, std::string_view pod, std::string_view sandbox_template) {
  pod_complaint complaint = complaint_about(verdict);
  const std::string change = "change the SandboxTemplate";
  switch (verdict.phase()) {
    case pod_phase::starting:
    case pod_phase::running: complaint.what = "did not become ready in time"; break;
    case pod_phase::unschedulable:
      complaint.advice = change + ", add a node, or set node_wait() if the cluster adds nodes";
      break;
    case pod_phase::image: complaint.advice = "check the image and its pull secrets in the SandboxTemplate"; break;
    case pod_phase::start:
      complaint.what = "has a container that cannot run";
      complaint.advice = "its first process must start, and must not end by itself: " + change;
      break;
    case pod_phase::ended:
      complaint.what = "has ended";
      complaint.advice = "its first process must not end by itself: " + change;
      break;
    case pod_phase::out_of_memory:
    case pod_phase::evicted:
    case pod_phase::deadline: complaint.advice = "raise the limits in the SandboxTemplate"; break;
    case pod_phase::configuration:
    case pod_phase::node_lost:
    case pod_phase::deleted: break;
  }
  return pod_error(
      verdict, "\"" + one_line(pod, 120) + "\" of the template \"" + one_line(sandbox_template, 120) + "\"", complaint);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
