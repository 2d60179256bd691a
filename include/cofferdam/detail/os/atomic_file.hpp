// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/os/detail/beneath.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A file that is being written. With `commit()` the whole file appears under its name; without `commit()` nothing
/// appears. Made by `directory::create_file`.
///
/// Before `commit()` the file has no name, if the file system supports that (O_TMPFILE). Otherwise it has a temporary
/// name in the staging directory, the directory for unfinished files. `commit()` replaces a regular file or symbolic
/// link that has the name, instead of writing into it. Other hard links to the old file therefore keep their content.
/// Data is not synced to the disk, so the file may be incomplete after a power failure.
/// \par Threads  one at a time. The destructor discards a file that was not committed.
class atomic_file {
 public:
  atomic_file() = default;
  atomic_file(atomic_file&&) = default;
  atomic_file& operator=(atomic_file&& other) noexcept {
    if (this != &other) {
      discard();
      parent_ = std::move(other.parent_);
      staging_ = std::move(other.staging_);
      data_ = std::move(other.data_);
      path_ = std::move(other.path_);
      name_ = std::move(other.name_);
      temporary_ = std::exchange(other.temporary_, {});
      mode_ = other.mode_;
      replaces_ = other.replaces_;
    }
    return *this;
  }
  ~atomic_file() { discard(); }

  /// Begins a file.
  /// \param parent   a descriptor of the directory for the file; may have been opened with O_PATH.
  /// \param staging  a descriptor of the directory for the unfinished file, on the same file system; empty means
  ///                 `parent`. With a staging directory, a killed program leaves nothing in `parent`.
  /// \param name     the file's name in `parent`, without `/`.
  /// \param path     the file's path for error messages.
  /// \throws error{exec_errc::not_a_file} if a directory, FIFO, socket or device has this name;
  ///     error{exec_errc::permission_denied}, error{exec_errc::io_error} and others if the file cannot be made.
  atomic_file(unique_fd parent, unique_fd staging, std::string name, std::string path)
      : parent_(std::move(parent)), staging_(std::move(staging)), path_(std::move(path)), name_(std::move(name)) {
    look_at_target();
    data_.reset(detail::open_retried(workplace(), ".", O_TMPFILE | O_RDWR, 0600));
    if (data_ && !is_linkable()) data_.reset();
    if (data_) return;
    if (errno == EACCES || errno == ENOSPC || errno == EROFS || errno == EDQUOT) throw failure(errno);
    for (int i = 0; i < max_tries && !data_; ++i) {
      std::string temporary = ".cofferdam-" + detail::random_digits(24);
      data_.reset(detail::open_retried(workplace(), temporary.c_str(), O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW, 0600));
      if (data_)
        temporary_ = std::move(temporary);
      else if (errno != EEXIST)
        break;
    }
    if (!data_) throw failure(errno);
  }

  const std::string& path() const noexcept { return path_; }

  /// Makes `commit` rename a new file, too, instead of linking it to its name. A watch of the directory can then tell a
  /// complete file from an empty one.
  void rename_always() noexcept { replaces_ = true; }

  /// Appends bytes to the file.
  /// \throws error{exec_errc::io_error} with ENOSPC as its `cause()` if the disk is full; error{exec_errc::too_large}
  ///     if a limit on file sizes is exceeded.
  void write(bytes_view content) {
    while (!content.empty()) {
      const ssize_t count = ::write(data_.get(), content.data(), content.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw failure(errno);
      content = content.subspan(static_cast<std::size_t>(count));
    }
  }

  /// Gives the file its name. After that, this object is empty.
  /// \param mode  the permission bits, 0 to 0777, whatever the umask is. By default those of the file that is replaced,
  ///              or 0644 for a new file.
  /// \throws      error{exec_errc::not_a_file} if a directory has the name by now; error{exec_errc::io_error}. The
  ///              directory is then unchanged.
  void commit(std::optional<unsigned> mode = {}) {
    if (::fchmod(data_.get(), (mode ? *mode : mode_) & 0777U) != 0) throw failure(errno);
    if (temporary_.empty() && !replaces_ && link_to(parent_.get(), name_)) {
      forget();
      return;
    }
    if (temporary_.empty()) {
      if (!replaces_ && errno != EEXIST) throw failure(errno);
      give_temporary_name();
    }
    if (::renameat(workplace(), temporary_.c_str(), parent_.get(), name_.c_str()) != 0) {
      const int code = errno;
      discard();
      throw detail::name_error(code, "write", path_);
    }
    temporary_.clear();
    forget();
  }

  /// Discards the file. The directory is unchanged.
  void discard() noexcept {
    if (!temporary_.empty()) ::unlinkat(workplace(), temporary_.c_str(), 0);
    temporary_.clear();
    forget();
  }

 private:
  static constexpr int max_tries = 16;
  static constexpr unsigned default_mode = 0644;

  int workplace() const noexcept { return staging_ ? staging_.get() : parent_.get(); }

  error failure(int code) const { return detail::name_error(code, "write", path_); }

  void forget() noexcept {
    data_.reset();
    staging_.reset();
    parent_.reset();
  }

  void look_at_target() {
    struct stat status {};
    if (::fstatat(parent_.get(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) throw failure(errno);
      return;
    }
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
      throw error(exec_errc::not_a_file, "write " + detail::shown_path(path_) + ": a " +
                                             (S_ISDIR(status.st_mode) ? "directory" : "FIFO, socket or device") +
                                             " has this name, and only regular files can be replaced");
    replaces_ = true;
    if (S_ISREG(status.st_mode)) mode_ = status.st_mode & 0777U;
  }

  // Giving a name to an unnamed file needs /proc, or Linux 6.10.
  bool is_linkable() const noexcept { return ::faccessat(AT_FDCWD, data_link().data(), F_OK, 0) == 0; }

  // Returns an array, because a string would allocate, and the callers must not throw.
  std::array<char, 32> data_link() const noexcept {
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", data_.get());
    return path;
  }

  bool link_to(int directory, const std::string& name) const {
    return ::linkat(AT_FDCWD, data_link().data(), directory, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }

  void give_temporary_name() {
    for (int i = 0; i < max_tries; ++i) {
      std::string temporary = ".cofferdam-" + detail::random_digits(24);
      if (link_to(workplace(), temporary)) {
        temporary_ = std::move(temporary);
        return;
      }
      if (errno != EEXIST) break;
    }
    throw failure(errno);
  }

  unique_fd parent_;
  unique_fd staging_;
  unique_fd data_;
  std::string path_;
  std::string name_;
  std::string temporary_;  // a name in the staging directory; empty while the file has no name
  unsigned mode_ = default_mode;
  bool replaces_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
