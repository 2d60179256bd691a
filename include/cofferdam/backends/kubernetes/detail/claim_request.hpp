// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/detail/core/utc_time.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

// A claim of agent-sandbox names a warm pool, and the pool names a template. A pool without replicas keeps no sandbox
// ready, and each of its claims makes a new one.

/// The path of the APIs for claims, warm pools and templates.
inline constexpr std::string_view claims_api = "/apis/extensions.agents.x-k8s.io/v1beta1";
/// The path of the API for sandboxes.
inline constexpr std::string_view sandboxes_api = "/apis/agents.x-k8s.io/v1beta1";
/// The group and version of claims, warm pools and templates.
inline constexpr const char* claims_version = "extensions.agents.x-k8s.io/v1beta1";

/// Returns a claim for a sandbox. After the longest life of the options, the controller deletes the claim.
/// \param pool  the warm pool from which the sandbox comes.
/// \param now   the present time.
inline boost::json::object claim_request(std::string_view name, std::string_view pool, const pod_options& options,
                                         std::chrono::system_clock::time_point now) {
  constexpr int finished_for = 60;  // seconds for which a claim stays after its pod has ended by itself
  boost::json::object metadata = own_metadata(name);
  boost::json::object& labels = metadata["labels"].as_object();
  labels[sandbox_label] = "1";
  for (const auto& [key, value] : options.labels()) labels.emplace(json_view(key), json_text(value));
  boost::json::object annotations;
  for (const auto& [key, value] : options.annotations()) annotations[json_view(key)] = json_text(value);
  metadata["annotations"] = std::move(annotations);
  boost::json::object reference;
  reference["name"] = json_text(pool);
  boost::json::object life;
  life["shutdownTime"] = json_text(cofferdam::detail::utc_time(now + options.longest_life(), 0));
  life["shutdownPolicy"] = "Delete";
  life["ttlSecondsAfterFinished"] = finished_for;
  boost::json::object spec;
  spec["warmPoolRef"] = std::move(reference);
  spec["lifecycle"] = std::move(life);
  boost::json::object claim;
  claim["apiVersion"] = claims_version;
  claim["kind"] = "SandboxClaim";
  claim["metadata"] = std::move(metadata);
  claim["spec"] = std::move(spec);
  return claim;
}

/// Returns the name of the warm pool that this library makes for a template without one.
inline std::string own_pool_name(std::string_view sandbox_template) {
  return "cofferdam-" + std::string(sandbox_template);
}

/// Returns a warm pool that keeps no sandbox ready.
inline boost::json::object pool_request(std::string_view sandbox_template) {
  boost::json::object reference;
  reference["name"] = json_text(sandbox_template);
  boost::json::object spec;
  spec["replicas"] = 0;
  spec["sandboxTemplateRef"] = std::move(reference);
  boost::json::object pool;
  pool["apiVersion"] = claims_version;
  pool["kind"] = "SandboxWarmPool";
  pool["metadata"] = own_metadata(own_pool_name(sandbox_template));
  pool["spec"] = std::move(spec);
  return pool;
}

/// Returns the name of a pool's template; empty if it has none.
inline std::string_view template_of(const boost::json::object& pool) {
  return text_at(object_at(object_at(pool, "spec"), "sandboxTemplateRef"), "name");
}

/// Returns the name of the pool of a template that has the most sandboxes ready; empty if the template has no pool.
/// \param list  a list of SandboxWarmPools.
inline std::string choose_pool(const boost::json::object& list, std::string_view sandbox_template) {
  const boost::json::array* const pools = array_at(list, "items");
  std::string best;
  std::int64_t most = -1;
  for (const boost::json::value& each : pools == nullptr ? boost::json::array() : *pools) {
    const boost::json::object* const pool = each.if_object();
    if (pool == nullptr || template_of(*pool) != sandbox_template) continue;
    const boost::json::object* const metadata = object_at(pool, "metadata");
    if (metadata == nullptr || metadata->contains("deletionTimestamp")) continue;
    const std::int64_t ready = number_at(object_at(pool, "status"), "readyReplicas").value_or(0);
    if (ready <= most) continue;
    most = ready;
    best = std::string(text_at(metadata, "name"));
  }
  return best;
}

/// Returns the name of a sandbox's pod.
/// \param sandbox  an object of the kind Sandbox.
inline std::string pod_of(const boost::json::object& sandbox) {
  const boost::json::object* const metadata = object_at(sandbox, "metadata");
  const std::string_view noted = text_at(object_at(metadata, "annotations"), "agents.x-k8s.io/pod-name");
  return std::string(noted.empty() ? text_at(metadata, "name") : noted);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
