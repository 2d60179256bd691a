// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/tree_walk.hpp>
#include <cofferdam/os/directory.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/os/workspace_files.hpp>

#include <chrono>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// A killed program leaves its private folders behind. Each folder in use is locked, and the lock vanishes with its
// program. So another program of the same user can find and remove the unlocked folders.

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline constexpr std::string_view private_folder_prefix = "cofferdam-local-";
inline constexpr const char* never_removed_name = "has-no-lock";

/// Marks a folder as in use, for the lifetime of this object.
class folder_lock {
 public:
  folder_lock() = default;
  /// On a file system without locks, the folder is marked so, and only its own program removes it.
  explicit folder_lock(const directory& folder) : fd_(::openat(folder.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ && ::flock(fd_.get(), LOCK_SH | LOCK_NB) == 0) return;
    folder.make_directory(never_removed_name);
  }

 private:
  unique_fd fd_;
};

/// Returns true if a folder was left by a program that has ended. It is then locked by `lock`.
/// \param now  the current time: a folder younger than a minute may not have its lock yet.
inline bool is_abandoned(int base, const std::string& name, std::time_t now, unique_fd& lock) {
  lock.reset(::openat(base, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!lock || ::fstat(lock.get(), &status) != 0) return false;
  if (status.st_uid != ::geteuid() || now - status.st_mtime < 60) return false;
  if (::faccessat(lock.get(), never_removed_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) return false;
  return ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

/// Returns true at the first call in this process for a folder.
inline bool is_first_look(const std::filesystem::path& base) {
  static std::mutex mutex;
  static std::set<std::filesystem::path> seen;
  const std::lock_guard lock(mutex);
  return seen.insert(base).second;
}

/// Removes such folders in `base`, for at most one second: the rest is left to the next program. Folders that cannot be
/// removed stay, without an error.
template <class = void>
awaitable<void> remove_abandoned_folders(std::filesystem::path base) {
  constexpr std::size_t max_names = 100'000;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  try {
    const directory above = directory::open(base);
    unique_fd readable(::openat(above.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!readable) co_return;
    const std::vector<std::string> names = names_in(std::move(readable), max_names, "list", base.native());
    const std::time_t now = std::time(nullptr);
    for (const std::string& name : names) {
      unique_fd lock;
      if (!name.starts_with(private_folder_prefix) || !is_abandoned(above.fd(), name, now, lock)) continue;
      tree_removal removal = above.removal(name);
      const bool done = co_await remove_in_turns(removal, "close", until);
      if (!done) co_return;
    }
  } catch (const error&) {  // folders of other programs are not this program's concern
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
