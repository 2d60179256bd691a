// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Paths beneath one directory, the root, and small functions on names and descriptors, for the worker: the process of
// the warden (the helper program in a sandbox) for file operations. Functions return a negative errno on failure.
#pragma once

#include <cofferdam/warden/detail/wire.hpp>

#include "directory.h"
#include "processes.h"
#include "system.h"

#include <asm/stat.h>

namespace wire = cofferdam::detail::wire;

inline constexpr u32 mode_format = 0170000, mode_directory = 0040000, mode_regular = 0100000, mode_link = 0120000;
inline constexpr size_t max_path = 4095;
inline constexpr size_t max_name = 255;

inline bool is_format(const struct stat& status, u32 format) { return (status.st_mode & mode_format) == format; }
inline long status_at(int directory, const char* name, struct stat& status) {
  return kernel(__NR_newfstatat, directory, address(name), address(&status), at_symlink_nofollow);
}
/// Reads the status of a descriptor. Returns the descriptor. If the status cannot be read, closes the descriptor and
/// returns the error.
inline int looked_at(int fd, struct stat& status) {
  if (fd < 0) return fd;
  const long result = kernel(__NR_fstat, fd, address(&status));
  if (result >= 0) return fd;
  close_fd(fd);
  return static_cast<int>(result);
}

/// Converts the result of a system call on names in open directories. From such a call, EXDEV means that the names are
/// on different file systems. The other functions in this file return EXDEV for a path that leads out of the root.
inline long name_result(long result) {
  if (result == -EXDEV) return -EOPNOTSUPP;
  return result == -EEXIST ? -ENOTEMPTY : result;
}

/// Changes the mode of the file that a descriptor refers to. The descriptor may have been opened with O_PATH.
inline long change_mode(int fd, u32 mode) {
  long result = kernel(__NR_fchmod, fd, mode);
  if (result != -EBADF) return result;
  result = kernel(452, fd, address(""), mode, at_empty_path);  // fchmodat2(2), since Linux 6.6
  if ((result != -ENOSYS && result != -EPERM) || proc_fd <= 0) return result;
  char link[24];
  put_number(put_text(link, "self/fd/"), static_cast<u32>(fd))[0] = 0;
  return kernel(__NR_fchmodat, proc_fd, address(link), mode);
}

/// The size of a random name: ".cofferdam-", 16 random digits and a NUL. Callers do not use a name that exists already.
inline constexpr size_t random_name_size = 11 + 16 + 1;
inline void random_name(char* to) {
  u64 random = 0;
  if (kernel(__NR_getrandom, address(&random), sizeof random, 1) != sizeof random)  // GRND_NONBLOCK
    random = now_us() * 0x9e3779b97f4a7c15;
  to = put_text(to, ".cofferdam-");
  for (int i = 0; i < 16; ++i, random >>= 4) *to++ = "0123456789abcdef"[random & 15];
  *to = 0;
}

/// Normalizes a path in place: `./a//b/` becomes `a/b`, and `./` becomes `.`, which means the root.
inline long clean_path(char* path, bool may_be_root) {
  if (path[0] == 0 || path[0] == '/') return -EINVAL;
  char* to = path;
  for (const char* at = path;;) {
    while (*at == '/') ++at;
    if (*at == 0) break;
    char* const before = to;
    if (to != path) *to++ = '/';
    const char* const name = to;
    while (*at != 0 && *at != '/') *to++ = *at++;
    if (to - name > static_cast<long>(max_name)) return -ENAMETOOLONG;
    if (name[0] != '.') continue;
    if (to - name == 2 && name[1] == '.') return -EXDEV;
    if (to - name == 1) to = before;
  }
  if (to == path) {
    if (!may_be_root) return -EINVAL;
    *to++ = '.';
  }
  *to = 0;
  return static_cast<size_t>(to - path) <= max_path ? 0 : -ENAMETOOLONG;
}

/// Splits a normalized path. `path` receives the directory, and the name is returned.
inline const char* split_path(const char*& path, char* whole) {
  char* name = whole + strlen(whole);
  while (name != whole && name[-1] != '/') --name;
  path = name == whole ? "." : whole;
  if (name != whole) name[-1] = 0;
  return name;
}

// ---- paths beneath the root -----------------------------------------------------------------------------------------

// A path is followed through at most 40 symbolic links, as in the kernel. The target of each link may be as long as a
// path may be, and is added to the path that is still to be followed.
inline constexpr int max_links = 40;
inline constinit char walk_pending[(max_links + 1) * (max_path + 1) + 1] = {};
inline constinit char walk_names[sizeof walk_pending] = {};

/// A directory, and a function that opens only paths beneath it. Symbolic links are followed as long as they stay
/// beneath the directory.
class file_root {
 public:
  /// Sets the directory.
  /// \param fd     an open directory, or a negative errno, with which every request then fails.
  /// \param walks  true to open paths name by name even if the kernel has openat2(2).
  void take(int fd, bool walks) {
    fd_ = fd;
    if (fd_ < 0) return;
    int probe = walks ? -ENOSYS : open_by_kernel(".", o_path | o_directory);
    walks_ = probe < 0;
    close_fd(probe);
  }

  /// Returns a descriptor if there is a root, otherwise a negative errno.
  long state() const { return fd_; }

