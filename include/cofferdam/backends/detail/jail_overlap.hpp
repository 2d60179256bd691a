// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/jail_protection.hpp>
#include <cofferdam/backends/detail/jail_python.hpp>
#include <cofferdam/backends/detail/jail_settings.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns the option that has added a mount, for errors.
inline std::string call_of(const jail_mount& each) {
  return std::string(each.is_writable ? "mount_writable" : "mount_read_only") + "(\"" + one_line(each.path.string()) +
         "\")";
}

/// Refuses mounts through which a command could change a protected name, or which would cover one.
inline void require_no_overlap(const jail_settings& settings, const std::filesystem::path& workspace,
                               const std::vector<protected_path>& protections) {
  const auto touch = [](const std::filesystem::path& a, const std::filesystem::path& b) {
    return is_within(a, b) || is_within(b, a);
  };
  const std::filesystem::path inside = settings.workspace_path;
  const bool is_on_host = !settings.limits.workspace_size;
  for (const jail_mount& mount : settings.mounts) {
    if (mount.path == inside)
      throw error(exec_errc::invalid_argument,
                  "jail: " + call_of(mount) +
                      ": the workspace has this path in the jail, and would cover the mount; "
                      "set another one by workspace_path(), or use workspace(\"" +
                      one_line(mount.path.string()) + "\")");
    std::error_code failure;
    const std::filesystem::path real = std::filesystem::canonical(mount.path, failure);
    const bool is_beneath = mount.path != inside && is_within(mount.path, inside);
    for (const protected_path& name : protections) {
      if (name.kind == protection_kind::parent) {  // it is mounted too, and would cover this mount
        if (is_beneath && is_within(mount.path, inside / name.path))
          throw error(exec_errc::invalid_argument,
                      "jail: protect() of a name in '" + one_line(name.path) + "' and " + call_of(mount) +
                          " exclude each other, because the folder is mounted at its own place to keep its name, "
                          "which covers other mounts in it; mount at a path outside of this folder");
        continue;
      }
      const bool changes = !failure && mount.is_writable && is_on_host && touch(real, workspace / name.path);
      if (changes || (is_beneath && touch(mount.path, inside / name.path)))
        throw error(exec_errc::invalid_argument,
                    "jail: protect(\"" + one_line(name.path) + "\") and " + call_of(mount) +
                        " exclude each other, because both are about the same file or folder; mount a folder without "
                        "protected names, or use mount_read_only() for one that is outside the workspace");
    }
  }
}

/// The usual path of the workspace in a jail. With another path, this one is a link to it.
inline constexpr const char* usual_workspace = "/workspace";

/// Returns true if an option uses a path in the jail, or a path beneath it.
inline bool is_used(const jail_settings& settings, const std::filesystem::path& path) {
  const auto is_there = [&path](const std::filesystem::path& other) { return is_within(other, path); };
  return is_there(settings.workspace_path) || std::any_of(settings.hidden.begin(), settings.hidden.end(), is_there) ||
         std::any_of(settings.mounts.begin(), settings.mounts.end(),
                     [&is_there](const jail_mount& each) { return is_there(each.path); });
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
