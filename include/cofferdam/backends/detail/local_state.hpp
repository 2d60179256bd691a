// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/host_folders.hpp>
#include <cofferdam/backends/detail/host_state.hpp>
#include <cofferdam/backends/detail/local_commands.hpp>
#include <cofferdam/backends/detail/local_shell.hpp>
#include <cofferdam/backends/local_policies.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/path_advice.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/os/workspace_files.hpp>

#include <asio/any_io_executor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The settings of `local`, shared by its environments.
class local_settings {
 public:
  std::filesystem::path temporary_base;
  std::filesystem::path workspace;
  std::string shell;
  command_settings commands;
  warden_policy policy = warden_policy::automatic;
  std::filesystem::path warden;
  tracing_policy tracing = tracing_policy::contained;
  std::uint32_t landlock = std::numeric_limits<std::uint32_t>::max();
  bool dumpable = true;
  path_policy paths = path_policy::advise;
  bool warns = true;
};

/// The parameter of `host_state` for `local`: its variables, its working directories, and its advice on paths.
template <class Unused>
class basic_local_place {
 public:
  using settings_type = local_settings;

  static constexpr const char* name = "local";
  static constexpr const char* nothing_open =
      "local: there is no environment (default-constructed or moved from); open one with local().open()";

  static awaitable<std::shared_ptr<host_state<basic_local_place>>> open(
      asio::any_io_executor executor, std::shared_ptr<const local_settings> settings) {
    std::string shell = find_shell("local", settings->shell);
    if (!settings->dumpable) dumpable_guard::make_undumpable();
    warden_settings wanted;
    wanted.commands = settings->commands;
    wanted.landlock = settings->landlock;
    wanted.tracing = settings->tracing;
    auto folders = std::make_shared<host_folders>("local", settings->temporary_base, settings->workspace);
    wanted.root = folders->workspace().native();  // for watches; this program does all other file operations itself
    try {
      local_commands commands = co_await local_commands::open(executor, std::move(wanted), settings->policy,
                                                              settings->warden, folders->folder());
      folders->files().watch_by(commands.files());
      co_return std::make_shared<host_state<basic_local_place>>(executor, basic_local_place(settings->paths), folders,
                                                                std::move(commands), std::move(shell));
    } catch (...) {
      folders.reset();
      reaper::instance().sweep();  // nothing has run: the folder is removed at once
      throw;
    }
  }

  explicit basic_local_place(path_policy paths) : paths_(paths) {}

  std::vector<std::string> variables(const host_folders& folders, const std::string& shell) const {
    return {"PATH=" + std::string(default_path),
            "HOME=" + folders.workspace().native(),
            "SHELL=" + shell,  // otherwise bash queries the user database, which takes a quarter of its start time
            "LANG=C.UTF-8",
            "TERM=dumb",
            "TMPDIR=" + (folders.folder() / "tmp").native()};
  }

  workspace_files& files(host_folders& folders, local_commands&) const { return folders.files(); }

  bool enter(host_folders& folders, const command& c, spawn_request& request, unique_fd& opened) const {
    request.directory = folders.workspace_fd();
    if (c.working_directory() == ".") return true;
    workspace_files& files = folders.files();
    opened = files.root().open_directory_fd(files.beneath(c.working_directory()));
    request.directory = opened.get();
    return true;
  }
  static awaitable<void> resolve(std::shared_ptr<host_state<basic_local_place>>, const command&, spawn_request&) {
    co_return;
  }

  bool closed() const { return true; }
  static bool can_be_lost() { return false; }
  static std::optional<error> lost() { return std::nullopt; }

  std::optional<command_result> judge(const host_folders& folders, const command& c, std::string& advice) const {
    if (paths_ == path_policy::ignore) return std::nullopt;
    const std::string& root = folders.workspace().native();
    const std::string& also = folders.folder().native();
    const std::string found = c.is_shell() ? outside_path(c.line(), root, also)
                                           : outside_path(c.words(), root, also, depth_of(root, c.working_directory()));
    if (found.empty()) return std::nullopt;
    advice = "The command names \"" + one_line(found) +
             "\", which seems to lie outside the working directory. Use relative paths (e.g. './output.txt').";
    if (paths_ == path_policy::advise) return std::nullopt;
    return command_result::refused(error_kind::absolute_path_detected,
                                   "Command appears to use paths outside the working directory", advice);
  }

 private:
  /// Returns how many folders beneath the workspace a command starts; 0 if it starts elsewhere.
  static std::size_t depth_of(const std::string& root, std::string_view directory) {
    if (directory.starts_with('/')) {
      if (!is_beneath(directory, root)) return 0;
      directory.remove_prefix(root.size());
    }
    const std::vector<std::string_view> parts = path_components(directory);
    const auto up = static_cast<std::size_t>(std::count(parts.begin(), parts.end(), ".."));
    return parts.size() >= 2 * up ? parts.size() - 2 * up : 0;
  }

  path_policy paths_;
};

using local_place = basic_local_place<void>;
using local_state = host_state<local_place>;

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
