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
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A path of this machine that a jail shows.
class jail_mount {
 public:
  jail_mount(std::filesystem::path where, bool writable) : path(std::move(where)), is_writable(writable) {}

  std::filesystem::path path;
  bool is_writable;
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
