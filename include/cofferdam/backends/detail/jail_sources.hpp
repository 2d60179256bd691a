// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/jail_mounts.hpp>
#include <cofferdam/detail/os/process_table.hpp>
#include <cofferdam/detail/os/shown_file.hpp>
#include <cofferdam/os/directory.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

// The user of a jail, and the files of this machine that a jail shows or hides.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The user of a jail, as the host counts.
class jail_user {
 public:
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool is_other = false;  ///< this program runs as root, and the jail's first process changes to this user

  /// The user of a jail of root, if the workspace has no other owner. No distribution assigns it.
  static constexpr std::uint32_t of_root = 60991;
};

/// The user and group inside. No process there has another.
inline constexpr const char* inside_id = "1000";

/// Chooses the user of a jail.
/// \param workspace  a descriptor of the directory that was named by `workspace()`; -1: a private one.
inline jail_user choose_jail_user(int workspace) {
  jail_user user;
  user.uid = ::geteuid();
  user.gid = ::getegid();
  if (user.uid != 0) return user;
  user.uid = user.gid = jail_user::of_root;
  user.is_other = true;
  struct stat status {};
  if (workspace >= 0 && ::fstat(workspace, &status) == 0 && status.st_uid != 0) {
    user.uid = status.st_uid;
    user.gid = status.st_gid != 0 ? status.st_gid : jail_user::of_root;
  }
  return user;
}

/// Returns true if the modes of a file or folder let the user write there. Access lists are not considered.
inline bool may_write(const std::filesystem::path& path, const jail_user& user) {
  if (!user.is_other) return ::access(path.c_str(), W_OK) == 0;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return false;
  if (status.st_uid == user.uid) return (status.st_mode & S_IWUSR) != 0;
  if (status.st_gid == user.gid) return (status.st_mode & S_IWGRP) != 0;
  return (status.st_mode & S_IWOTH) != 0;
}

/// A file or folder of this machine that a jail must show at a place. While the descriptor is open, the numbers of the
/// file stay its own.
class jail_source {
 public:
  std::string place;           ///< absolute, as the jail names it
  std::string call;            ///< for errors, as in `mount_read_only("/srv/models")`
  unique_fd file;              ///< opened without rights to read or write
  bool is_changeable = false;  ///< commands of this jail may change what is in it
};

/// A file or folder of this machine that `hide` names.
class hidden_file {
 public:
  std::filesystem::path named;  ///< as the option names it
  std::string call;             ///< for errors
  unique_fd file;               ///< opened without rights to read or write; empty: it does not exist
  std::optional<file_location> location;
};

/// Opens a file or folder without rights to read or write. On failure returns an empty object and sets `errno`.
/// \param may_have_links  false: a symbolic link in the path is an error, ELOOP.
inline unique_fd open_source(const std::filesystem::path& path, bool may_have_links) {
  if (may_have_links) return unique_fd::above_standard(unique_fd(::open(path.c_str(), O_PATH | O_CLOEXEC)));
  const unique_fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return {};
  return unique_fd::above_standard(find_beneath(root, path.string(), link_policy::refuse));
}

/// Reads small files that every user may read. Returns false if one of them is anything else.
inline bool copies_of(const std::vector<std::filesystem::path>& paths, std::vector<std::string>& into) {
  constexpr off_t max_copy = 256 * 1024;
  for (const std::filesystem::path& path : paths) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    if ((status.st_mode & S_IROTH) == 0 || status.st_size > max_copy) return false;
    into.push_back(proc_text(path.string()));
  }
  return true;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
