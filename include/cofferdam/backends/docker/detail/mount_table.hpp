// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/api_version.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/path_advice.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// A mount: one line of /proc/PID/mountinfo.
class mounted_place {
 public:
  std::string target;
  std::string type;  ///< the type of the file system, such as `tmpfs`
};

/// Returns a path of /proc/PID/mountinfo without escapes. In that file, a blank is written as `\040`.
inline std::string unescaped_mount_path(std::string_view text) {
  std::string path;
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
                           is_octal(text[i + 3]);
    if (!is_escape) {
      path += text[i];
      continue;
    }
    path += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return path;
}

/// Parses /proc/PID/mountinfo. A malformed line results in a mount without a type.
inline std::vector<mounted_place> read_mount_table(std::string_view table) {
  std::vector<mounted_place> places;
  while (!table.empty()) {
    std::string_view line = table.substr(0, table.find('\n'));
    table.remove_prefix(std::min(line.size() + 1, table.size()));
    if (line.empty()) continue;
    std::vector<std::string_view> fields;
    while (!line.empty()) {
      fields.push_back(line.substr(0, line.find(' ')));
      line.remove_prefix(std::min(fields.back().size() + 1, line.size()));
    }
    mounted_place place;
    if (fields.size() > 4) place.target = unescaped_mount_path(fields[4]);
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (dash != fields.end() && dash + 1 != fields.end()) place.type = std::string(*(dash + 1));
    places.push_back(std::move(place));
  }
  return places;
}

/// Compares the mounts of a container with the requested mounts.
/// \param table  the content of /proc/PID/mountinfo of a process in the container. An empty table is accepted without
///               checks.
/// \param asked  the requested settings: `create_request::body()`.
/// \param kind   the product that implements the daemon. Podman by itself mounts memory at /run, /tmp and /var/tmp of a
///               container with a read-only root, so these mounts are accepted.
/// \return       a short description of each mount that was not requested, and of each mount that should be memory but
///               is not; empty if all mounts are correct.
inline std::vector<std::string> unexpected_mounts(std::string_view table, const boost::json::object& asked,
                                                  engine_kind kind = engine_kind::docker) {
  using cofferdam::detail::is_beneath;
  constexpr std::array<std::string_view, 8> kernels{"proc",   "sysfs",  "cgroup", "cgroup2",
                                                    "devpts", "mqueue", "tmpfs",  "devtmpfs"};
  constexpr std::array<std::string_view, 5> engines{"/etc/resolv.conf", "/etc/hostname", "/etc/hosts",
                                                    "/run/.containerenv", "/run/secrets"};
  std::vector<std::pair<std::string, bool>> requested;  // pairs of the path, and true if memory was requested
  const boost::json::object* const host = object_at(asked, "HostConfig");
  if (host == nullptr) return {};
  if (const boost::json::object* const tmpfs = object_at(*host, "Tmpfs"))
    for (const auto& [path, how] : *tmpfs) requested.emplace_back(std::string(path.data(), path.size()), true);
  if (const boost::json::array* const mounts = array_at(*host, "Mounts"))
    for (const boost::json::value& entry : *mounts) {
      const boost::json::object* const mount = entry.if_object();
      if (mount == nullptr) continue;
      const boost::json::object* const volume = object_at(*mount, "VolumeOptions");
      const bool is_memory = volume != nullptr && object_at(*volume, "DriverConfig") != nullptr;
      requested.emplace_back(std::string(text_at(*mount, "Target")), is_memory);
    }
  const std::vector<mounted_place> places = read_mount_table(table);
  // The kernel reports the real path of a mount. A requested path may contain a symbolic link of the image, and then
  // does not occur in the table. `elsewhere` counts such requests: as many mounts at other paths are accepted.
  const auto is_at_its_name = [&](const auto& entry) {
    return std::any_of(places.begin(), places.end(),
                       [&](const mounted_place& place) { return place.target == entry.first; });
  };
  const auto elsewhere = [&](bool is_memory) {
    return std::count_if(requested.begin(), requested.end(),
                         [&](const auto& entry) { return entry.second == is_memory && !is_at_its_name(entry); });
  };
  auto memory_elsewhere = elsewhere(true);
  auto others_elsewhere = elsewhere(false);
  std::vector<std::string> found;
  for (const mounted_place& place : places) {
    if (place.target == "/") continue;
    const std::string words = "\"" + one_line(place.target, 120) + "\" (" + one_line(place.type, 40) + ")";
    const auto asked_for = std::find_if(requested.begin(), requested.end(),
                                        [&](const auto& entry) { return entry.first == place.target; });
    if (asked_for != requested.end()) {
      if (asked_for->second && place.type != "tmpfs") found.push_back(words + " instead of a tmpfs");
      continue;
    }
    const bool is_kernels =
        is_beneath(place.target, "/proc") || is_beneath(place.target, "/sys") || is_beneath(place.target, "/dev");
    // A mount of type devtmpfs at /dev would be the host's own /dev, including its disks. A daemon that does not run as
    // root mounts single devices of the host's /dev instead, which is allowed.
    const bool is_hosts_devices = place.target == "/dev" && place.type == "devtmpfs";
    if (is_kernels && !is_hosts_devices && std::find(kernels.begin(), kernels.end(), place.type) != kernels.end())
      continue;
    if (std::find(engines.begin(), engines.end(), place.target) != engines.end()) continue;
    const bool is_podmans = place.target == "/run" || place.target == "/tmp" || place.target == "/var/tmp";
    if (kind == engine_kind::podman && is_podmans && place.type == "tmpfs") continue;
    if (place.type == "tmpfs" && memory_elsewhere > 0) {
      --memory_elsewhere;
    } else if (others_elsewhere > 0) {
      --others_elsewhere;
    } else {
      found.push_back(words);
    }
  }
  return found;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
