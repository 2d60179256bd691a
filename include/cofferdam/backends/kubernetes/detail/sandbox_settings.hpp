// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/os/command_settings.hpp>

#include <chrono>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// The settings of a provider, shared by its environments.
class sandbox_settings {
 public:
  std::string image;              ///< the image of a new pod; empty if others make the pod
  std::string adopted_pod;        ///< the name of the pod to adopt; empty if a pod is made
  std::string adopted_container;  ///< the container of the adopted pod; empty for its default container
  std::string sandbox_template;   ///< the template of a sandbox of agent-sandbox to claim; empty if none is claimed
  pod_options options;
  std::string shell;  ///< the shell for shell lines; empty to look for one
  std::chrono::milliseconds open_timeout{std::chrono::minutes(5)};
  command_settings commands;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
