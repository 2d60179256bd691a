// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/local_leftovers.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/short_pause.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/detail/os/tree_walk.hpp>
#include <cofferdam/os/directory.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/os/workspace_files.hpp>

#include <asio/any_io_executor.hpp>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class = void>
class basic_host_folders;
using host_folders = basic_host_folders<>;

/// The folders of a local environment or a jail, which are made together and removed together.
template <class Unused>
class basic_host_folders {
 public:
  /// \param backend         its name, for errors.
  /// \param temporary_base  the parent of the private folder; empty: the system's.
  /// \param workspace       an existing directory; empty: a new one in the private folder.
  basic_host_folders(const char* backend, const std::filesystem::path& temporary_base,
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

  basic_host_folders(const basic_host_folders&) = delete;
  basic_host_folders& operator=(const basic_host_folders&) = delete;

  ~basic_host_folders() {
    if (!folder_.empty()) reaper::instance().adopt(std::move(folder_));
  }

  const std::filesystem::path& folder() const noexcept { return folder_; }
  const std::filesystem::path& workspace() const noexcept { return workspace_; }
  int workspace_fd() const noexcept { return workspace_fd_.get(); }
  workspace_files& files() noexcept { return *files_; }

  /// Gives a workspace in the private folder to another user, who can then reach it by its path. Other users cannot.
  /// Only root can do this.
  void give_workspace_to(std::uint32_t uid, std::uint32_t gid) {
    if (!is_within_folder_) return;
    constexpr mode_t only_passage_for_others = 0711;
    constexpr mode_t only_owner = 0700;
    if (::chmod(workspace_.c_str(), only_owner) == 0 && ::lchown(workspace_.c_str(), uid, gid) == 0 &&
        ::chmod(folder_.c_str(), only_passage_for_others) == 0)
      return;
    const std::error_code cause(errno, std::system_category());
    throw error(exec_errc::provider_failed,
                backend_ + ": the workspace cannot be given to uid " + std::to_string(uid) + ": " + cause.message(),
                cause);
  }

  /// Removes the private folder. Killed processes may still use it for a moment, so the removal is repeated for a
  /// while.
  static awaitable<void> remove(std::shared_ptr<basic_host_folders> self, asio::any_io_executor executor) {
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

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
