// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/jail_limits.hpp>
#include <cofferdam/backends/jail_policies.hpp>
#include <cofferdam/os/command_settings.hpp>
#include <cofferdam/version.hpp>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A path of this machine that a jail shows.
class jail_mount {
 public:
  jail_mount(std::filesystem::path where, bool writable)
      : path(std::move(where)), is_writable(writable), has_links(!is_real(path)) {}

  /// Returns true if no part of a path is a symbolic link now. Parts that do not exist are none.
  static bool is_real(const std::filesystem::path& path) {
    std::error_code failure;
    return std::filesystem::weakly_canonical(path, failure) == path && !failure;
  }

  std::filesystem::path path;
  bool is_writable;
  bool has_links;  ///< a part of the path was a symbolic link when the option was set
};

/// The settings of `jail`, shared by its environments.
class jail_settings {
 public:
  std::vector<jail_mount> mounts;
  std::vector<std::filesystem::path> hidden;
  network_policy network = network_policy::none;
  jail_limits limits;
  std::string workspace_path = "/workspace";
  std::filesystem::path workspace;
  bool workspace_has_links = false;  ///< as `jail_mount::has_links`
  /// Relative and normal; a `/` at the end stands for a folder.
  std::vector<std::string> protected_names;
  static constexpr std::size_t max_protected = 24;
  std::filesystem::path temporary_base;
  std::string shell;
  command_settings commands;
  std::filesystem::path bubblewrap;
  std::uint32_t landlock = std::numeric_limits<std::uint32_t>::max();
  std::string alternatives;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
