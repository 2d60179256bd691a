// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/local_commands.hpp>
#include <cofferdam/backends/detail/local_leftovers.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/path_advice.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/protections.hpp>
#include <cofferdam/core/short_pause.hpp>
#include <cofferdam/os/command_keeper.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/directory.hpp>
#include <cofferdam/os/reaper.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/tree_walk.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/os/workspace_files.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <stdlib.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

/// What `local` does with a shell line that seems to name files outside the workspace.
enum class path_policy {
  ignore,  ///< nothing
  advise,  ///< runs it, and adds advice to the result
  refuse,  ///< refuses it with error_kind::absolute_path_detected
};

namespace detail {

/// What `local` was told; shared by its environments.
class local_settings {
 public:
  std::filesystem::path temporary_base;
  std::filesystem::path workspace;
  std::string shell;
  command_settings commands;
  warden_policy policy = warden_policy::automatic;
  std::filesystem::path warden;
  path_policy paths = path_policy::advise;
  bool warns = true;
};

/// The folders of a local environment: made together, removed together.
class local_folders {
 public:
  explicit local_folders(const local_settings& settings) {
    if (!settings.workspace.empty()) use(settings.workspace);
    make_private_folder(settings.temporary_base);
    try {
      const directory top = directory::open(folder_);
      lock_ = folder_lock(top);
      top.make_directory("tmp");
      std::optional<directory> staging;
      if (workspace_.empty()) {
        top.make_directory("workspace");
        top.make_directory("unfinished");
        workspace_ = folder_ / "workspace";
        staging.emplace(top.subdirectory("unfinished"));
      }
      directory root = directory::open(workspace_);
      workspace_fd_ = root.open_directory_fd(".");
      files_.emplace(std::move(root), workspace_.string(), std::move(staging));
    } catch (...) {
      reaper::instance().adopt(std::move(folder_));  // at once, or, where descriptors are short, later
      reaper::instance().sweep();
      throw;
    }
  }

  local_folders(const local_folders&) = delete;
  local_folders& operator=(const local_folders&) = delete;

  ~local_folders() {
    if (!folder_.empty()) reaper::instance().adopt(std::move(folder_));
  }

  const std::filesystem::path& folder() const noexcept { return folder_; }
  const std::filesystem::path& workspace() const noexcept { return workspace_; }
  int workspace_fd() const noexcept { return workspace_fd_.get(); }
  workspace_files& files() noexcept { return *files_; }

  /// Removes what is ours. What the killed still hold or make meanwhile is tried again for a while.
  static awaitable<void> remove(std::shared_ptr<local_folders> self, asio::any_io_executor executor) {
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
        if (failure.code() == errc::not_found) self->folder_.clear();  // somebody else has removed it
        why = failure.what();
      }
      if (self->folder_.empty()) break;
      if (attempt == 100)
        throw error(errc::io_error, "close: the folder '" + self->folder_.string() + "' cannot be removed: " + why);
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
      throw error(errc::provider_failed,
                  "local: the workspace '" + wanted.string() + "' cannot be used: " + failure.message() +
                      "; it must be an existing directory",
                  failure);
  }

