// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The kind of mount that keeps a protected name.
enum class protection_kind {
  parent,        ///< itself, writable: a folder that is a mount point cannot be renamed, with the protected name in it
  existing,      ///< itself, read-only
  empty_file,    ///< a file that does not exist: an empty one
  empty_folder,  ///< the same for a folder
};

/// One mount within the workspace.
class protected_path {
 public:
  std::string path;  ///< relative to the workspace
  protection_kind kind = protection_kind::existing;
  dev_t device = 0;  ///< of `parent` and `existing`: what must be mounted
  ino_t inode = 0;
};

/// The protected names of one workspace. Names that do not exist get a mount point on the host, a stand-in. Several
/// jails may use it at once. Each of them has a shared lock on it, and the last one removes it: a removed mount point
/// would end the protection in another jail. A stand-in is known by its time of modification, so that a jail also
/// removes those of a program that was killed.
class workspace_protection {
 public:
  /// The time of modification of stand-ins, in seconds since 1970.
  static constexpr time_t time_of_stub = 60991;

  /// \param workspace  the host's folder; empty: the workspace is in memory.
  /// \throws error{exec_errc::provider_failed} for a symbolic link, which could lead anywhere by the time it is
  ///     mounted.
  workspace_protection(const std::filesystem::path& workspace, const std::vector<std::string>& names) {
    try {
      for (const std::string& name : names) add(workspace, name);
    } catch (...) {
      remove_stubs();
      throw;
    }
    std::sort(paths_.begin(), paths_.end(),
              [](const protected_path& a, const protected_path& b) { return a.path < b.path; });
  }
  workspace_protection(const workspace_protection&) = delete;
  workspace_protection& operator=(const workspace_protection&) = delete;
  ~workspace_protection() { remove_stubs(); }

  /// Returns the mounts; folders before what is in them.
  const std::vector<protected_path>& paths() const noexcept { return paths_; }