  /// Opens a path beneath the directory.
  /// \param path  a normalized path.
  int open(const char* path, int flags) {
    if (!walks_) {
      int fd = -EAGAIN;  // EAGAIN: an entry was renamed while the kernel followed a `..`
      for (int i = 0; i < max_tries && (fd == -EAGAIN || fd == -EINTR); ++i) fd = open_by_kernel(path, flags);
      // A seccomp filter that does not know openat2 may return EPERM. In this case the walk finds the actual result.
      if (fd != -ENOSYS && fd != -EPERM && fd != -EAGAIN && fd != -EINTR) return fd;
    }
    int fd = -EAGAIN;
    for (int i = 0; i < max_tries && fd == -EAGAIN; ++i) {
      at_ = -1;
      names_size_ = 0;
      pending_ = walk_pending + sizeof walk_pending - 1;
      prepend(path, strlen(path));
      fd = walk(flags);
      close_fd(at_);
    }
    return fd;
  }

 private:
  static constexpr int max_tries = 64;
  static constexpr u32 max_steps = 65536;  // the bound for a path with 40 long links full of `..`

  int open_by_kernel(const char* path, int flags) const {
    const struct {
      u64 flags, mode, resolve;
    } how{static_cast<u64>(flags | o_cloexec), 0, 0x08 | 0x02};  // RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS
    return static_cast<int>(kernel(__NR_openat2, fd_, address(path), address(&how), sizeof how));
  }

  // Opens the pending path without openat2(2). Each step opens one name with O_NOFOLLOW in a descriptor that is known
  // to be beneath the root. A name that is replaced at the same time therefore cannot lead out. A `..` in a link is not
  // opened: the walk starts at the root again and descends to the parent, because the `..` entry on disk may lead
  // elsewhere after a rename.
  int walk(int flags) {
    int links = 0;
    for (u32 step = 0; *pending_ != 0; ++step) {
      if (step == max_steps) return -ELOOP;
      char name[max_name + 1];
      const size_t size = take_name(name);
      if (size == 0) return -ENAMETOOLONG;
      if (size == 2 && name[0] == '.' && name[1] == '.') {
        if (names_size_ == 0) return -EXDEV;
        do --names_size_;
        while (names_size_ != 0 && walk_names[names_size_] != '/');
        prepend(walk_names, names_size_);
        names_size_ = 0;
        close_fd(at_);
        continue;
      }
      const bool last = *pending_ == 0;
      struct stat status;
      int next = looked_at(open_at(here(), name, o_path | o_nofollow), status);
      if (next < 0) return next;
      const bool is_link = is_format(status, mode_link);
      if (is_link && !(last && (flags & o_nofollow) != 0)) {
        const int result = ++links > max_links ? -ELOOP : follow(next);
        close_fd(next);
        if (result < 0) return result;
        continue;
      }
      if (last || !is_format(status, mode_directory)) {
        close_fd(next);
        return last ? open_last(name, flags, status) : -ENOTDIR;
      }
      if (names_size_ != 0) walk_names[names_size_++] = '/';
      memcpy(walk_names + names_size_, name, size);
      names_size_ += size;
      close_fd(at_);
      at_ = next;
    }
    return open_at(here(), ".", flags & ~o_nofollow);
  }

  int here() const { return at_ >= 0 ? at_ : fd_; }

  void prepend(const char* path, size_t size) {
    *--pending_ = '/';
    pending_ -= size;
    memcpy(pending_, path, size);
    skip_nothing();
  }

  void skip_nothing() {
    while (*pending_ == '/' || (*pending_ == '.' && (pending_[1] == '/' || pending_[1] == 0))) ++pending_;
  }

  /// Removes the next name from the pending path. Returns its size, at least 1; 0 if the name is too long.
  size_t take_name(char* to) {
    size_t size = 0;
    for (; *pending_ != 0 && *pending_ != '/'; ++pending_) {
      if (size == max_name) return 0;
      to[size++] = *pending_;
    }
    to[size] = 0;
    skip_nothing();
    return size;
  }

  // Puts the target of a link in front of the pending path. The link is read from a descriptor, so another process
  // cannot replace it in between.
  int follow(int link) {
    char target[max_path];
    const long size = kernel(__NR_readlinkat, link, address(""), address(target), sizeof target);
    if (size <= 0) return -ENOENT;
    if (target[0] == '/') return -EXDEV;
    prepend(target, static_cast<size_t>(size));
    return 0;
  }

  /// Opens the last name of the path.
  /// \param seen  the status of this name, read a moment ago.
  int open_last(const char* name, int flags, const struct stat& seen) const {
    struct stat status;
    int fd = looked_at(open_at(here(), name, flags | o_nofollow), status);
    if (is_format(seen, mode_link)) return fd;
    bool swapped = fd == -ELOOP || (fd == -ENOTDIR && is_format(seen, mode_directory));
    if (fd >= 0) swapped = is_format(status, mode_link);
    if (!swapped) return fd;
    close_fd(fd);
    return -EAGAIN;  // a link has just replaced the entry
  }

  int fd_ = 0;
  bool walks_ = false;
  int at_ = 0;             ///< the current directory; -1 means the root
  size_t names_size_ = 0;  ///< the size of the path from the root to `at_`, in walk_names; none of its names is a link
  char* pending_ = nullptr;  ///< the rest of the path that is still to be opened, in walk_pending
};
