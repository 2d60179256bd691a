// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/credentials.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_status.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/net/http_message.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <charconv>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

// A pod whose program has died ends by itself after its hold time, but its object stays, until a later program of this
// library deletes it. A pod that has not started does not even end.

/// Returns the time at which the last container of a pod ended; no value if one runs, or if the time is not known.
inline std::optional<std::chrono::system_clock::time_point> end_of_pod(const boost::json::object& pod) {
  const boost::json::array* const containers = array_at(object_at(&pod, "status"), "containerStatuses");
  std::optional<std::chrono::system_clock::time_point> last;
  for (const boost::json::value& each : containers == nullptr ? boost::json::array() : *containers) {
    const boost::json::object* const ended = object_at(object_at(each.if_object(), "state"), "terminated");
    const auto when = parse_kube_time(text_at(ended, "finishedAt"));
    if (!when) return std::nullopt;
    if (!last || *last < *when) last = when;
  }
  return last;
}

/// Returns the time at which a pod failed before its containers ran, such as a pod whose image could not be pulled; no
/// value if it has not failed.
inline std::optional<std::chrono::system_clock::time_point> failure_of_pod(const boost::json::object& pod) {
  const boost::json::object* const status = object_at(&pod, "status");
  if (text_at(status, "phase") != "Failed") return std::nullopt;
  auto last = parse_kube_time(text_at(object_at(&pod, "metadata"), "creationTimestamp"));
  const boost::json::array* const conditions = array_at(status, "conditions");
  for (const boost::json::value& each : conditions == nullptr ? boost::json::array() : *conditions) {
    const auto when = parse_kube_time(text_at(each.if_object(), "lastTransitionTime"));
    if (when && (!last || *last < *when)) last = when;
  }
  return last;
}

/// Returns the time after which a pod that has not started has no owner; no value if the pod does not have it.
inline std::optional<std::chrono::system_clock::time_point> latest_start_of_pod(const boost::json::object& pod) {
  const boost::json::object* const metadata = object_at(&pod, "metadata");
  const auto born = parse_kube_time(text_at(metadata, "creationTimestamp"));
  const std::string_view text = text_at(object_at(metadata, "annotations"), opening_annotation);
  long seconds = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (!born || parsed.ec != std::errc() || seconds < 0 || seconds > 10'000'000) return std::nullopt;
  return *born + std::chrono::seconds(seconds);
}

/// Returns true for a pod of this library that ended some time ago, or that has not started although its owner waits no
/// longer. The owner of a pod that has just ended may still read the reason from its status.
inline bool is_left(const boost::json::object& pod, std::chrono::system_clock::time_point now) {
  constexpr std::chrono::seconds owner_needs(10);
  constexpr std::chrono::minutes clocks_differ(5);
  if (text_at(object_at(object_at(&pod, "metadata"), "labels"), sandbox_label) != "1") return false;
  if (text_at(object_at(&pod, "status"), "phase") == "Pending") {
    const auto latest = latest_start_of_pod(pod);
    return latest && *latest + clocks_differ <= now;
  }
  auto end = end_of_pod(pod);
  if (!end) end = failure_of_pod(pod);
  return end && *end + owner_needs <= now;
}

/// Returns the body of a request that deletes this pod, and no later one of the same name.
inline std::string delete_request(const boost::json::object& pod) {
  boost::json::object conditions;
  conditions["uid"] = json_text(text_at(object_at(&pod, "metadata"), "uid"));
  boost::json::object request;
  request["apiVersion"] = "v1";
  request["kind"] = "DeleteOptions";
  request["gracePeriodSeconds"] = 0;
  request["preconditions"] = std::move(conditions);
  return boost::json::serialize(request);
}

/// The places where this program has looked for ended pods. Any thread may call the functions.
class ended_pod_looks {
 public:
  /// Returns true at most once a minute for each place.
  bool is_time(const std::string& place) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    const auto found = looked_.find(place);
    if (found != looked_.end() && now - found->second < std::chrono::minutes(1)) return false;
    looked_.insert_or_assign(place, now);
    return true;
  }
  /// Makes the next call of `is_time` return true, because pods are left.
  void forget(const std::string& place) {
    const std::lock_guard lock(mutex_);
    looked_.erase(place);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::chrono::steady_clock::time_point> looked_;
};

/// The limits of one call of `delete_ended_pods`, which delays the opening of an environment.
inline constexpr int max_deletions = 25;
inline constexpr std::chrono::milliseconds max_deletion_time{1000};

/// Deletes some of the ended pods, within the limits above.
/// \return  true if it has deleted some, and more may be left.
inline awaitable<bool> delete_some_ended_pods(std::shared_ptr<cluster_api> api) {
  using clock = std::chrono::steady_clock;
  const clock::time_point until = clock::now() + max_deletion_time;
  // The other phases are Pending, Succeeded, Failed, and Unknown; `is_left` looks at the containers.
  const std::string path = api->path("pods") + "?limit=" + std::to_string(max_deletions) +
                           "&labelSelector=" + cofferdam::detail::percent_encoded(std::string(sandbox_label) + "=1") +
                           "&fieldSelector=" + cofferdam::detail::percent_encoded("status.phase!=Running");
  const std::string doing = "list ended pods";
  int deleted = 0;
  std::string next;  // names the next part of the list
  do {
    const std::string part = next.empty() ? path : path + "&continue=" + cofferdam::detail::percent_encoded(next);
    http_response answer =
        co_await api->ask_once("GET", part, std::string(), doing, std::vector<int>(), time_left(until));
    const boost::json::object list = cluster_api::object_of(answer, doing);
    next = text_at(object_at(&list, "metadata"), "continue");
    const boost::json::array* const pods = array_at(list, "items");
    for (const boost::json::value& each : pods == nullptr ? boost::json::array() : *pods) {
      const boost::json::object* const pod = each.if_object();
      if (pod == nullptr || !is_left(*pod, std::chrono::system_clock::now())) continue;
      if (deleted == max_deletions || clock::now() >= until) co_return deleted != 0;
      std::vector<int> fine{404, 409};
      std::optional<error> failure;
      try {
        co_await api->ask_once("DELETE", api->pod_path(text_at(object_at(pod, "metadata"), "name")),
                               delete_request(*pod), "delete an ended pod", std::move(fine), time_left(until));
      } catch (const error& reason) {
        failure = reason;
      }
      if (failure && failure->code() == exec_errc::cancelled) throw *failure;
      if (failure) co_return deleted != 0;  // mostly because the time is over
      ++deleted;
    }
  } while (!next.empty() && clock::now() < until);
  const bool is_unfinished = deleted != 0 && !next.empty();
  co_return is_unfinished;
}

/// Deletes the pods of this library in the namespace that programs which died have left, and which have ended. Begins
/// no request after a second, and waits at most a second for each step of a request; later calls delete the rest.
/// If all are gone, the next look follows after a minute. Without the right to list pods, the pods stay.
/// \throws error{exec_errc::cancelled}.
inline awaitable<void> delete_ended_pods(std::shared_ptr<cluster_api> api) {
  static ended_pod_looks looks;
  const std::string place = api->address() + " " + api->space();
  if (!looks.is_time(place)) co_return;
  try {
    const bool is_rest = co_await delete_some_ended_pods(api);
    if (is_rest) looks.forget(place);
  } catch (const error& reason) {  // the pods can wait
    if (reason.code() == exec_errc::cancelled) throw;
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
