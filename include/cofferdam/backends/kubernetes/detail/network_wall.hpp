// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/net/http_message.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

// Each cluster stores a NetworkPolicy, but only some network plugins enforce it. A pod that can make no connection is
// no proof: it may have no route, while others still reach it. A plugin that enforces a policy drops the packets, so
// that a connection gets no answer.

/// Returns true if a NetworkPolicy may allow connections of a pod. Policies add up, so one is enough.
/// \param policy  an object of the kind NetworkPolicy.
/// \param labels  the labels of the pod; may be null.
inline bool may_allow_connections(const boost::json::object& policy, const boost::json::object* labels) {
  const boost::json::object* const spec = object_at(policy, "spec");
  bool allows = false;
  for (const char* const kind : {"ingress", "egress"}) {
    const boost::json::array* const rules = array_at(spec, kind);
    allows = allows || (rules != nullptr && !rules->empty());
  }
  if (!allows) return false;
  const boost::json::object* const selector = object_at(spec, "podSelector");
  const boost::json::object* const wanted = object_at(selector, "matchLabels");
  if (wanted == nullptr) return true;
  for (const auto& [name, value] : *wanted) {
    const boost::json::value* const found = labels == nullptr ? nullptr : labels->if_contains(name);
    if (found == nullptr || *found != value) return false;
  }
  return true;
}

/// Returns the description for `isolation_kind::network` of a pod with the NetworkPolicy of this library; empty if
/// nothing shows that the policy is enforced.
/// \param end      how a command has ended that prints "try", and then tries a connection which the policy forbids.
/// \param printed  its output.
inline std::string network_wall_after(error_kind end, std::string_view printed) {
  if (end != error_kind::timeout || printed != "try") return {};
  return "a NetworkPolicy against all connections; a connection to the API server got no answer";
}

/// Finds out from inside of a pod if the cluster enforces the NetworkPolicy of this library: tries a connection to the
/// API server, which other pods may make.
/// \param variables  the variables of the container, which have the address of the API server.
/// \param labels     the labels of the pod; may be null. The caller keeps them.
/// \return  as `network_wall_after`; empty also if another policy may allow connections.
inline awaitable<std::string> find_network_wall(std::shared_ptr<sandbox> in, std::string shell,
                                                std::vector<std::string> variables, const boost::json::object* labels) {
  const auto value = [&variables](std::string_view name) {
    for (const std::string& each : variables)
      if (each.starts_with(name) && each.size() > name.size() && each[name.size()] == '=')
        return each.substr(name.size() + 1);
    return std::string();
  };
  const std::string host = value("KUBERNETES_SERVICE_HOST");
  const std::string port = value("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) co_return std::string();
  command attempt = argv(shell, "-c",
                         "if [ \"$BASH_VERSION\" ]; then printf try; exec 3<>\"/dev/tcp/$0/$1\"; "
                         "elif command -v nc >/dev/null; then printf try; nc -w 9 \"$0\" \"$1\" </dev/null; fi",
                         host, port);
  attempt.timeout(std::chrono::seconds(2));
  const command_result result = co_await sandbox::probe(in, std::move(attempt));
  std::string wall = network_wall_after(result.kind(), result.out().text());
  if (wall.empty()) co_return wall;
  // A user without the right to list policies gets no answer, and must know the policies of the namespace.
  const std::shared_ptr<cluster_api> api = in->api();
  const std::string doing = "list the NetworkPolicies of the namespace";
  std::vector<int> fine{401, 403, 404};
  const http_response answer =
      co_await api->ask("GET", api->path("networkpolicies", "/apis/networking.k8s.io/v1") + "?limit=500", std::string(),
                        doing, std::move(fine));
  if (answer.status() != 200) co_return wall;
  const boost::json::object list = cluster_api::object_of(answer, doing);
  const boost::json::array* const policies = array_at(list, "items");
  for (const boost::json::value& each : policies == nullptr ? boost::json::array() : *policies)
    if (each.is_object() && may_allow_connections(each.get_object(), labels)) co_return std::string();
  co_return wall;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
