// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/build_request.hpp>
#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/detail/find_daemon.hpp>
#include <cofferdam/backends/docker/detail/image_name.hpp>
#include <cofferdam/backends/docker/detail/images.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The settings of a docker provider.
class sandbox_settings {
 public:
  std::optional<image_name> name;  ///< empty if `build` is set
  std::optional<build_request> build;
  container_options options;
  daemon_choice daemon;
  command_settings commands;
  std::string shell;
  progress_function progress;
  /// The maximum time for which the container may be without contact to this program. If the daemon itself is killed,
  /// the warden does not get the end of its stream.
  std::chrono::milliseconds lease{std::chrono::minutes(2)};
  command_transport by = command_transport::automatic;
  std::string adopted;  ///< an adopted container, instead of `name` or `build`
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
