// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/os/path_error.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI {

/// The method that keeps a path beneath a directory.
enum class path_resolution {
  kernel,  ///< `openat2(RESOLVE_BENEATH)`; changed to `component` if the kernel or a filter refuses this call
  /// Opens one name after another and reads symbolic links itself: slower, but works on every kernel.
  component,
};

/// The treatment of symbolic links in a path.
enum class link_policy {
  follow,  ///< links are followed as long as they stay beneath the directory
  refuse,  ///< a link anywhere in the path is an error
};

namespace detail {

inline file_type type_of(const struct stat& status) noexcept {
  if (S_ISREG(status.st_mode)) return file_type::regular;
  if (S_ISDIR(status.st_mode)) return file_type::directory;
  if (S_ISLNK(status.st_mode)) return file_type::symlink;
  return file_type::other;
}

inline directory_entry entry_of(std::string path, const struct stat& status) {
  const file_type type = type_of(status);
  const auto size = type == file_type::regular ? static_cast<std::uint64_t>(status.st_size) : 0;
  directory_entry entry(std::move(path), type, size, status.st_mode & 0777U);
  entry.ids(status.st_uid, status.st_gid);
  if (const auto when = file_time(status.st_mtim.tv_sec, static_cast<std::uint32_t>(status.st_mtim.tv_nsec)))
    entry.modified(*when);
  return entry;
}

inline bool same_file(const struct stat& a, const struct stat& b) noexcept {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

inline int open_retried(int directory, const char* name, int flags, mode_t mode = 0) noexcept {
  int fd = -1;
  do {
    fd = ::openat(directory, name, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

inline int openat2_once(int directory, const char* path, int flags, link_policy links) noexcept {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | (links == link_policy::refuse ? RESOLVE_NO_SYMLINKS : RESOLVE_NO_MAGICLINKS);
  return static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof how));
}

// Returns the target of the symbolic link that an O_PATH descriptor refers to, which another process cannot replace in
// between. With a name, returns the target of the link with this name in the directory `link`. On failure returns an
// empty text and sets `errno`.
inline std::string read_link(int link, const char* name = "") {
  std::array<char, max_path + 1> target{};
  const ssize_t length = ::readlinkat(link, name, target.data(), target.size());
  if (length < 0) return {};
  return std::string(target.data(), static_cast<std::size_t>(length));
}

// A walk that opens a path beneath a directory without openat2(2). Each step opens one name with O_NOFOLLOW in a
// descriptor that is known to be beneath the root. A name that is replaced at the same time therefore cannot lead out.
// A `..` in a link is not opened: the walk starts at the root again and descends to the parent, because the `..` entry
// on disk may lead elsewhere after a rename.
class component_walk {
 public:
  component_walk(int root, std::string_view path, link_policy links)
      : root_(root),
        max_links_(links == link_policy::refuse ? 0 : 40) {  // 40 is also the kernel's limit, path_resolution(7)
    prepend(path);
  }

  // Opens the path. Returns a descriptor, or -1 with `errno` set.
  int open(int flags) {
    flags |= O_CLOEXEC;
    while (!pending_.empty()) {
      if (++steps_ > max_steps) return failed(ELOOP);
      const std::string name = std::move(pending_.back());
      pending_.pop_back();
      if (name == "..") {
        if (!go_up()) return -1;
        continue;
      }
      const bool last = pending_.empty();
      unique_fd next(open_retried(here(), name.c_str(), O_PATH | O_NOFOLLOW));
      struct stat status {};
      if (!next || ::fstat(next.get(), &status) != 0) return -1;
      if (S_ISLNK(status.st_mode) && !(last && (flags & O_NOFOLLOW) != 0)) {
        if (++links_ > max_links_) return failed(ELOOP);
        const std::string target = read_link(next.get());
        if (target.empty()) return failed(ENOENT);
        if (target.front() == '/') return failed(EXDEV);
        prepend(target);
        continue;
      }
      if (last) return open_last(name, flags, status);
      if (!S_ISDIR(status.st_mode)) return failed(ENOTDIR);
      names_.push_back(name);
      at_ = std::move(next);
    }
    return open_retried(here(), ".", flags & ~O_NOFOLLOW);
  }

 private:
  static constexpr std::size_t max_steps = 65536;  // limits the work for a path with 40 long links full of `..`

  int here() const noexcept { return at_ ? at_.get() : root_; }

  static int failed(int code) noexcept {
    errno = code;
    return -1;
  }

  void prepend(std::string_view path) {
    const std::vector<std::string_view> parts = path_components(path);
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) pending_.emplace_back(*part);
  }

  int open_last(const std::string& name, int flags, const struct stat& expected) {
    unique_fd fd(open_retried(here(), name.c_str(), flags | O_NOFOLLOW));
    if (!fd) {
      if (errno == ELOOP && !S_ISLNK(expected.st_mode)) errno = EAGAIN;  // a link has just replaced the entry
      return -1;
    }
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return -1;
    if (S_ISLNK(status.st_mode) && !S_ISLNK(expected.st_mode)) return failed(EAGAIN);
    return fd.release();
  }

  bool go_up() {
    if (names_.empty()) {
      errno = EXDEV;
      return false;
    }
    names_.pop_back();
    at_.reset();
    for (const std::string& name : names_) {
      if (++steps_ > max_steps) {
        errno = ELOOP;
        return false;
      }
      unique_fd next(open_retried(here(), name.c_str(), O_PATH | O_NOFOLLOW | O_DIRECTORY));
      if (!next) {
        if (errno == ENOTDIR || errno == ELOOP) errno = EAGAIN;  // a link has just replaced the directory
        return false;
      }
      at_ = std::move(next);
    }
    return true;
  }

  int root_;
  int max_links_;
  unique_fd at_;
  std::vector<std::string> names_;    // the names from the root to `at_`, none of which is a link
  std::vector<std::string> pending_;  // the names that are still to be opened, in reverse order
  std::size_t steps_ = 0;
  int links_ = 0;
};

inline unique_fd walk_beneath(int root, std::string_view path, int flags, link_policy links) {
  constexpr int max_tries = 64;
  for (int i = 0; i < max_tries; ++i) {
    component_walk walk(root, path, links);
    unique_fd fd(walk.open(flags));
    if (fd || errno != EAGAIN) return fd;
  }
  return {};
}

// Opens `path` beneath `root`. Follows symbolic links that stay beneath it. Creates nothing. On failure returns an
// empty object and sets `errno`.
inline unique_fd open_beneath(int root, const std::string& path, int flags, path_resolution how,
                              link_policy links = link_policy::follow) {
  if (how == path_resolution::kernel) {
    constexpr int max_tries = 64;  // EAGAIN: an entry was renamed while the kernel followed a `..`
    int fd = -1;
    for (int i = 0; i < max_tries; ++i) {
      fd = openat2_once(root, path.c_str(), flags, links);
      if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
    }
    if (fd >= 0) return unique_fd(fd);
    // A seccomp filter that does not know openat2 may return EPERM. In this case the walk finds the actual result.
    if (errno != ENOSYS && errno != EPERM && errno != EAGAIN && errno != EINTR) return {};
  }
  return walk_beneath(root, path, flags, links);
}

// Returns `kernel` if this system supports it, otherwise `component`.
inline path_resolution available_resolution(int root) noexcept {
  const unique_fd probe(openat2_once(root, ".", O_PATH | O_DIRECTORY, link_policy::follow));
  return probe ? path_resolution::kernel : path_resolution::component;
}

// Changes the mode of the file that a descriptor refers to. The descriptor may have been opened with O_PATH. Returns
// false and sets `errno` on failure.
inline bool change_mode(int fd, mode_t mode) noexcept {
  if (::fchmod(fd, mode) == 0) return true;
  if (errno != EBADF) return false;
  constexpr long fchmodat2 = 452;  // since Linux 6.6; the same number on every architecture
  if (::syscall(fchmodat2, fd, "", mode, AT_EMPTY_PATH) == 0) return true;
  if (errno != ENOSYS && errno != EPERM) return false;
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  return ::fchmodat(AT_FDCWD, link.c_str(), mode, 0) == 0;
}

inline std::pair<std::string, std::string> split_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace detail
}  // namespace cofferdam::inline COFFERDAM_ABI
