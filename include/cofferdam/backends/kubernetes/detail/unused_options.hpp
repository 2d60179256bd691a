// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/names.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox_settings.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>

#include <string>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// Refuses options that have no effect, because another program has made the pod. An option counts as set if its value
/// differs from the default.
/// \throws error{exec_errc::invalid_argument} that names the first such option; nothing for a pod of an image.
inline void require_used_options(const sandbox_settings& settings) {
  const bool is_claim = !settings.sandbox_template.empty();
  if (!is_claim && settings.adopted_pod.empty()) return;
  const pod_options& chosen = settings.options;
  const pod_options usual;
  const std::string recipe = is_claim ? "from_template" : "in_pod";
  const auto refuse = [&recipe](bool is_set, const char* option, const char* instead) {
    if (is_set)
      throw bad_option("the option " + std::string(option) + "() has no effect with " + recipe + ", " + instead);
  };
  const char* const by_pod = is_claim
                                 ? "because the SandboxTemplate decides it; set it in the template, or use from_image"
                                 : "because the existing pod decides it; leave the option out, or use from_image";
  refuse(chosen.uid() != usual.uid() || chosen.gid() != usual.gid(), "user", by_pod);
  refuse(!chosen.has_read_only_root(), "writable_root", by_pod);
  refuse(chosen.memory() != usual.memory(), "memory", by_pod);
  refuse(chosen.workspace_size() != usual.workspace_size(), "workspace_size", by_pod);
  refuse(chosen.workspace() != usual.workspace(), "workspace", by_pod);
  refuse(chosen.cpu_thousandths() != usual.cpu_thousandths(), "cpus", by_pod);
  refuse(chosen.ephemeral_storage() != usual.ephemeral_storage(), "ephemeral_storage", by_pod);
  refuse(chosen.gpus() != usual.gpus(), "gpus", by_pod);
  refuse(chosen.network() != usual.network(), "network", by_pod);
  refuse(!chosen.runtime_class().empty(), "runtime_class", by_pod);
  refuse(!chosen.node_selector().empty(), "node_selector", by_pod);
  refuse(!chosen.tolerations().empty(), "tolerate", by_pod);
  refuse(!chosen.pull_secrets().empty(), "pull_secret", by_pod);
  refuse(chosen.pull() != usual.pull(), "pull", by_pod);
  refuse(!chosen.merge_patch().empty(), "merge_patch", by_pod);
  if (is_claim) return;
  refuse(!chosen.labels().empty(), "label", by_pod);
  refuse(!chosen.annotations().empty(), "annotation", by_pod);
  const char* const not_ours = "because the pod is neither made nor ended by this library; leave the option out";
  refuse(chosen.hold_time() != usual.hold_time(), "hold_time", not_ours);
  refuse(chosen.longest_life() != usual.longest_life(), "longest_life", not_ours);
  refuse(chosen.node_wait() != usual.node_wait(), "node_wait", not_ours);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
