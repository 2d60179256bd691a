// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/pod_containers.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// The state of a pod.
enum class pod_phase {
  starting,       ///< the pod waits for a node, an image or its start
  running,        ///< the first process runs
  unschedulable,  ///< no node fits at the moment; a new node, or the end of another pod, may change this
  image,          ///< the image cannot be had
  configuration,  ///< the container cannot be created as requested
  start,          ///< the first process could not be started, or has failed
  out_of_memory,
  evicted,    ///< the node ended the pod: a limit of disk space, or the node itself is short of something
  deadline,   ///< the pod has reached its longest life
  node_lost,  ///< the node does not answer any more, shuts down or was removed
  deleted,    ///< the pod is being deleted, or does not exist any more
  ended,      ///< the first process has ended by itself: no session came in the hold time
};

/// A judgement on an object of the cluster.
/// \tparam LastOpen  the last phase in which the object may still become usable.
template <class Phase, Phase LastOpen>
class cluster_verdict {
 public:
  cluster_verdict(Phase phase, std::string words = {}) : phase_(phase), words_(std::move(words)) {}
  Phase phase() const noexcept { return phase_; }
  /// Returns the cluster's own words: untrusted.
  const std::string& words() const noexcept { return words_; }
  /// Returns true if the object will never become usable: no session begins in the pod any more.
  bool is_final() const noexcept { return phase_ > LastOpen; }

 private:
  Phase phase_;
  std::string words_;
};

/// A judgement on a pod.
using pod_verdict = cluster_verdict<pod_phase, pod_phase::unschedulable>;

// Judges a pod by its status.
class pod_judge {
 public:
  pod_judge(const boost::json::object& pod, std::string_view container)
      : metadata_(object_at(pod, "metadata")),
        status_(object_at(pod, "status")),
        container_(container_status(pod, container)) {}

  pod_verdict judge() const {
    const boost::json::object* const states = object_at(container_, "state");
    if (const boost::json::object* const ended = object_at(states, "terminated")) return of_end(*ended);
    const std::string_view reason = text_at(status_, "reason");
    const std::string_view phase = text_at(status_, "phase");
    if (phase == "Failed" || reason == "NodeLost") return of_failure(reason);
    if (const boost::json::object* const target = disruption()) return of_disruption(*target);
    if (metadata_ != nullptr && metadata_->contains("deletionTimestamp"))
      return {pod_phase::deleted, "another program deleted it"};
    if (phase == "Unknown")
      return {pod_phase::node_lost, reason_and_message("the node does not answer", text_at(status_, "message"))};
    if (phase == "Succeeded") return {pod_phase::ended};
    if (const boost::json::object* const waiting = object_at(states, "waiting")) return of_waiting(*waiting);
    if (object_at(states, "running") != nullptr) return {pod_phase::running};
    if (const boost::json::object* const scheduled = condition_of(status_, "PodScheduled");
        text_at(scheduled, "status") == "False" && text_at(scheduled, "reason") == "Unschedulable")
      return {pod_phase::unschedulable, std::string(text_at(*scheduled, "message"))};
    return {pod_phase::starting};
  }

  /// Judges a container that waits: its image may be missing, for example.
  static pod_verdict of_waiting(const boost::json::object& waiting) {
    const std::string_view reason = text_at(waiting, "reason");
    const std::string_view message = text_at(waiting, "message");
    for (const std::string_view each : {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
                                        "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"})
      if (reason == each) return {pod_phase::image, reason_and_message(reason, message)};
    if (reason == "CreateContainerConfigError") return {pod_phase::configuration, reason_and_message(reason, message)};
    for (const std::string_view each :
         {"CreateContainerError", "RunContainerError", "CrashLoopBackOff", "PreStartHookError", "PostStartHookError"})
      if (reason == each) return {pod_phase::start, reason_and_message(reason, message)};
    return {pod_phase::starting};
  }

 private:
  /// The exit status of the first process of a pod after SIGTERM.
  static constexpr int told_to_end = 143;

  static bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

  const boost::json::object* disruption() const {
    const boost::json::object* const target = condition_of(status_, "DisruptionTarget");
    return text_at(target, "status") == "True" ? target : nullptr;
  }

  pod_verdict of_end(const boost::json::object& ended) const {
    const std::string_view reason = text_at(ended, "reason");
    const std::string_view pods = text_at(status_, "reason");
    if (reason == "OOMKilled") return {pod_phase::out_of_memory};
    if (!pods.empty()) return of_failure(pods);
    if (number_at(ended, "exitCode") == 0 && !holds(reason, "Error") && !holds(reason, "CannotRun"))
      return {pod_phase::ended};
    if (const boost::json::object* const target = disruption()) return of_disruption(*target);
    if (metadata_ != nullptr && metadata_->contains("deletionTimestamp"))
      return {pod_phase::deleted, "another program deleted it"};
    if (number_at(ended, "exitCode") == told_to_end) return {pod_phase::evicted, "its node told it to end"};
    return {pod_phase::start, reason_and_message(reason, text_at(ended, "message"))};
  }

  pod_verdict of_failure(std::string_view reason) const {
    const std::string words = reason_and_message(reason, text_at(status_, "message"));
    if (reason == "DeadlineExceeded") return {pod_phase::deadline};
    if (reason == "NodeLost" || reason == "NodeShutdown" || reason == "Shutdown" || reason == "Terminated" ||
        reason == "NodeAffinity")
      return {pod_phase::node_lost, words};
    if (const boost::json::object* const target = disruption(); target != nullptr && reason.empty())
      return of_disruption(*target);
    // Evicted, Preempting, OutOfmemory, OutOfcpu, UnexpectedAdmissionError: the node refused or ended the pod.
    return {pod_phase::evicted, words};
  }

