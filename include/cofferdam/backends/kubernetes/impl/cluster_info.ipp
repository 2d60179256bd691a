// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
#include <cofferdam/backends/kubernetes/cluster_choice.hpp>
#include <cofferdam/backends/kubernetes/cluster_info.hpp>
#include <cofferdam/backends/kubernetes/detail/api_client.hpp>
#include <cofferdam/backends/kubernetes/detail/api_error.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_access.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/net/http_message.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes {

namespace detail {

/// A right that this library uses, before the cluster was asked.
struct used_right {
  std::string_view group;
  std::string_view resource;
  std::string_view subresource;
  std::string_view verb;
  bool is_needed;
};

inline constexpr used_right used_rights[] = {
    {"", "pods", "", "create", true},
    {"", "pods", "", "get", true},
    {"", "pods", "", "watch", true},
    {"", "pods", "", "delete", true},
    {"", "pods", "", "list", false},
    {"", "pods", "exec", "get", true},
    {"", "pods", "exec", "create", false},  // needed since `exec_needs_create`
    {"", "configmaps", "", "get", false},   // without them, the warden comes by an exec
    {"", "configmaps", "", "create", false},
    {"networking.k8s.io", "networkpolicies", "", "get", true},
    {"networking.k8s.io", "networkpolicies", "", "create", true},
    {"networking.k8s.io", "networkpolicies", "", "list", false},  // for `allow_hosts` and `enforced_policy()`
    {"", "events", "", "list", false},                            // why a pod does not start
};

/// The minor version of Kubernetes since which an exec needs the right to create pods/exec.
inline constexpr int exec_needs_create = 35;

/// Returns the minor version in a text such as "v1.34.4"; 0 if it has none.
inline int minor_version(std::string_view text) {
  if (!text.starts_with("v1.")) return 0;
  int minor = 0;
  for (const char c : text.substr(3, 4)) {
    if (c < '0' || c > '9') break;
    minor = minor * 10 + (c - '0');
  }
  return minor;
}

/// Asks the cluster if its user has a right. Returns no value if the cluster does not tell.
inline awaitable<std::optional<bool>> is_allowed(api_client& client, const used_right& right) {
  boost::json::object wish;
  wish["namespace"] = client.access().namespace_name;
  wish["group"] = cofferdam::detail::json_text(right.group);
  wish["resource"] = cofferdam::detail::json_text(right.resource);
  if (!right.subresource.empty()) wish["subresource"] = cofferdam::detail::json_text(right.subresource);
  wish["verb"] = cofferdam::detail::json_text(right.verb);
  boost::json::object spec;
  spec["resourceAttributes"] = std::move(wish);
  boost::json::object review;
  review["apiVersion"] = "authorization.k8s.io/v1";
  review["kind"] = "SelfSubjectAccessReview";
  review["spec"] = std::move(spec);
  http_request what = client.make("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
  const std::string body = boost::json::serialize(review);
  what.content("application/json", body);
  const http_response answer = co_await client.request(std::move(what));
  if (!answer.ok()) co_return std::nullopt;
  const boost::json::object told =
      cofferdam::detail::parse_object(answer.text(), exec_errc::provider_failed,
                                      "kubernetes: the answer about the right to " + std::string(right.verb));
  const boost::json::object* const status = cofferdam::detail::object_at(told, "status");
  const boost::json::value* const allowed = status == nullptr ? nullptr : status->if_contains("allowed");
  co_return allowed != nullptr && allowed->is_bool() && allowed->get_bool();
}

}  // namespace detail

COFFERDAM_DECL std::string cluster_info::role() const {
  std::string text =
      "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: cofferdam\n  namespace: \"" +
      namespace_ + "\"\nrules:\n";
  for (std::size_t i = 0; i < rights_.size(); ++i) {
    const bool goes_on =
        i > 0 && rights_[i - 1].group() == rights_[i].group() && rights_[i - 1].resource() == rights_[i].resource();
    if (goes_on) {
      text += ", " + rights_[i].verb();
    } else {
      if (i > 0) text += "]\n";
      text += "- apiGroups: [\"" + rights_[i].group() + "\"]\n  resources: [\"" + rights_[i].resource() +
              "\"]\n  verbs: [" + rights_[i].verb();
    }
  }
  return rights_.empty() ? text : text + "]\n";
}

COFFERDAM_DECL awaitable<cluster_info> examine_cluster(cluster_choice choice) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  detail::cluster_access access = detail::find_cluster(detail::kube_surroundings::of_this_process(), choice);
  detail::api_client client(executor, std::move(access));
  const std::string who = "kubernetes: " + client.access().url();
  http_response answer;
  try {
    answer = co_await client.request(client.make("GET", "/version"));
  } catch (const error& reason) {
    if (reason.code() != exec_errc::io_error) throw;
    throw error(exec_errc::io_error, who + " cannot be reached: " + detail::connection_text(reason), reason.cause());
  }
  if (!answer.ok()) {
    co_await client.close();
    throw error(exec_errc::provider_failed, who + " refuses to tell its version: " + std::to_string(answer.status()) +
                                                " " + client.clean(detail::status_message(answer)) +
                                                "; check the user of the context \"" +
                                                one_line(client.access().context, 100) + "\"");
  }
  const boost::json::object told =
      cofferdam::detail::parse_object(answer.text(), exec_errc::provider_failed, who + ": the answer to GET /version");
  const std::string version = one_line(cofferdam::detail::text_at(told, "gitVersion"), 60);
  std::vector<cluster_right> rights;
  for (const detail::used_right& each : detail::used_rights) {
    const std::optional<bool> allowed = co_await detail::is_allowed(client, each);
    if (!allowed) {  // a part would look like the whole
      rights.clear();
      break;
    }
    std::string resource(each.resource);
    if (!each.subresource.empty()) resource += "/" + std::string(each.subresource);
    const bool is_needed =
        each.is_needed || (!each.subresource.empty() && detail::minor_version(version) >= detail::exec_needs_create);
    rights.emplace_back(std::string(each.group), std::move(resource), std::string(each.verb), is_needed, *allowed);
  }
  co_await client.close();
  co_return cluster_info(client.access().context, client.access().url(), client.access().namespace_name, version,
                         std::move(rights));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes
