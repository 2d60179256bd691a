// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/os/detail/beneath.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

struct close_directory {
  void operator()(DIR* stream) const noexcept { ::closedir(stream); }
};

// Returns the names in a directory, without `.` and `..`, at most `max_names` of them. Takes ownership of the
// descriptor, which must not be opened with O_PATH.
inline std::vector<std::string> names_in(unique_fd fd, std::size_t max_names, std::string_view doing,
                                         std::string_view path) {
  const std::unique_ptr<DIR, close_directory> stream(::fdopendir(fd.get()));
  if (!stream) throw path_error(errno, doing, path);
  static_cast<void>(fd.release());
  std::vector<std::string> names;
  while (names.size() < max_names) {
    errno = 0;
    const dirent* const found = ::readdir(stream.get());
    if (found == nullptr) {
      if (errno != 0) throw path_error(errno, doing, path);
      break;
    }
    const std::string_view name(found->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

// Returns true if an open directory is a mount point. Returns no value if the kernel cannot report this (before 5.8).
inline std::optional<bool> is_mount_point(int directory) noexcept {
  struct statx seen {};
  if (::statx(directory, "", AT_EMPTY_PATH, STATX_TYPE, &seen) != 0) return std::nullopt;
  if ((seen.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0) return std::nullopt;
  return (seen.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

// The open directories from a root to the current directory. It allows moving down and up without ever leaving the
// tree. Only the descriptors of the lowest 32 levels stay open. To move further up, it opens `..` and checks that this
// is the directory from which it once came down.
class directory_stack {
 public:
  explicit directory_stack(unique_fd root) { push(std::move(root)); }

  std::size_t depth() const noexcept { return levels_.size(); }
  int fd() const noexcept { return levels_.back().fd.get(); }
  const struct stat& status() const noexcept { return levels_.back().status; }

  // Moves down into a directory. Returns false and sets `errno` if `fd` is empty.
  bool push(unique_fd fd) {
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) return false;
    if (levels_.size() >= max_held) levels_[levels_.size() - max_held].fd.reset();
    levels_.push_back(level{std::move(fd), status});
    return true;
  }

  // Moves up. Returns false if the current directory is no longer in the directory above.
  bool pop() {
    level& above = levels_[levels_.size() - 2];
    if (!above.fd) {
      unique_fd fd(open_retried(levels_.back().fd.get(), "..", O_PATH | O_DIRECTORY | O_NOFOLLOW));
      struct stat status {};
      if (!fd || ::fstat(fd.get(), &status) != 0 || !same_file(status, above.status)) return false;
      above.fd = std::move(fd);
    }
    levels_.pop_back();
    return true;
  }

 private:
  static constexpr std::size_t max_held = 32;
  struct level {
    unique_fd fd;
    struct stat status;
  };
  std::vector<level> levels_;
};

/// A walk through everything beneath a directory, one entry per call. A directory is returned before its contents; the
/// order is otherwise unspecified. Symbolic links are returned, but never followed. The numbers of stack frames and
/// descriptors do not grow with the depth of the tree.
/// \par Threads  one at a time.
class tree_walk {
 public:
  /// \param root     a descriptor of the directory; may have been opened with O_PATH.
  /// \param path     the path of the directory for error messages.
  /// \param options  the maximum depth and the limits of the list.
  tree_walk(unique_fd root, std::string path, const list_options& options = list_options())
      : stack_(std::move(root)), room_(options, std::move(path)), depth_(options.depth()) {
    pending_.push_back(names_here());
  }

  /// Returns the next entry, with its path relative to the root; no value at the end. Entries that are removed during
  /// the walk are left out.
  /// \throws error{exec_errc::too_large} if a limit is exceeded; error{exec_errc::io_error};
  ///     error{exec_errc::permission_denied} if the contents of the last returned directory cannot be read. After this
  ///     last error, the next call continues with the entry after that directory.
  std::optional<directory_entry> next() {
    for (;;) {
      if (enter_) enter();
      std::vector<std::string>& names = pending_.back();
      if (names.empty()) {
        if (pending_.size() == 1) return std::nullopt;
        pending_.pop_back();
        if (!stack_.pop())
          throw error(exec_errc::io_error,
                      "list " + detail::shown_path(room_.path()) + ": the directory was moved during the operation");
        const std::size_t slash = prefix_.rfind('/', prefix_.size() - 2);
        prefix_.resize(slash == std::string::npos ? 0 : slash + 1);
        continue;
      }
      name_ = std::move(names.back());
      names.pop_back();
      struct stat status {};
      if (::fstatat(stack_.fd(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) continue;
        throw detail::path_error(errno, "list", detail::joined_path(room_.path(), prefix_ + name_));
      }
      std::string path = prefix_ + name_;
      room_.take_path(path);
      enter_ = S_ISDIR(status.st_mode) && pending_.size() < depth_;
      directory_entry entry = detail::entry_of(std::move(path), status);
      if (entry.type() == file_type::symlink) {
        std::string target = detail::read_link(stack_.fd(), name_.c_str());
        room_.take_path(target);
        entry.target(std::move(target));
      }
      return entry;
    }
  }

  /// Skips the contents of the directory that was returned last.
  void skip() noexcept { enter_ = false; }

 private:
  std::vector<std::string> names_here() {
    unique_fd readable(detail::open_retried(stack_.fd(), ".", O_RDONLY | O_DIRECTORY));
    const std::string path = detail::joined_path(room_.path(), prefix_);
    if (!readable) throw detail::path_error(errno, "list", path);
    const std::size_t max_names = std::min(room_.names(), SIZE_MAX - 1) + 1;
    std::vector<std::string> names = detail::names_in(std::move(readable), max_names, "list", path);
    room_.take_names(names.size());
    return names;
  }

  void enter() {
    enter_ = false;
    unique_fd below(detail::open_retried(stack_.fd(), name_.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW));
    if (!below && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) return;  // gone, or replaced
    if (!stack_.push(std::move(below)))
      throw detail::path_error(errno, "list", detail::joined_path(room_.path(), prefix_ + name_));
    const std::size_t above = prefix_.size();
    prefix_ += name_;
    prefix_ += '/';
    try {
      pending_.push_back(names_here());
    } catch (...) {
      prefix_.resize(above);
      stack_.pop();
      throw;
    }
  }

  detail::directory_stack stack_;
  std::string prefix_;
  std::string name_;
  std::vector<std::vector<std::string>> pending_;
  detail::listing_room room_;
  std::size_t depth_;
  bool enter_ = false;
};

/// A removal of a tree in small steps. Symbolic links are removed, never followed. A mount point is an error, and is
/// never entered. If a directory of this user lacks permission bits for the removal, they are set. The numbers of stack
/// frames and descriptors do not grow with the depth of the tree.
/// \par Threads  one at a time.
class tree_removal {
 public:
  /// Removes the contents of a directory, but not the directory itself.
  /// \param root  a descriptor of the directory; may have been opened with O_PATH.
  /// \param path  the path of the directory for error messages.
  tree_removal(unique_fd root, std::string path) : stack_(std::move(root)), path_(std::move(path)), min_ours_(1) {
    pending_.push_back(names_here());
    has_more_ = pending_.back().size() == max_names;
  }

  /// Removes one entry of a directory, with its contents.
  /// \param parent  a descriptor of the directory; may have been opened with O_PATH.
  /// \param name    the name of the entry.
  /// \param path    the path of the entry for error messages.
  /// \throws error{exec_errc::not_found} if there is no such entry.
  tree_removal(unique_fd parent, std::string name, std::string path)
      : stack_(std::move(parent)), path_(std::move(path)), min_ours_(2) {
    struct stat status {};
    if (::fstatat(stack_.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      throw detail::path_error(errno, "remove", path_);
    std::vector<std::string> names;
    names.push_back(std::move(name));
    pending_.push_back(std::move(names));
  }

  /// Removes about `limit` more entries. Returns true if everything is removed.
  /// \throws error{exec_errc::permission_denied}; error{exec_errc::io_error}, for example for a mount point. Entries
  ///     that were removed before stay removed.
  bool step(std::size_t limit = 1024) {
    for (std::size_t done = 0; done < limit; ++done) {
      if (pending_.back().empty()) {
        if (pending_.size() > 1)
          leave();
        else if (!fill_again())
          return true;
      } else if (unlink(pending_.back().back(), 0)) {
        pending_.back().pop_back();
      } else if (errno == EISDIR || errno == EPERM) {  // EISDIR on Linux, EPERM in POSIX: a directory
        enter(errno);
      } else {
        throw detail::name_error(errno, "remove", path_);
      }
    }
    return false;
  }

 private:
  // The maximum number of names of one directory that are read at a time. The others are read in another round.
  static constexpr std::size_t max_names = 16'384;
  // A bound for the case that another process adds entries all the time.
  static constexpr int max_rounds = 10'000;

  // Sets the permission bits that are needed to empty the current directory. Returns false, with EACCES in `errno`, if
  // this is not permitted.
  bool take_over() noexcept {
    const bool taken = stack_.depth() >= min_ours_ && detail::change_mode(stack_.fd(), 0700);
    if (!taken) errno = EACCES;
    return taken;
  }

  // Removes a name in the current directory. Returns true also if the name does not exist any more.
  bool unlink(const std::string& name, int flags) {
    if (::unlinkat(stack_.fd(), name.c_str(), flags) == 0 || errno == ENOENT) return true;
    if (errno != EACCES || !take_over()) return false;
    return ::unlinkat(stack_.fd(), name.c_str(), flags) == 0 || errno == ENOENT;
  }

  unique_fd open_here(const char* name, int flags) {
    unique_fd fd(detail::open_retried(stack_.fd(), name, flags | O_DIRECTORY | O_NOFOLLOW));
    if (!fd && errno == EACCES && take_over())
      fd.reset(detail::open_retried(stack_.fd(), name, flags | O_DIRECTORY | O_NOFOLLOW));
    return fd;
  }

  void enter(int why_not_unlinked) {
    unique_fd below = open_here(pending_.back().back().c_str(), O_PATH);
    if (!below && (errno == ENOTDIR || errno == ELOOP || errno == ENOENT)) {
      if (why_not_unlinked == EPERM) throw detail::name_error(EPERM, "remove", path_);
      count_round();  // another process has replaced the directory, so try again
      return;
    }
    refuse_mount(below);
    if (!stack_.push(std::move(below))) throw detail::name_error(errno, "remove", path_);
    try {
      pending_.push_back(names_here());
    } catch (...) {
      stack_.pop();
      throw;
    }
  }

  // Throws if a directory is a mount point. A command that runs as root may have mounted a directory of the host on it,
  // and the contents of that directory must not be removed.
  void refuse_mount(const unique_fd& below) {
    if (!below) return;
    std::optional<bool> is_mount = detail::is_mount_point(below.get());
    // An older kernel returns EBUSY when a mount point is removed, even if it is empty.
    if (!is_mount)
      is_mount = ::unlinkat(stack_.fd(), pending_.back().back().c_str(), AT_REMOVEDIR) != 0 && errno == EBUSY;
    if (*is_mount)
      throw error(exec_errc::io_error,
                  "remove " + detail::shown_path(path_) + ": a file system is mounted on " +
                      detail::shown_path(pending_.back().back()) + " inside; unmount it first",
                  std::make_error_code(std::errc::device_or_resource_busy));
  }

  std::vector<std::string> names_here() {
    unique_fd readable = open_here(".", O_RDONLY);
    if (!readable) throw detail::name_error(errno, "remove", path_);
    return detail::names_in(std::move(readable), max_names, "remove", path_);
  }

  // Reads more names of the directory whose contents are removed, if the last reading has left some out. Returns false
  // if there are none.
  bool fill_again() {
    if (!has_more_) return false;
    std::vector<std::string> names = names_here();
    if (names.empty()) return false;
    count_round();
    has_more_ = names.size() == max_names;
    pending_.front() = std::move(names);
    return true;
  }

  void leave() {
    if (!stack_.pop())
      throw error(exec_errc::io_error,
                  "remove " + detail::shown_path(path_) + ": the directory was moved during the operation");
    pending_.pop_back();
    if (unlink(pending_.back().back(), AT_REMOVEDIR)) {
      pending_.back().pop_back();
      return;
    }
    if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) throw detail::name_error(errno, "remove", path_);
    count_round();
  }

  void count_round() {
    if (++rounds_ > max_rounds)
      throw error(exec_errc::not_empty,
                  "remove " + detail::shown_path(path_) + ": another process keeps adding files to the directory");
  }

  detail::directory_stack stack_;
  std::string path_;
  std::size_t min_ours_;  // directories at this depth or deeper may be changed; those above belong to the caller
  std::vector<std::vector<std::string>> pending_;
  bool has_more_ = false;  // the directory whose contents are removed has names that were not read
  int rounds_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
