// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/local_commands.hpp>
#include <cofferdam/backends/detail/local_leftovers.hpp>
#include <cofferdam/backends/detail/local_shell.hpp>
#include <cofferdam/backends/local_policies.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/path_advice.hpp>
#include <cofferdam/detail/core/short_pause.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/detail/os/tree_walk.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/directory.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/os/workspace_files.hpp>
#include <cofferdam/warden/session.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

template <class = void>
class basic_local_folders;
using local_folders = basic_local_folders<>;

/// The folders of a local environment or a jail, which are made together and removed together.
template <class Unused>
class basic_local_folders {
 public:
  /// \param backend         its name, for errors.
  /// \param temporary_base  the parent of the private folder; empty: the system's.
  /// \param workspace       an existing directory; empty: a new one in the private folder.
  basic_local_folders(const char* backend, const std::filesystem::path& temporary_base,
                      const std::filesystem::path& workspace)
      : backend_(backend) {
    if (!workspace.empty()) use(workspace);
    make_private_folder(temporary_base);
    try {
      const directory top = directory::open(folder_);
      lock_ = folder_lock(top);
      top.make_directory("tmp");
      std::optional<directory> staging;
      if (workspace_.empty()) {
        top.make_directory("workspace");
        top.make_directory("unfinished");
        workspace_ = folder_ / "workspace";
        is_within_folder_ = true;
        staging.emplace(top.subdirectory("unfinished"));
      }
      directory root = directory::open(workspace_);
      workspace_fd_ = root.open_directory_fd(".");
      files_.emplace(std::move(root), workspace_.string(), std::move(staging));
    } catch (...) {
      reaper::instance().adopt(std::move(folder_));  // at once, or later if descriptors are short
      reaper::instance().sweep();
      throw;
    }
  }

  basic_local_folders(const basic_local_folders&) = delete;
  basic_local_folders& operator=(const basic_local_folders&) = delete;

  ~basic_local_folders() {
    if (!folder_.empty()) reaper::instance().adopt(std::move(folder_));
  }

  const std::filesystem::path& folder() const noexcept { return folder_; }
  const std::filesystem::path& workspace() const noexcept { return workspace_; }
  int workspace_fd() const noexcept { return workspace_fd_.get(); }
  workspace_files& files() noexcept { return *files_; }

  /// Gives a workspace in the private folder to another user, who can then reach it by its path. Only root can do this.
  void give_workspace_to(std::uint32_t uid, std::uint32_t gid) {
    if (!is_within_folder_) return;
    constexpr mode_t only_passage_for_others = 0711;
    if (::lchown(workspace_.c_str(), uid, gid) == 0 && ::chmod(folder_.c_str(), only_passage_for_others) == 0) return;
    const std::error_code cause(errno, std::system_category());
    throw error(exec_errc::provider_failed,
                backend_ + ": the workspace cannot be given to uid " + std::to_string(uid) + ": " + cause.message(),
                cause);
  }

  /// Removes the private folder. Killed processes may still use it for a moment, so the removal is repeated for a
  /// while.
  static awaitable<void> remove(std::shared_ptr<basic_local_folders> self, asio::any_io_executor executor) {
    self->workspace_fd_.reset();
    const std::filesystem::path base = self->folder_.parent_path();
    const directory above = directory::open(base);
    for (int attempt = 0;; ++attempt) {
      std::string why;
      try {
        tree_removal removal = above.removal(self->folder_.filename().native());
        co_await remove_in_turns(removal, "close");
        self->folder_.clear();
      } catch (const error& failure) {
        if (failure.code() == exec_errc::not_found) self->folder_.clear();  // another program has removed it
        why = failure.what();
      }
      if (self->folder_.empty()) break;
      if (attempt == 100)
        throw error(exec_errc::io_error,
                    "close: the folder '" + self->folder_.string() + "' cannot be removed: " + why);
      co_await short_pause(executor);
    }
    if (is_first_look(base)) co_await remove_abandoned_folders(base);
  }

