// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/jail_policies.hpp>
#include <cofferdam/os/command_settings.hpp>
#include <cofferdam/version.hpp>
#include <cofferdam/warden/warden_settings.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A path of this machine that a jail shows.
class jail_mount {
 public:
  jail_mount(std::filesystem::path where, bool writable) : path(std::move(where)), is_writable(writable) {}

  std::filesystem::path path;
  bool is_writable;
};

/// The limits of a jail.
class jail_limits {
 public:
  std::optional<std::uint64_t> memory;
  std::optional<std::uint64_t> cpu_seconds;
  std::uint32_t processes = 1024;
  std::optional<std::uint64_t> file_size;
  std::optional<std::uint32_t> open_files;
  std::optional<std::size_t> workspace_size;
  std::size_t temporary_size = std::size_t{256} << 20;

  /// Returns what the warden sets for each process. A limit of this program that is lower stays.
  std::vector<warden_limit> for_each_process() const {
    std::vector<warden_limit> all;
    const auto set = [&all](int resource, std::uint64_t soft, std::uint64_t hard) {
      rlimit present{};
      if (::getrlimit(resource, &present) == 0) {
        soft = std::min<std::uint64_t>(soft, present.rlim_max);
        hard = std::min<std::uint64_t>(hard, present.rlim_max);
      }
      all.emplace_back(resource, soft, hard);
    };
    if (memory) set(RLIMIT_AS, *memory, *memory);
    if (cpu_seconds) set(RLIMIT_CPU, *cpu_seconds, *cpu_seconds + 1);  // SIGXCPU, and SIGKILL a second later
    set(RLIMIT_NPROC, processes, processes);
    if (file_size) set(RLIMIT_FSIZE, *file_size, *file_size);
    if (open_files) set(RLIMIT_NOFILE, *open_files, *open_files);
    return all;
  }
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
