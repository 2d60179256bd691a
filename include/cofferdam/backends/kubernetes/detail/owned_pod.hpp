// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_object.hpp>
#include <cofferdam/backends/kubernetes/detail/loss_reason.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_status.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// The rules by which a pod of this library is judged.
class own_pod_rules {
 public:
  explicit own_pod_rules(std::string pod) : pod_(std::move(pod)) {}
  pod_verdict judge(const boost::json::object& pod) const { return judge_pod(pod); }
  error failure(const pod_verdict& verdict) const { return pod_error(verdict, pod_, false); }

 private:
  std::string pod_;
};

/// Returns the newest warning among the events of a pod; empty if there is none, or if the user may not read them.
inline awaitable<std::string> last_warning(std::shared_ptr<cluster_object> pod) {
  const std::shared_ptr<cluster_api> api = pod->api();
  const std::string uid(cofferdam::detail::text_at(cofferdam::detail::object_at(pod->seen(), "metadata"), "uid"));
  const std::string path = api->path("events") + "?limit=100&fieldSelector=" +
                           cofferdam::detail::percent_encoded("involvedObject.uid=" + uid + ",type=Warning");
  constexpr std::chrono::seconds limit(2);
  std::string newest;
  std::string text;
  try {
    const http_response answer =
        co_await api->ask_once("GET", path, std::string(), "list the events", std::vector<int>(), limit);
    const boost::json::object list = cluster_api::object_of(answer, "list the events");
    const boost::json::array* const events = cofferdam::detail::array_at(list, "items");
    for (const boost::json::value& each : events == nullptr ? boost::json::array() : *events) {
      const boost::json::object* const event = each.if_object();
      const std::string_view when = cofferdam::detail::text_at(event, "lastTimestamp");
      if (!text.empty() && when < newest) continue;
      newest = when;
      text =
          reason_and_message(cofferdam::detail::text_at(event, "reason"), cofferdam::detail::text_at(event, "message"));
    }
  } catch (const error& reason) {  // the error without the event is better than none
    if (reason.code() == exec_errc::cancelled) throw;
  }
  co_return text;
}

/// Follows a pod until a session can begin in it.
/// \param until      the time at which the wait ends.
/// \param node_wait  how long the pod may be without a node that fits.
/// \param rules      judges the pod, and makes the error.
/// \throws the error that the rules make, as soon as the cluster reports a failure.
template <class Rules>
awaitable<void> follow_until_running(std::shared_ptr<cluster_object> pod, cluster_object::clock::time_point until,
                                     std::chrono::seconds node_wait, Rules rules) {
  using clock = cluster_object::clock;
  std::optional<clock::time_point> unschedulable_since;
  for (;;) {
    const pod_verdict verdict = rules.judge(pod->seen());
    if (verdict.phase() == pod_phase::running) co_return;
    if (verdict.is_final()) throw rules.failure(verdict);
    clock::time_point limit = until;
    if (verdict.phase() == pod_phase::unschedulable) {
      if (!unschedulable_since) unschedulable_since = clock::now();
      limit = std::min(limit, *unschedulable_since + node_wait);
    } else {
      unschedulable_since.reset();
    }
    if (clock::now() >= limit) {
      std::string words = verdict.words();
      if (words.empty()) words = co_await last_warning(pod);
      throw rules.failure(pod_verdict(verdict.phase(), std::move(words)));
    }
    const auto is_news = [&rules, phase = verdict.phase()](const boost::json::object& now) {
      return rules.judge(now).phase() != phase;
    };
    const bool exists = co_await cluster_object::follow(pod, limit, std::ref(is_news));
    if (!exists) throw rules.failure(pod_verdict(pod_phase::deleted));
  }
}

/// A pod that this library creates and deletes, unlike an adopted pod.
class owned_pod : public cluster_object {
 public:
  owned_pod(const std::shared_ptr<cluster_api>& api, const std::string& name)
      : cluster_object(api, api->path("pods"), name, api->shown(name)) {
    // A misspelt field of a merge patch is an error, and not a pod without it.
    creation_query("?fieldValidation=Strict");
    removal_query("?gracePeriodSeconds=0");
  }

  /// Follows the pod until its first process runs. See `follow_until_running`.
  static awaitable<void> until_running(std::shared_ptr<owned_pod> self, clock::time_point until,
                                       std::chrono::seconds node_wait) {
    own_pod_rules rules(self->name());
    return follow_until_running(std::move(self), until, node_wait, std::move(rules));
  }

  /// Finds out why the connection to the pod is lost.
  /// \return  no value if the cluster knows no reason.
  static awaitable<std::optional<error>> why_lost(std::shared_ptr<cluster_api> api, std::string name) {
    return find_loss_reason(std::move(api), name,
                            [name](const std::optional<boost::json::object>& pod) -> std::optional<error> {
                              const pod_verdict verdict = pod ? judge_pod(*pod) : pod_verdict(pod_phase::deleted);
                              if (!verdict.is_final()) return std::nullopt;
                              return pod_error(verdict, name, true);
                            });
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