 private:
  void use(const std::filesystem::path& wanted) {
    std::error_code failure;
    workspace_ = std::filesystem::canonical(wanted, failure);
    if (!failure && !std::filesystem::is_directory(workspace_, failure) && !failure)
      failure = std::make_error_code(std::errc::not_a_directory);
    if (failure)
      throw error(exec_errc::provider_failed,
                  backend_ + ": the workspace '" + wanted.string() + "' cannot be used: " + failure.message() +
                      "; it must be an existing directory",
                  failure);
  }

  void make_private_folder(std::filesystem::path base) {
    std::error_code failure;
    if (base.empty()) base = std::filesystem::temp_directory_path(failure);
    if (!failure) std::filesystem::create_directories(base, failure);
    if (!failure) base = std::filesystem::canonical(base, failure);
    if (failure)
      throw error(
          exec_errc::provider_failed,
          backend_ + ": no folder for temporary files: " + failure.message() + "; name one with temporary_base()",
          failure);
    std::string pattern = (base / (std::string(private_folder_prefix) + "XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      const std::error_code cause(errno, std::system_category());
      throw error(exec_errc::provider_failed,
                  backend_ + ": cannot make a folder in '" + base.string() + "': " + cause.message() +
                      "; name another with temporary_base()",
                  cause);
    }
    try {
      folder_ = pattern;
    } catch (...) {
      ::rmdir(pattern.c_str());
      throw;
    }
  }

  std::string backend_;
  std::filesystem::path folder_;
  folder_lock lock_;
  std::filesystem::path workspace_;
  bool is_within_folder_ = false;
  unique_fd workspace_fd_;
  std::optional<workspace_files> files_;
};

/// The state of one open local environment, shared by the coroutines of its commands.
template <class Unused = void>
class basic_local_state {
 public:
  static awaitable<std::shared_ptr<basic_local_state>> open(asio::any_io_executor executor,
                                                            std::shared_ptr<const local_settings> settings) {
    std::string shell = find_shell("local", settings->shell);
    if (!settings->dumpable) dumpable_guard::make_undumpable();
    warden_settings wanted;
    wanted.commands = settings->commands;
    wanted.landlock = settings->landlock;
    wanted.tracing = settings->tracing;
    auto folders = std::make_shared<local_folders>("local", settings->temporary_base, settings->workspace);
    try {
      local_commands commands = co_await local_commands::open(executor, std::move(wanted), settings->policy,
                                                              settings->warden, folders->folder());
      co_return std::make_shared<basic_local_state>(executor, settings, folders, std::move(commands), std::move(shell));
    } catch (...) {
      folders.reset();
      reaper::instance().sweep();  // nothing has run: the folder is removed at once
      throw;
    }
  }

  basic_local_state(asio::any_io_executor executor, std::shared_ptr<const local_settings> settings,
                    std::shared_ptr<local_folders> folders, local_commands commands, std::string shell)
      : home_(executor),
        executor_(std::move(executor)),
        settings_(std::move(settings)),
        folders_(std::move(folders)),
        commands_(std::move(commands)),
        shell_(std::move(shell)),
        ended_(executor_) {
    const auto set = [this](std::string name, std::string_view value) {
      variables_.push_back(std::move(name) + "=" + std::string(value));
    };
    set("PATH", default_path);
    set("HOME", folders_->workspace().native());
    set("SHELL", shell_);  // otherwise bash queries the user database, which takes a quarter of its start time
    set("LANG", "C.UTF-8");
    set("TERM", "dumb");
    set("TMPDIR", (folders_->folder() / "tmp").native());
  }

  basic_local_state(const basic_local_state&) = delete;
  basic_local_state& operator=(const basic_local_state&) = delete;

  static constexpr const char* nothing_open =
      "local: there is no environment (default-constructed or moved from); open one with local().open()";

  workspace_files& files() {
    require_open();
    return folders_->files();
  }

  template <class Operation>
  static auto with_files(const std::shared_ptr<basic_local_state>& self, Operation operation) {
    return operation(self->files());
  }

  const std::filesystem::path& workspace() const noexcept { return folders_->workspace(); }

  /// Returns the strand. All non-const members are called on it, unless documented otherwise.
  const home_strand& home() const noexcept { return home_; }

  /// Kills everything at once and waits for nothing, for an environment that was destroyed without `close()`.
  void abandon() {
    closing_ = true;
    commands_.abandon();
  }

