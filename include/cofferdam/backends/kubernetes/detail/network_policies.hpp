// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/api_error.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/names.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/net/http_message.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

// Policies add up: a connection is allowed if any policy that selects the pod allows it.

/// Returns true if an array has this text among its elements.
inline bool has_text(const boost::json::array* texts, std::string_view wanted) {
  for (const boost::json::value& each : texts == nullptr ? boost::json::array() : *texts)
    if (each.is_string() && cofferdam::detail::view_of(each.get_string()) == wanted) return true;
  return false;
}

/// Returns true if an expression of a label selector may hold.
/// \param labels  the labels of the pod.
/// \par Source  Kubernetes API, meta/v1.LabelSelectorRequirement.
inline bool may_hold(const boost::json::object* expression, const boost::json::object& labels) {
  const std::string_view operation = text_at(expression, "operator");
  const boost::json::array* const values = array_at(expression, "values");
  const boost::json::value* const label = labels.if_contains(json_view(text_at(expression, "key")));
  const std::string_view value =
      label != nullptr && label->is_string() ? cofferdam::detail::view_of(label->get_string()) : std::string_view();
  if (operation == "In") return label != nullptr && has_text(values, value);
  if (operation == "NotIn") return label == nullptr || !has_text(values, value);
  if (operation == "Exists") return label != nullptr;
  if (operation == "DoesNotExist") return label == nullptr;
  return true;  // of a later version of the API
}

/// Returns true if a label selector may select a pod. An empty one selects all pods.
/// \param selector  null stands for an empty one.
inline bool may_select(const boost::json::object* selector, const boost::json::object& labels) {
  const boost::json::object* const wanted = object_at(selector, "matchLabels");
  for (const auto& [name, value] : wanted == nullptr ? boost::json::object() : *wanted) {
    const boost::json::value* const found = labels.if_contains(name);
    if (found == nullptr || *found != value) return false;
  }
  const boost::json::array* const expressions = array_at(selector, "matchExpressions");
  for (const boost::json::value& each : expressions == nullptr ? boost::json::array() : *expressions)
    if (!may_hold(each.if_object(), labels)) return false;
  return true;
}

/// Returns true if a NetworkPolicy may allow connections of a pod, or to it.
/// \param policy  an object of the kind NetworkPolicy.
/// \param labels  the labels of the pod.
/// \par Source  Kubernetes API, networking.k8s.io/v1.NetworkPolicySpec.
inline bool may_allow_connections(const boost::json::object& policy, const boost::json::object& labels) {
  const boost::json::object* const spec = object_at(policy, "spec");
  const auto has_rules = [spec](const char* direction) {
    const boost::json::array* const rules = array_at(spec, direction);
    return rules != nullptr && !rules->empty();
  };
  const boost::json::array* const types = array_at(spec, "policyTypes");
  const bool has_types = types != nullptr && !types->empty();  // without them, rules of both directions count
  const bool allows = (has_rules("ingress") && (!has_types || has_text(types, "Ingress"))) ||
                      (has_rules("egress") && (!has_types || has_text(types, "Egress")));
  return allows && may_select(object_at(spec, "podSelector"), labels);
}

/// Reads all NetworkPolicies of the namespace, and throws unless that of this library is among them as it was made, and
/// none of the others may allow connections.
/// \param labels  the labels of the pod.
/// \param part    how many policies one answer may have.
/// \throws error{exec_errc::unsupported} that names the policy which is the reason; error{
///     exec_errc::permission_denied} if the user may not list them.
inline awaitable<void> require_no_hole(std::shared_ptr<cluster_api> api, boost::json::object labels, int part = 500) {
  const std::string path =
      api->path("networkpolicies", "/apis/networking.k8s.io/v1") + "?limit=" + std::to_string(part);
  const std::string doing = "list the NetworkPolicies of the namespace \"" + api->space() + "\"";
  const std::string because = "kubernetes: connections of the pod may be allowed: ";
  static const boost::json::object own = network_policy();
  bool has_own = false;
  std::string next;  // names the next part of the list
  int parts = 0;
  do {
    if (++parts > 1000)
      throw error(exec_errc::provider_failed, "kubernetes: cannot " + doing + ": the list has no end");
    const std::string query = next.empty() ? path : path + "&continue=" + cofferdam::detail::percent_encoded(next);
    std::vector<int> fine{401, 403};
    const http_response answer = co_await api->ask("GET", query, std::string(), doing, std::move(fine));
    if (answer.status() >= 400)
      throw error(exec_errc::permission_denied,
                  "kubernetes: cannot " + doing +
                      ", so that others which allow connections of the pod would not be seen: the user lacks the right "
                      "to list networkpolicies.networking.k8s.io; give it by a Role with the verb list for the "
                      "resource networkpolicies of the group networking.k8s.io",
                  std::error_code(answer.status(), http_status_category()));
    const boost::json::object list = cluster_api::object_of(answer, doing);
    next = text_at(object_at(list, "metadata"), "continue");
    const boost::json::array* const policies = array_at(list, "items");
    if (policies == nullptr) throw error(exec_errc::provider_failed, "kubernetes: cannot " + doing + ": no list came");
    for (const boost::json::value& each : *policies) {
      if (!each.is_object()) continue;
      const boost::json::object& policy = each.get_object();
      const std::string name(text_at(object_at(policy, "metadata"), "name"));
      if (name == network_policy_name) {
        const boost::json::value* const spec = policy.if_contains("spec");
        has_own = spec != nullptr && *spec == own.at("spec") &&
                  may_select(object_at(object_at(own, "spec"), "podSelector"), labels);
      } else if (may_allow_connections(policy, labels)) {
        throw error(exec_errc::unsupported,
                    because + "the NetworkPolicy " + in_quotes(name) + " of the namespace \"" + api->space() +
                        "\" selects it and has rules, and policies add up; delete it, or let it select other pods");
      }
    }
  } while (!next.empty());
  if (!has_own)
    throw error(exec_errc::unsupported, because + "the NetworkPolicy \"" + std::string(network_policy_name) +
                                            "\" of the namespace \"" + api->space() +
                                            "\" was deleted or changed after the pod was made, or the labels of the "
                                            "pod; open a new pod, which makes the policy again");
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
