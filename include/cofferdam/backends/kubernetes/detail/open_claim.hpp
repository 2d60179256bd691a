// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/adopt_pod.hpp>
#include <cofferdam/backends/kubernetes/detail/claim_lease.hpp>
#include <cofferdam/backends/kubernetes/detail/claim_request.hpp>
#include <cofferdam/backends/kubernetes/detail/claim_status.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_object.hpp>
#include <cofferdam/backends/kubernetes/detail/names.hpp>
#include <cofferdam/backends/kubernetes/detail/owned_pod.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_containers.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_status.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox_settings.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/os/random_text.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// The steps that get a sandbox of agent-sandbox by a claim, and begin a session in its pod.
class claim_opening {
 public:
  using clock = cluster_object::clock;

  static awaitable<void> run(std::shared_ptr<sandbox> into, std::shared_ptr<const sandbox_settings> settings) {
    const auto until = clock::now() + settings->open_timeout;
    const std::shared_ptr<cluster_api> api = into->api();
    const std::string pool = co_await find_pool(api, settings->sandbox_template);
    const std::string name = "cofferdam-" + cofferdam::detail::random_name(12);
    const auto claim = std::make_shared<cluster_object>(
        api, api->path("sandboxclaims", claims_api), name,
        "the SandboxClaim \"" + name + "\" in the namespace \"" + one_line(api->space(), 80) + "\"");
    into->claim(claim);
    const boost::json::object body = claim_request(name, pool, settings->options, std::chrono::system_clock::now());
    co_await cluster_object::create(claim, body, until);
    const auto stay = std::max(std::chrono::ceil<std::chrono::seconds>(settings->options.hold_time()), least_lease);
    into->lease(std::make_shared<claim_lease>(claim, stay, settings->options.longest_life()));
    const std::shared_ptr<cluster_object> pod = co_await until_pod_exists(claim, settings->sandbox_template, until);
    const std::string container = default_container(pod->seen());
    const pod_rules rules(pod->name(), container, settings->sandbox_template);
    into->adopt(pod->name());
    for (;;) {
      co_await follow_until_running(pod, until, settings->options.node_wait(), rules);
      const std::int64_t restarts = pod_adoption::restarts_of(container_status(pod->seen(), container));
      std::optional<error> failure;
      try {
        co_await pod_adoption::connect(into, settings, pod->seen(), container, time_left(until));
      } catch (const error& reason) {
        failure = reason;
      }
      if (!failure) co_return;
      if (failure->code() != exec_errc::provider_lost && failure->code() != exec_errc::provider_failed) throw *failure;
      // A container whose first process ends at once runs for a moment, and is started again.
      const bool exists = co_await cluster_object::look(pod);
      if (!exists) throw *failure;
      const bool is_new = pod_adoption::restarts_of(container_status(pod->seen(), container)) > restarts;
      if (!is_new && rules.judge(pod->seen()).phase() == pod_phase::running) throw *failure;
    }
  }

 private:
  /// The rules by which the pod of a sandbox is judged.
  class pod_rules {
   public:
    pod_rules(std::string pod, std::string container, std::string sandbox_template)
        : pod_(std::move(pod)), container_(std::move(container)), template_(std::move(sandbox_template)) {}
    pod_verdict judge(const boost::json::object& pod) const { return judge_sandbox_pod(pod, container_); }
    error failure(const pod_verdict& verdict) const { return sandbox_pod_error(verdict, pod_, template_); }

   private:
    std::string pod_;
    std::string container_;
    std::string template_;
  };

  /// A renewal is a write in the database of the cluster. A shorter lease would need many of them.
  static constexpr std::chrono::seconds least_lease{180};

  static std::string template_path(const cluster_api& api, const std::string& sandbox_template) {
    return api.path("sandboxtemplates", claims_api) + "/" + cofferdam::detail::percent_encoded(sandbox_template);
  }

  /// Returns the name of a warm pool of the template. Makes a pool without replicas if there is none.
  static awaitable<std::string> find_pool(std::shared_ptr<cluster_api> api, std::string sandbox_template) {
    const std::string of_template = "the SandboxTemplate " + in_quotes(sandbox_template) + " in the namespace \"" +
                                    one_line(api->space(), 80) + "\"";
    const std::string pools = api->path("sandboxwarmpools", claims_api);
    const std::optional<boost::json::object> list =
        co_await all_pools(api, pools, "list the warm pools of " + of_template);
    if (!list) throw not_installed(api->address());
    const std::optional<boost::json::object> found =
        co_await api->find(template_path(*api, sandbox_template), "look at " + of_template);
    if (!found)
      throw error(exec_errc::not_found, "kubernetes: " + of_template +
                                            " does not exist; `kubectl get sandboxtemplates` lists those of a "
                                            "namespace, and pod_options::in_namespace() chooses it");
    std::string pool = choose_pool(*list, sandbox_template);
    if (!pool.empty()) co_return pool;
    pool = own_pool_name(sandbox_template);
    const boost::json::object body = pool_request(sandbox_template);
    const std::string doing =
        "create the SandboxWarmPool \"" + one_line(pool, 120) + "\", which has no replicas, for " + of_template;
    const std::optional<boost::json::object> existing = co_await api->ensure(pools, pool, body, doing);
    if (existing && template_of(*existing) != sandbox_template)
      throw error(exec_errc::provider_failed, "kubernetes: cannot " + doing +
                                                  ": a pool of this name exists, and has another template; make a "
                                                  "SandboxWarmPool for the template, with any number of replicas");
    co_return pool;
  }

