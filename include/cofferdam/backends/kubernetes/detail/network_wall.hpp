// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/net/http_message.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

// Each cluster stores a NetworkPolicy, but only some network plugins enforce it. A pod that can make no connection is
// no proof: it may have no route, while others still reach it. Plugins that enforce a policy drop the packets (Calico,
// Cilium), or a firewall rule refuses them (kube-router, which is part of K3s).

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

/// The end of an attempt to make a connection that a NetworkPolicy forbids.
enum class forbidden_attempt {
  no_answer,  ///< the packets were dropped
  refused,    ///< the answer was a refusal: of a firewall, or of an address where nothing listens
  other,      ///< the connection was made, there is no route, or the image has no program for the attempt
};

/// Returns how an attempt has ended.
/// \param end      how the command has ended, which prints "try" before the attempt.
/// \param printed  its output.
/// \param errors   its error output.
inline forbidden_attempt attempt_after(error_kind end, std::string_view printed, std::string_view errors) {
  if (printed != "try") return forbidden_attempt::other;
  if (end == error_kind::timeout) return forbidden_attempt::no_answer;
  const bool is_refused = end == error_kind::none && errors.find("Connection refused") != std::string_view::npos;
  return is_refused ? forbidden_attempt::refused : forbidden_attempt::other;
}

/// Finds out from inside of a pod if the cluster enforces the NetworkPolicy of this library: tries connections that it
/// forbids. The object is shared by its coroutines.
class network_wall {
 public:
  /// Runs a command of this library in the pod, as `sandbox::probe` does.
  using runner = std::function<awaitable<command_result>(command)>;

  /// \param shell      the shell of the pod.
  /// \param variables  the variables of the container, which have the address of the API server.
  /// \param labels     the labels of the pod.
  network_wall(std::shared_ptr<cluster_api> api, std::string shell, const std::vector<std::string>& variables,
               boost::json::object labels)
      : api_(std::move(api)),
        shell_(std::move(shell)),
        host_(value_of(variables, "KUBERNETES_SERVICE_HOST")),
        port_(value_of(variables, "KUBERNETES_SERVICE_PORT")),
        labels_(std::move(labels)) {}

  /// Returns the description for `isolation_kind::network`; empty if nothing shows that the policy is enforced, or if
  /// another policy may allow connections.
  static awaitable<std::string> find(std::shared_ptr<const network_wall> self, runner run) {
    std::string wall = co_await try_connections(self, std::move(run));
    if (wall.empty()) co_return wall;
    const bool has_hole = co_await others_may_allow(self);
    if (has_hole) wall.clear();
    co_return wall;
  }

  /// As `find`, but for some seconds, because a plugin needs time to notice a new pod.
  static awaitable<std::string> find_soon(std::shared_ptr<const network_wall> self, runner run) {
    const auto until = std::chrono::steady_clock::now() + time_to_notice;
    std::string wall = co_await find(self, run);
    while (wall.empty() && std::chrono::steady_clock::now() < until) {
      co_await wait_for(self->api_->executor(), pause);
      wall = co_await find(self, run);
    }
    co_return wall;
  }

 private:
  static constexpr std::chrono::seconds time_to_notice{10};
  static constexpr std::chrono::milliseconds pause{250};
  static constexpr const char* policy_name = "a NetworkPolicy against all connections; ";

  static std::string value_of(const std::vector<std::string>& variables, std::string_view name) {
    for (const std::string& each : variables)
      if (each.starts_with(name) && each.size() > name.size() && each[name.size()] == '=')
        return each.substr(name.size() + 1);
    return {};
  }

  /// Tries the API server, which other pods may reach. A refusal alone proves nothing, because the address may have no
  /// server. Then this function also tries an address that belongs to nobody. Only a firewall refuses that.
  static awaitable<std::string> try_connections(std::shared_ptr<const network_wall> self, runner run) {
    if (self->host_.empty() || self->port_.empty()) co_return std::string();
    const forbidden_attempt server = co_await attempt(self, run, self->host_, self->port_);
    if (server == forbidden_attempt::no_answer)
      co_return policy_name + std::string("a connection to the API server got no answer");
    if (server == forbidden_attempt::other) co_return std::string();
    const bool is_ipv6 = self->host_.find(':') != std::string::npos;
    const std::string nobody = is_ipv6 ? "2001:db8::1" : "203.0.113.1";  // RFC 3849, RFC 5737: for documentation
    const forbidden_attempt none = co_await attempt(self, run, nobody, self->port_);
    if (none != forbidden_attempt::refused) co_return std::string();
    co_return policy_name + std::string("a firewall refused connections to the API server and to ") + nobody;
  }

  static awaitable<forbidden_attempt> attempt(std::shared_ptr<const network_wall> self, runner run, std::string host,
                                              std::string port) {
    command tries = argv(self->shell_, "-c",
                         "if [ \"$BASH_VERSION\" ]; then printf try; exec 3<>\"/dev/tcp/$0/$1\"; "
                         "elif command -v nc >/dev/null; then printf try; nc -w 9 \"$0\" \"$1\" </dev/null; fi",
                         std::move(host), std::move(port));
    tries.timeout(std::chrono::seconds(2));
    const command_result result = co_await run(std::move(tries));
    co_return attempt_after(result.kind(), result.out().text(), result.err().text());
  }

  /// Returns true if another policy of the namespace may allow connections. A user without the right to list policies
  /// gets no answer, and must know them.
  static awaitable<bool> others_may_allow(std::shared_ptr<const network_wall> self) {
    const std::shared_ptr<cluster_api> api = self->api_;
    const std::string doing = "list the NetworkPolicies of the namespace";
    std::vector<int> fine{401, 403, 404};
    const http_response answer =
        co_await api->ask("GET", api->path("networkpolicies", "/apis/networking.k8s.io/v1") + "?limit=500",
                          std::string(), doing, std::move(fine));
    if (answer.status() != 200) co_return false;
    const boost::json::object list = cluster_api::object_of(answer, doing);
    const boost::json::array* const policies = array_at(list, "items");
    for (const boost::json::value& each : policies == nullptr ? boost::json::array() : *policies)
      if (each.is_object() && may_allow_connections(each.get_object(), &self->labels_)) co_return true;
    co_return false;
  }

  std::shared_ptr<cluster_api> api_;
  std::string shell_;
  std::string host_;
  std::string port_;
  boost::json::object labels_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