  void make_private_folder(std::filesystem::path base) {
    std::error_code failure;
    if (base.empty()) base = std::filesystem::temp_directory_path(failure);
    if (!failure) std::filesystem::create_directories(base, failure);
    if (!failure) base = std::filesystem::canonical(base, failure);
    if (failure)
      throw error(errc::provider_failed,
                  "local: no folder for temporary files: " + failure.message() + "; name one with temporary_base()",
                  failure);
    std::string pattern = (base / (std::string(private_folder_prefix) + "XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      const std::error_code cause(errno, std::system_category());
      throw error(errc::provider_failed,
                  "local: cannot make a folder in '" + base.string() + "': " + cause.message() +
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

  std::filesystem::path folder_;
  folder_lock lock_;
  std::filesystem::path workspace_;
  unique_fd workspace_fd_;
  std::optional<workspace_files> files_;
};

/// One open local environment. The coroutines of its commands share it.
class local_state {
 public:
  static awaitable<std::shared_ptr<local_state>> open(asio::any_io_executor executor,
                                                      std::shared_ptr<const local_settings> settings) {
    std::string shell = find_shell(settings->shell);
    auto folders = std::make_shared<local_folders>(*settings);
    try {
      local_commands commands = co_await local_commands::open(executor, settings->commands, settings->policy,
                                                              settings->warden, folders->folder());
      co_return std::make_shared<local_state>(executor, settings, folders, std::move(commands), std::move(shell));
    } catch (...) {
      folders.reset();
      reaper::instance().sweep();  // nothing has run: the folder goes at once
      throw;
    }
  }

  local_state(asio::any_io_executor executor, std::shared_ptr<const local_settings> settings,
              std::shared_ptr<local_folders> folders, local_commands commands, std::string shell)
      : executor_(std::move(executor)),
        settings_(std::move(settings)),
        folders_(std::move(folders)),
        commands_(std::move(commands)),
        shell_(std::move(shell)) {
    const auto set = [this](std::string name, std::string_view value) {
      variables_.push_back(std::move(name) + "=" + std::string(value));
    };
    set("PATH", default_path);
    set("HOME", folders_->workspace().native());
    set("SHELL", shell_);  // or bash asks the user database for it, which takes a quarter of its start
    set("LANG", "C.UTF-8");
    set("TERM", "dumb");
    set("TMPDIR", (folders_->folder() / "tmp").native());
  }

  local_state(const local_state&) = delete;
  local_state& operator=(const local_state&) = delete;

  workspace_files& files() {
    require_open();
    return folders_->files();
  }

  const std::filesystem::path& workspace() const noexcept { return folders_->workspace(); }

  /// Kills everything at once and waits for nothing: the environment was dropped without `close()`.
  void abandon() {
    closing_ = true;
    commands_.abandon();
  }

  static awaitable<void> close(std::shared_ptr<local_state> self) {
    if (self->closing_) {
      while (!self->closed_) co_await short_pause(self->executor_);
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
    if (failure) std::rethrow_exception(failure);
  }

  static awaitable<command_result> run(std::shared_ptr<local_state> self, command c) {
    std::string advice;
    std::optional<command_result> refusal = self->judge(c, advice);
    if (refusal) co_return std::move(*refusal);
    spawn_request request = request_for(c, self->shell_, self->variables_);
    const unique_fd directory = self->enter(c, request);
    command_result result = co_await self->commands_.run(std::move(c), std::move(request));
    if (result.advice().empty() && !advice.empty()) result.advice(std::move(advice));
    co_return result;
  }

  std::vector<background_command> background() const {
    require_open();
    return commands_.background();
  }

  static awaitable<void> end_background(std::shared_ptr<local_state> self, std::uint32_t number) {
    self->require_open();
    co_await self->commands_.end_background(number);
  }

  static awaitable<process> start(std::shared_ptr<local_state> self, command c) {
    std::string advice;
    std::optional<command_result> refusal = self->judge(c, advice);
    if (refusal) co_return process::finished(std::move(*refusal));
    spawn_request request = request_for(c, self->shell_, self->variables_);
    const unique_fd directory = self->enter(c, request);
    process running = co_await self->commands_.start(std::move(c), std::move(request));
    co_return running;
  }

 private:
  void require_open() const {
    if (closing_) throw error(errc::environment_closed, "local: the environment is closed; open another one");
  }

  /// Sets the directory that a command starts in; keeps it open as long as what is returned.
  unique_fd enter(const command& c, spawn_request& request) {
    unique_fd directory;
    request.directory = folders_->workspace_fd();
    if (c.working_directory() == ".") return directory;
    directory = files().root().open_directory_fd(files().beneath(c.working_directory()));
    request.directory = directory.get();
    return directory;
  }

  /// What can be said of a command before anything starts.
  std::optional<command_result> judge(const command& c, std::string& advice) const {
    require_open();
    if (std::optional<command_result> invalid = refuse_invalid(c)) return invalid;
    if (!c.is_shell() || settings_->paths == path_policy::ignore) return std::nullopt;
    const std::string found = outside_path(c.line(), workspace().native(), folders_->folder().native());
    if (found.empty()) return std::nullopt;
    advice = "The command names \"" + one_line(found) +
             "\", which seems to lie outside the working directory. Use relative paths (e.g. './output.txt').";
    if (settings_->paths == path_policy::advise) return std::nullopt;
    return command_result::refused(error_kind::absolute_path_detected,
                                   "Command appears to use paths outside the working directory", advice);
  }

  static std::string find_shell(const std::string& wanted) {
    std::vector<std::string> choices{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh"};
    if (!wanted.empty()) choices = {wanted};
    for (const std::string& choice : choices)
      if (::access(choice.c_str(), X_OK) == 0) return choice;
    if (!wanted.empty() && wanted.front() != '/')
      throw error(errc::provider_failed, "local: shell(\"" + one_line(wanted) +
                                             "\") names no path; say where it is, as in shell(\"/bin/bash\")");
    throw error(errc::provider_failed,
                "local: no shell at '" + choices.back() + "'; install one or name it with shell()");
  }

  asio::any_io_executor executor_;
  std::shared_ptr<const local_settings> settings_;
  std::shared_ptr<local_folders> folders_;
  local_commands commands_;
  std::string shell_;
  std::vector<std::string> variables_;
  bool closing_ = false;
  bool closed_ = false;
};

}  // namespace detail
}  // namespace cofferdam::inline v0
