// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/detail/host_view.hpp>
#include <cofferdam/backends/docker/detail/warnings.hpp>
#include <cofferdam/os/command_request.hpp>

#include <string>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// Returns the environment variables of every command, as `NAME=value`. The variables of the container override the
/// defaults of this library, and the variables of the options override both. Warns about variables of
/// `container_options::forward_variable` that are not set in this process.
/// \param of_container  the variables of the image, or of the adopted container's configuration.
inline std::vector<std::string> base_variables(const container_options& options,
                                               const std::vector<std::string>& of_container, const host_view& host) {
  std::vector<std::string> variables{"PATH=" + std::string(default_path), "LANG=C.UTF-8", "TERM=dumb", "TMPDIR=/tmp",
                                     "HOME=" + options.working_directory()};
  const auto set = [&variables](const std::string& variable) { set_variable(variables, variable); };
  for (const std::string& variable : of_container)
    if (variable.find('=') != std::string::npos) set(variable);
  std::vector<std::string> missing;
  for (const std::string& variable : options.environment(host, &missing)) set(variable);
  warn_of_missing(missing);
  return variables;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
