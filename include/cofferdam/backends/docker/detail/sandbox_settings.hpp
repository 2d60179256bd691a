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
  std::optional<image_name> name;  ///< the image to use; no value if the image is built, or a container is adopted
  /// The image to build; no value if `name` is set, or a container is adopted.
  std::optional<build_request> build;
  container_options options;
  daemon_choice daemon;
  command_settings commands;
  /// The absolute path of the shell in the container. Empty means that `find_shell` chooses it.
  std::string shell;
  progress_function progress;
  /// The maximum time for which a container's warden (the helper program in the container) may be without contact to
  /// this program. After that time, the warden ends all commands and itself. The time limit is needed because the
  /// warden does not notice the end of its connection if the daemon itself is killed.
  std::chrono::milliseconds lease{std::chrono::minutes(2)};
  command_transport by = command_transport::automatic;
  std::string adopted;  ///< name or id of a container to adopt; empty if a new container is made
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
