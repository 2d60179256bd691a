// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/os/detail/beneath.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A file or folder as one mount shows it.
class shown_file {
 public:
  dev_t device = 0;
  ino_t inode = 0;
  std::uint64_t mount = 0;  ///< the number of the mount; 0 before Linux 5.8

  bool operator==(const shown_file&) const = default;

  /// Returns true if both are the same file, perhaps shown by two mounts.
  bool is_same_file(const shown_file& other) const noexcept { return device == other.device && inode == other.inode; }

  /// Returns the file that a descriptor refers to; no value if the file cannot be examined.
  static std::optional<shown_file> of(const unique_fd& fd) {
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) return std::nullopt;
    shown_file file;
    file.device = status.st_dev;
    file.inode = status.st_ino;
#if defined(STATX_MNT_ID)
    struct statx more {};
    if (::statx(fd.get(), "", AT_EMPTY_PATH, STATX_MNT_ID, &more) == 0 && (more.stx_mask & STATX_MNT_ID) != 0)
      file.mount = more.stx_mnt_id;
#endif
    return file;
  }
};

/// Opens a file or folder beneath `root` without rights to read or write. On failure returns an empty object and sets
/// `errno`.
/// \param path  absolute; `root` is its first `/`.
inline unique_fd find_beneath(const unique_fd& root, const std::string& path, link_policy links) {
  return open_beneath(root.get(), path == "/" ? "." : path.substr(1), O_PATH, path_resolution::kernel, links);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
