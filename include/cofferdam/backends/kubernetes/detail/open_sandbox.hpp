// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/within.hpp>
#include <cofferdam/backends/kubernetes/cluster_choice.hpp>
#include <cofferdam/backends/kubernetes/detail/adopt_pod.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_access.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/open_claim.hpp>
#include <cofferdam/backends/kubernetes/detail/open_pod.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox_settings.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// Opens a pod for an environment: adopts the running pod that the settings name, claims a sandbox of a template, or
/// makes a new pod. After a failure, what was made is deleted.
inline awaitable<std::shared_ptr<sandbox>> open_sandbox(asio::any_io_executor executor,
                                                        std::shared_ptr<const sandbox_settings> settings) {
  cluster_choice choice;
  choice.kubeconfig(settings->options.kubeconfig());
  choice.context(settings->options.context());
  choice.namespace_name(settings->options.in_namespace());
  if (settings->options.allows_insecure()) choice.allow_insecure();
  cluster_access access = find_cluster(kube_surroundings::of_this_process(), choice);
  const auto api = std::make_shared<cluster_api>(executor, std::move(access));
  const auto opened = std::make_shared<sandbox>(api);
  const auto steps = [&opened, &settings] {
    if (!settings->sandbox_template.empty()) return claim_opening::run(opened, settings);
    return settings->adopted_pod.empty() ? pod_opening::run(opened, settings) : pod_adoption::run(opened, settings);
  };
  // The steps have errors of their own for the end of the time, so they get a moment more. They do not limit a slow
  // API server, and a slow credential plugin.
  const std::chrono::seconds moment(3);
  const auto opens = [&steps, &executor, limit = settings->open_timeout + moment] {
    return cofferdam::detail::within(
        executor, limit, steps,
        error(exec_errc::provider_failed,
              "kubernetes: the API server, or a credential plugin, did not answer in time; raise open_timeout()"));
  };
  const std::chrono::seconds discard_limit(20);
  const auto discards = [&opened, &executor, discard_limit] {
    return cofferdam::detail::within(
        executor, discard_limit, [&opened] { return sandbox::discard(opened); },
        error(exec_errc::provider_failed, "late"));
  };
  co_await cofferdam::detail::with_cleanup_after_failure(opens, discards);
  co_return opened;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
