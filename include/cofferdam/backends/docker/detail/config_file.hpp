// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/host_view.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>

#include <boost/json/object.hpp>

#include <optional>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

// Returns the folder of the docker command's configuration: DOCKER_CONFIG if it is set, otherwise ~/.docker. Returns an
// empty text if DOCKER_CONFIG is not set and the user has no home directory.
inline std::string config_folder(const host_view& host) {
  std::string folder = host.value("DOCKER_CONFIG");
  if (folder.empty() && !host.home().empty()) folder = host.home() + "/.docker";
  return folder;
}

// Returns the content of the docker command's config.json; no value if the file does not exist or is empty.
inline std::optional<boost::json::object> read_config(const host_view& host) {
  const std::string folder = config_folder(host);
  if (folder.empty()) return std::nullopt;
  const std::string path = folder + "/config.json";
  const std::optional<std::string> text = host.read(path);
  if (!text || text->find_first_not_of(" \t\r\n") == std::string::npos) return std::nullopt;
  return parse_object(
      *text, exec_errc::provider_failed,
      "docker: the configuration " + cofferdam::detail::shown_path(path) + " (see DOCKER_CONFIG) cannot be used: it");
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