  /// Returns the list of all warm pools of the namespace; no value if the cluster knows no such objects.
  static awaitable<std::optional<boost::json::object>> all_pools(std::shared_ptr<cluster_api> api, std::string path,
                                                                 std::string doing) {
    std::optional<boost::json::object> all;
    std::string next;  // names the next part of the list
    do {
      std::string part = path + "?limit=500";
      if (!next.empty()) part += "&continue=" + cofferdam::detail::percent_encoded(next);
      std::optional<boost::json::object> found = co_await api->find(std::move(part), doing);
      if (!found) break;
      next = cofferdam::detail::text_at(cofferdam::detail::object_at(*found, "metadata"), "continue");
      if (!all) {
        all = std::move(*found);
        continue;
      }
      const boost::json::array* const more = cofferdam::detail::array_at(*found, "items");
      boost::json::value* const items = all->if_contains("items");
      if (more == nullptr || items == nullptr || !items->is_array()) continue;
      for (const boost::json::value& each : *more) items->get_array().push_back(each);
    } while (!next.empty());
    co_return all;
  }

  static error not_installed(const std::string& address) {
    return error(exec_errc::unsupported,
                 "kubernetes: agent-sandbox 0.5 or newer is not installed in the cluster " + address + ": it has no " +
                     std::string(claims_version) +
                     "; install its controller with --extensions, and its CRDs sandboxes.agents.x-k8s.io, "
                     "sandboxclaims.extensions.agents.x-k8s.io, sandboxtemplates.extensions.agents.x-k8s.io and "
                     "sandboxwarmpools.extensions.agents.x-k8s.io");
  }

  /// Follows the claim until its sandbox has a pod, which may still be starting.
  static awaitable<std::shared_ptr<cluster_object>> until_pod_exists(std::shared_ptr<cluster_object> claim,
                                                                     std::string sandbox_template,
                                                                     clock::time_point until) {
    bool template_exists = false;
    for (;;) {
      // The pod can appear, or become that of the sandbox, without a change of the claim.
      constexpr std::chrono::seconds look_again(2);
      const std::string name = sandbox_of(claim->seen());
      if (!name.empty()) {
        const std::shared_ptr<cluster_object> pod = co_await find_pod(claim->api(), name);
        if (pod) co_return pod;
      }
      const claim_verdict verdict = judge_claim(claim->seen());
      if (verdict.is_final() || clock::now() >= until) throw claim_error(verdict, claim->name(), sandbox_template);
      if (verdict.phase() == claim_phase::no_template && !template_exists) {
        // The template existed before the claim. If it still exists, the controller looks for it again.
        const std::optional<boost::json::object> found =
            co_await claim->api()->find(template_path(*claim->api(), sandbox_template), "look at the SandboxTemplate");
        if (!found) throw claim_error(verdict, claim->name(), sandbox_template);
        template_exists = true;
      }
      const auto is_news = [&name, &verdict](const boost::json::object& now) {
        const claim_verdict then = judge_claim(now);
        return then.phase() != verdict.phase() || then.words() != verdict.words() || sandbox_of(now) != name;
      };
      const clock::time_point limit = name.empty() ? until : std::min(until, clock::now() + look_again);
      const bool exists = co_await cluster_object::follow(claim, limit, std::ref(is_news));
      if (!exists) throw claim_error(claim_verdict(claim_phase::deleted), claim->name(), sandbox_template);
    }
  }

  /// Returns true if an object belongs to the owner with this uid.
  static bool is_owned_by(const boost::json::object& object, std::string_view uid) {
    const boost::json::array* const owners =
        cofferdam::detail::array_at(cofferdam::detail::object_at(object, "metadata"), "ownerReferences");
    for (const boost::json::value& each : owners == nullptr ? boost::json::array() : *owners)
      if (!uid.empty() && cofferdam::detail::text_at(each.if_object(), "uid") == uid) return true;
    return false;
  }

  /// Returns the pod of a sandbox; null if it does not exist so far. The Sandbox names its pod in an annotation, which
  /// others may change, so the pod must also belong to the Sandbox.
  static awaitable<std::shared_ptr<cluster_object>> find_pod(std::shared_ptr<cluster_api> api, std::string of_sandbox) {
    const std::optional<boost::json::object> found =
        co_await api->find(api->path("sandboxes", sandboxes_api) + "/" + cofferdam::detail::percent_encoded(of_sandbox),
                           "look at the Sandbox \"" + one_line(of_sandbox, 120) + "\"");
    if (!found) co_return nullptr;
    const std::string name = pod_of(*found);
    if (!is_subdomain(name)) co_return nullptr;
    const auto pod = std::make_shared<cluster_object>(api, api->path("pods"), name, api->shown(name));
    const bool exists = co_await cluster_object::look(pod);
    if (!exists) co_return nullptr;
    const std::string_view uid = cofferdam::detail::text_at(cofferdam::detail::object_at(*found, "metadata"), "uid");
    if (!is_owned_by(pod->seen(), uid)) co_return nullptr;
    co_return pod;
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