  static pod_verdict of_disruption(const boost::json::object& target) {
    const std::string_view reason = text_at(target, "reason");
    const std::string words = reason_and_message(reason, text_at(target, "message"));
    if (reason == "DeletionByTaintManager" || reason == "DeletionByPodGC") return {pod_phase::node_lost, words};
    return {pod_phase::evicted, words};
  }

  const boost::json::object* metadata_;
  const boost::json::object* status_;
  const boost::json::object* container_;  // the status of the container
};

/// Returns what has happened to a pod.
/// \param pod        the object of a pod, from an answer of the API server or from a watch.
/// \param container  the container in which commands run.
inline pod_verdict judge_pod(const boost::json::object& pod, std::string_view container = container_name) {
  return pod_judge(pod, container).judge();
}

/// Returns true if the node has another architecture than the warden: the caller then tries the other warden.
inline bool is_wrong_machine(const pod_verdict& verdict) {
  return verdict.phase() == pod_phase::start && verdict.words().find("exec format error") != std::string::npos;
}

/// The parts of an error message about a pod, besides its name and the cluster's words.
class pod_complaint {
 public:
  exec_errc code = exec_errc::provider_failed;
  std::string what;
  std::string advice;
};

/// Returns what is wrong with a pod of this library that cannot be used.
inline pod_complaint complaint_about(const pod_verdict& verdict) {
  pod_complaint result;
  const std::string_view words = verdict.words();
  const auto holds = [words](std::string_view part) { return words.find(part) != std::string_view::npos; };
  switch (verdict.phase()) {
    case pod_phase::starting:
    case pod_phase::running:
      result.what = "did not start in time";
      result.advice = "kubectl get events shows what it waited for; raise open_timeout() if it only needs more time";
      break;
    case pod_phase::unschedulable:
      result.what = "fits on no node";
      result.advice =
          "lower memory(), cpus() or gpus(), check node_selector() and tolerate(), or set node_wait() if the "
          "cluster adds nodes";
      break;
    case pod_phase::image:
      result.what = "cannot get its image";
      result.code = exec_errc::not_found;
      if (holds("InvalidImageName")) {
        result.code = exec_errc::invalid_argument;
        result.advice = "the name of the image is invalid: check its spelling";
      } else if (holds("ErrImageNeverPull")) {
        result.advice = "the node does not have the image: load it there, or choose another pull()";
      } else if (holds("401") || holds("403") || holds("unauthorized") || holds("denied")) {
        result.code = exec_errc::permission_denied;
        result.advice = "the registry requires a login, or has no such image: set pull_secret(), or check the name";
      } else if (holds("not found") || holds("manifest unknown")) {
        result.advice = "the registry has no such image: check the name and the tag";
      } else {
        result.code = exec_errc::provider_failed;
        result.advice = "check the name of the image, and whether the node reaches its registry";
      }
      break;
    case pod_phase::configuration:
      result.what = "cannot be created";
      result.advice = "a ConfigMap or Secret is missing, or the image's user is not allowed: the message names it";
      break;
    case pod_phase::start:
      result.what = "has a first process that cannot run";
      result.advice =
          "check that the image is for Linux and for the node's architecture, and that the runtime class works";
      break;
    case pod_phase::out_of_memory:
      result.what = "exceeded its memory, and the kernel ended all of its processes";
      result.advice = "raise memory(), or let the commands use less; files in the workspace count, too";
      break;
    case pod_phase::evicted:
      result.what = "was ended by its node";
      result.advice =
          "raise ephemeral_storage() or workspace_size() if a limit is named; otherwise open another environment";
      break;
    case pod_phase::deadline:
      result.what = "reached its longest life";
      result.advice = "raise longest_life(), or open another environment";
      break;
    case pod_phase::node_lost:
      result.what = "lost its node";
      result.advice = "open another environment";
      break;
    case pod_phase::deleted:
      result.what = "was deleted";
      result.advice = "find out which program deletes pods in the namespace";
      break;
    case pod_phase::ended:
      result.what = "has ended, because no session came in its hold time";
      result.advice = "raise hold_time(), or open another environment";
      break;
  }
  return result;
}

/// Returns the exception for a pod that cannot be used.
/// \param pod  the name of the pod, in quotes, with more words about it.
inline error pod_error(const pod_verdict& verdict, const std::string& pod, const pod_complaint& complaint) {
  std::string text = "kubernetes: the pod " + pod + " " + complaint.what;
  if (!verdict.words().empty()) text += ": \"" + one_line(verdict.words(), 400) + "\"";
  const bool is_full = verdict.phase() == pod_phase::out_of_memory;
  return error(complaint.code, text + "; " + complaint.advice,
               is_full ? make_error_code(std::errc::not_enough_memory) : std::error_code());
}

/// Returns the exception for a pod of this library that cannot be used, with advice.
/// \param was_open  true if the environment was open, so that its commands are lost.
inline error pod_error(const pod_verdict& verdict, const std::string& pod, bool was_open) {
  pod_complaint complaint = complaint_about(verdict);
  if (was_open && verdict.phase() == pod_phase::ended) {
    complaint.what = "has ended, because the connection to it was lost for its hold time, or its node told it to end";
    complaint.advice = "kubectl get events may have the reason; open another environment";
  }
  if (was_open && complaint.code == exec_errc::provider_failed) complaint.code = exec_errc::provider_lost;
  return pod_error(verdict, "\"" + one_line(pod, 120) + "\"", complaint);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
