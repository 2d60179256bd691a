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

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

// A pod whose program has died ends by itself after its hold time, but its object stays, until a later program of this
// library deletes it.

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

/// Returns true for a pod of this library that ended some time ago. The owner of a pod that has just ended may still
/// ask the cluster for the reason.
inline bool is_left(const boost::json::object& pod, std::chrono::system_clock::time_point now) {
  constexpr std::chrono::seconds owner_needs(10);
  if (text_at(object_at(object_at(&pod, "metadata"), "labels"), sandbox_label) != "1") return false;
  const auto end = end_of_pod(pod);
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

/// Returns true at most once a minute for each place. Any thread may call this function.
inline bool is_time_to_look(const std::string& place) {
  static std::mutex mutex;
  static std::map<std::string, std::chrono::steady_clock::time_point> looked;
  const std::lock_guard lock(mutex);
  const auto now = std::chrono::steady_clock::now();
  const auto found = looked.find(place);
  if (found != looked.end() && now - found->second < std::chrono::minutes(1)) return false;
  looked.insert_or_assign(place, now);
  return true;
}

/// Deletes the pods of this library in the namespace that programs which died have left, and which have ended. Asks the
/// cluster at most once a minute. Without the right to list pods, they stay.
/// \throws error{exec_errc::cancelled}.
inline awaitable<void> delete_ended_pods(std::shared_ptr<cluster_api> api) {
  if (!is_time_to_look(api->address() + " " + api->space())) co_return;
  const std::string selector = cofferdam::detail::percent_encoded(std::string(sandbox_label) + "=1");
  for (const char* const phase : {"Succeeded", "Failed"}) {
    try {
      const std::string doing = "list ended pods";
      http_response answer = co_await api->ask(
          "GET", api->path("pods") + "?limit=100&labelSelector=" + selector + "&fieldSelector=status.phase%3D" + phase,
          std::string(), doing, std::vector<int>());
      const boost::json::object list = cluster_api::object_of(answer, doing);
      const boost::json::array* const pods = array_at(list, "items");
      for (const boost::json::value& each : pods == nullptr ? boost::json::array() : *pods) {
        const boost::json::object* const pod = each.if_object();
        if (pod == nullptr || !is_left(*pod, std::chrono::system_clock::now())) continue;
        std::vector<int> fine{404, 409};
        co_await api->ask("DELETE", api->pod_path(text_at(object_at(pod, "metadata"), "name")), delete_request(*pod),
                          "delete an ended pod", std::move(fine));
      }
    } catch (const error& reason) {
      if (reason.code() == exec_errc::cancelled) throw;
    }
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