  static awaitable<void> close(std::shared_ptr<basic_local_state> self) {
    if (self->closing_) {
      while (!self->closed_) co_await self->ended_.wait();
      co_return;
    }
    self->closing_ = true;
    std::exception_ptr failure;
    try {
      co_await self->commands_.close();
      co_await local_folders::remove(self->folders_, self->executor_);
    } catch (...) {
      failure = std::current_exception();
    }
    self->closed_ = true;
    self->ended_.notify();
    if (failure) std::rethrow_exception(failure);
  }

  static awaitable<command_result> run(std::shared_ptr<basic_local_state> self, command c) {
    std::string advice;
    std::optional<command_result> refusal = self->judge(c, advice);
    if (refusal) co_return std::move(*refusal);
    spawn_request request = request_for(c, self->shell_, self->variables_);
    const unique_fd directory = self->enter(c, request);
    command_result result = co_await self->commands_.session().run(std::move(c), std::move(request));
    if (result.advice().empty() && !advice.empty()) result.advice(std::move(advice));
    co_return result;
  }

  std::vector<background_command> background() const {
    require_open();
    return commands_.session().background();
  }

  static awaitable<void> end_background(std::shared_ptr<basic_local_state> self, std::uint32_t number) {
    self->require_open();
    co_await self->commands_.session().end_background(number);
  }

  static awaitable<process> start(std::shared_ptr<basic_local_state> self, command c) {
    std::string advice;
    std::optional<command_result> refusal = self->judge(c, advice);
    if (refusal) co_return process::finished(std::move(*refusal));
    spawn_request request = request_for(c, self->shell_, self->variables_);
    const unique_fd directory = self->enter(c, request);
    process running = co_await self->commands_.session().start(std::move(c), std::move(request));
    co_return running;
  }

 private:
  void require_open() const {
    if (closing_) throw error(exec_errc::environment_closed, "local: the environment is closed; open another one");
  }

  /// Sets the directory in which a command starts. The result keeps the directory open.
  unique_fd enter(const command& c, spawn_request& request) {
    unique_fd directory;
    request.directory = folders_->workspace_fd();
    if (c.working_directory() == ".") return directory;
    directory = files().root().open_directory_fd(files().beneath(c.working_directory()));
    request.directory = directory.get();
    return directory;
  }

  /// Checks a command before anything starts.
  std::optional<command_result> judge(const command& c, std::string& advice) const {
    require_open();
    if (std::optional<command_result> invalid = refuse_invalid(c)) return invalid;
    if (settings_->paths == path_policy::ignore) return std::nullopt;
    const std::string& root = workspace().native();
    const std::string& also = folders_->folder().native();
    const std::string found = c.is_shell() ? outside_path(c.line(), root, also)
                                           : outside_path(c.words(), root, also, depth_of(c.working_directory()));
    if (found.empty()) return std::nullopt;
    advice = "The command names \"" + one_line(found) +
             "\", which seems to lie outside the working directory. Use relative paths (e.g. './output.txt').";
    if (settings_->paths == path_policy::advise) return std::nullopt;
    return command_result::refused(error_kind::absolute_path_detected,
                                   "Command appears to use paths outside the working directory", advice);
  }

  /// Returns how many folders beneath the workspace a command starts; 0 if it starts elsewhere.
  std::size_t depth_of(std::string_view directory) const {
    if (directory.starts_with('/')) {
      const std::string& root = workspace().native();
      if (!is_beneath(directory, root)) return 0;
      directory.remove_prefix(root.size());
    }
    const std::vector<std::string_view> parts = path_components(directory);
    const auto up = static_cast<std::size_t>(std::count(parts.begin(), parts.end(), ".."));
    return parts.size() >= 2 * up ? parts.size() - 2 * up : 0;
  }

  home_strand home_;
  asio::any_io_executor executor_;
  std::shared_ptr<const local_settings> settings_;
  std::shared_ptr<local_folders> folders_;
  local_commands commands_;
  std::string shell_;
  std::vector<std::string> variables_;
  bool closing_ = false;
  bool closed_ = false;
  async_event ended_;  // notified when closed_ becomes true
};

using local_state = basic_local_state<>;

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