  /// Removes the mount points that were made. The jail has ended.
  void remove_stubs() noexcept {
    for (const stub& each : stubs_) {
      struct stat now {};
      if (::fstatat(each.folder.get(), each.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (now.st_dev != each.device || now.st_ino != each.inode) continue;
      if (each.lock && ::flock(each.lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
      if (S_ISDIR(now.st_mode)) ::unlinkat(each.folder.get(), each.name.c_str(), AT_REMOVEDIR);
      if (S_ISREG(now.st_mode) && now.st_size == 0) ::unlinkat(each.folder.get(), each.name.c_str(), 0);
    }
    stubs_.clear();
    held_.clear();
  }

 private:
  class stub {
   public:
    unique_fd folder;
    unique_fd lock;
    std::string name;
    dev_t device = 0;
    ino_t inode = 0;
  };

  [[noreturn]] static void fail(const std::string& name, const std::string& why, int number = 0) {
    const std::error_code cause(number, std::system_category());
    throw error(exec_errc::provider_failed,
                "jail: protect(\"" + one_line(name) + "\"): " + why + (number != 0 ? ": " + cause.message() : ""),
                cause);
  }

  /// \param name  relative and normal; a `/` at its end: a folder, if it does not exist.
  void add(const std::filesystem::path& workspace, const std::string& name) {
    const bool is_folder = name.ends_with('/');
    const std::string clean = is_folder ? name.substr(0, name.size() - 1) : name;
    unique_fd folder;
    if (!workspace.empty()) {
      folder.reset(::open(workspace.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (!folder) fail(name, "the workspace cannot be opened", errno);
    }
    for (std::size_t end = 0; end != std::string::npos;) {
      const std::size_t start = end == 0 ? 0 : end + 1;
      end = clean.find('/', start);
      const std::string part = clean.substr(start, end == std::string::npos ? end : end - start);
      const std::string path = clean.substr(0, end);
      const bool is_last = end == std::string::npos;
      struct stat status {};
      const bool is_there = folder && ::fstatat(folder.get(), part.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
      if (folder && !is_there && errno != ENOENT) fail(name, "it cannot be examined", errno);
      if (has(path)) {
        if (kind_of(path) != protection_kind::parent) return;
      } else if (!is_there) {
        const auto kind = !is_last || is_folder ? protection_kind::empty_folder : protection_kind::empty_file;
        if (folder && !make_stub(name, folder, part, kind)) return add(workspace, name);
        paths_.push_back({path, kind, 0, 0});
        return;
      } else if (S_ISLNK(status.st_mode)) {
        fail(name, "'" + one_line(path) + "' is a symbolic link; protect what it leads to");
      } else if (is_stub(folder, part, status) && share_stub(folder, part, status)) {
        const bool is_directory = S_ISDIR(status.st_mode);
        paths_.push_back({path, is_directory ? protection_kind::empty_folder : protection_kind::empty_file, 0, 0});
        return;
      } else {
        // A command cannot fill an empty folder either: it may be a stand-in whose file system has no such time.
        const bool is_parent = !is_last && S_ISDIR(status.st_mode) && !is_empty(folder, part);
        paths_.push_back(
            {path, is_parent ? protection_kind::parent : protection_kind::existing, status.st_dev, status.st_ino});
        if (!is_parent) {
          if (S_ISDIR(status.st_mode) || (S_ISREG(status.st_mode) && status.st_size == 0)) hold(folder, part);
          return;
        }
      }
      folder.reset(::openat(folder.get(), part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!folder) fail(name, "'" + one_line(path) + "' cannot be opened", errno);
    }
  }

  static bool is_empty(const unique_fd& folder, const std::string& part) {
    const unique_fd found(::openat(folder.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!found) return false;
    std::error_code failure;
    return std::filesystem::is_empty("/proc/self/fd/" + std::to_string(found.get()), failure) && !failure;
  }

  /// Returns true for an empty file or folder with the time of a stand-in.
  static bool is_stub(const unique_fd& folder, const std::string& part, const struct stat& status) {
    if (status.st_mtim.tv_sec != time_of_stub) return false;
    return S_ISDIR(status.st_mode) ? is_empty(folder, part) : S_ISREG(status.st_mode) && status.st_size == 0;
  }

  /// Uses the stand-in of another jail. Returns false if it was removed meanwhile, or if it is locked.
  bool share_stub(const unique_fd& folder, const std::string& part, const struct stat& status) {
    stub shared;
    shared.folder.reset(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 3));
    shared.lock.reset(::openat(folder.get(), part.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!shared.folder || !shared.lock || ::flock(shared.lock.get(), LOCK_SH | LOCK_NB) != 0) return false;
    struct stat now {};
    if (::fstatat(folder.get(), part.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0) return false;
    if (now.st_dev != status.st_dev || now.st_ino != status.st_ino) return false;
    shared.name = part;
    shared.device = status.st_dev;
    shared.inode = status.st_ino;
    stubs_.push_back(std::move(shared));
    return true;
  }

  /// Keeps a shared lock on what may be a stand-in of another jail.
  void hold(const unique_fd& folder, const std::string& part) {
    unique_fd found(::openat(folder.get(), part.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (found && ::flock(found.get(), LOCK_SH | LOCK_NB) == 0) held_.push_back(std::move(found));
  }

  /// Returns false if another jail has made the stand-in meanwhile.
  bool make_stub(const std::string& name, const unique_fd& folder, const std::string& part, protection_kind kind) {
    stub made;
    made.folder.reset(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 3));
    made.name = part;
    int failed = 0;
    if (kind == protection_kind::empty_folder) {
      failed = ::mkdirat(folder.get(), part.c_str(), 0755);
      if (failed == 0)
        made.lock.reset(::openat(folder.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    } else {
      made.lock.reset(::openat(folder.get(), part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
      failed = made.lock ? 0 : -1;
    }
    if (failed != 0 && errno == EEXIST) return false;
    if (made.lock) ::flock(made.lock.get(), LOCK_SH | LOCK_NB);
    const timespec times[2] = {{time_of_stub, 0}, {time_of_stub, 0}};
    if (failed == 0) ::utimensat(folder.get(), part.c_str(), times, AT_SYMLINK_NOFOLLOW);
    struct stat status {};
    if (failed == 0) failed = ::fstatat(folder.get(), part.c_str(), &status, AT_SYMLINK_NOFOLLOW);
    if (failed != 0 || !made.folder) fail(name, "an empty stand-in cannot be made in the workspace", errno);
    made.device = status.st_dev;
    made.inode = status.st_ino;
    stubs_.push_back(std::move(made));
    return true;
  }

  std::vector<protected_path>::const_iterator find(const std::string& path) const {
    return std::find_if(paths_.begin(), paths_.end(), [&](const protected_path& one) { return one.path == path; });
  }
  bool has(const std::string& path) const { return find(path) != paths_.end(); }
  protection_kind kind_of(const std::string& path) const { return find(path)->kind; }

  std::vector<protected_path> paths_;
  std::vector<stub> stubs_;
  std::vector<unique_fd> held_;  // possible stand-ins of other jails, locked
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
