// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/host_folders.hpp>
#include <cofferdam/backends/detail/host_state.hpp>
#include <cofferdam/backends/detail/jail_limits.hpp>
#include <cofferdam/backends/detail/local_commands.hpp>
#include <cofferdam/backends/detail/local_shell.hpp>
#include <cofferdam/backends/local_policies.hpp>
#include <cofferdam/backends/process_limits.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/path_advice.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/detail/os/control_group.hpp>
#include <cofferdam/detail/os/path_error.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/os/workspace_files.hpp>
#include <cofferdam/warden/warden_settings.hpp>

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
  process_limits limits;
  /// `local_place::limit`, set together with `limits`. A program without limits does not compile it.
  std::shared_ptr<control_group> (*limit)(warden_settings& wanted, const local_settings& settings) = nullptr;
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
    std::shared_ptr<control_group> group;
    if (!settings->limits.empty()) group = settings->limit(wanted, *settings);
    auto folders = std::make_shared<host_folders>("local", settings->temporary_base, settings->workspace);
    wanted.root = folders->workspace().native();  // for watches; this program does all other file operations itself
    try {
      // Without a warden, limits would not hold.
      const warden_policy policy = settings->limits.empty() ? settings->policy : warden_policy::require;
      std::vector<int> groups;
      if (group) groups = group->members();
      local_commands commands = co_await local_commands::open(executor, std::move(wanted), policy, settings->warden,
                                                              folders->folder(), std::move(groups));
      co_return std::make_shared<host_state<basic_local_place>>(executor, basic_local_place(settings->paths, group),
                                                                folders, std::move(commands), std::move(shell));
    } catch (...) {
      folders.reset();
      reaper::instance().sweep();  // nothing has run: the folder is removed at once
      throw;
    }
  }

  /// Sets the limits of commands, and makes a control group if that is needed and possible; otherwise returns null.
  /// \throws error{exec_errc::unsupported} if a limit cannot hold.
  static std::shared_ptr<control_group> limit(warden_settings& wanted, const local_settings& settings) {
    if (settings.policy == warden_policy::never)
      throw error(exec_errc::unsupported,
                  "local: limits() need a warden, and warden(warden_policy::never) excludes it");
    const jail_limits limits(settings.limits);
    std::string obstacle;
    std::shared_ptr<control_group> group = group_for(limits, obstacle);
    if (limits.processes && (!group || !group->limits_processes()))
      throw error(exec_errc::unsupported,
                  "local: limits().processes() needs a control group: " + obstacle +
                      "; run this program as root, or in a control group of its own (systemd-run --user --scope -p "
                      "Delegate=yes PROGRAM), use jail(), which can do without, or leave out the limit");
    wanted.limits = limits.for_each_process(group.get());
    limits.describe(wanted.added_isolation, group.get());
    const auto watch = std::make_shared<jail_limit_watch>(limits, group);
    wanted.explain_end = [watch](command_result& result) { watch->explain(result); };
    wanted.explain_loss = [watch](const error& reason) { return watch->explain_loss(reason); };
    if (group) wanted.memory_kills = [group] { return group->memory_kills(); };
    return group;
  }

  basic_local_place(path_policy paths, std::shared_ptr<control_group> group)
      : paths_(paths), group_(std::move(group)) {}

  std::vector<std::string> variables(const host_folders& folders, const std::string& shell) const {
    return {"PATH=" + std::string(default_path),
            "HOME=" + folders.workspace().native(),
            "SHELL=" + shell,  // otherwise bash queries the user database, which takes a quarter of its start time
            "LANG=C.UTF-8",
            "TERM=dumb",
            "TMPDIR=" + (folders.folder() / "tmp").native()};
  }

  workspace_files& files(host_folders& folders, local_commands& commands) const {
    if (!folders.files().can_watch()) folders.files().watch_by(commands.files());
    return folders.files();
  }

  static workspace_files& shared_files(host_folders& folders) noexcept { return folders.files(); }

  bool enter(host_folders& folders, const command& c, spawn_request& request, unique_fd& opened) const {
    request.directory = folders.workspace_fd();
    if (c.working_directory() == ".") return true;
    workspace_files& files = folders.files();
    try {
      opened = files.root().open_directory_fd(files.beneath(c.working_directory()));
    } catch (const error& failure) {
      throw_working_directory_error(failure, c.working_directory());
    }
    request.directory = opened.get();
    return true;
  }
  static awaitable<void> resolve(std::shared_ptr<host_state<basic_local_place>>, const command&, spawn_request&) {
    co_return;
  }

  bool closed() const { return !group_ || group_->remove(); }
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
  std::shared_ptr<control_group> group_;  // null if nothing is limited in total
};

using local_place = basic_local_place<void>;
using local_state = host_state<local_place>;

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
