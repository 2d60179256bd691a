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

/// A file that is being written and appears whole, under its name, with `commit()`, or not at all. Made by
/// `directory::create_file`.
///
/// Until then the bytes have no name if the file system supports that (O_TMPFILE), else one in the staging
/// directory. A regular file or symbolic link of that name is replaced, never written through, so other hard links to
/// the old file keep its content. Nothing is synced to disk: after a power cut the file system decides.
/// \par Threads  one at a time. The destructor discards what was not committed.
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

  /// Starts a file.
  /// \param parent   the directory it will stand in; its descriptor, O_PATH is enough.
  /// \param staging  the directory of the unfinished file, as a descriptor on the same file system, or empty for
  ///                 `parent` itself. With a staging directory a killed host leaves nothing in the tree.
  /// \param name     one name, without `/`.
  /// \param path     the file's path for error messages.
  /// \throws error{exec_errc::not_a_file} if a directory, FIFO, socket or device has that name; and others.
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

  /// Adds bytes at the end.
  /// \throws error{exec_errc::io_error} with the cause if the disk is full; error{exec_errc::too_large} at a file-size
  /// limit.
  void write(bytes_view content) {
    while (!content.empty()) {
      const ssize_t count = ::write(data_.get(), content.data(), content.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw failure(errno);
      content = content.subspan(static_cast<std::size_t>(count));
    }
  }

  /// Gives the file its name. After that this object is empty.
  /// \param mode  permission bits, of which 0777 are used, independent of the umask; by default those of the file that
  ///              is replaced, else 0644.
  /// \throws      error{exec_errc::not_a_file} if a directory is in its place now, io_error; nothing has changed.
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

  /// Drops what was written; nothing has changed.
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
                                             " has that name, and only a file is replaced");
    replaces_ = true;
    if (S_ISREG(status.st_mode)) mode_ = status.st_mode & 0777U;
  }

  // Giving an unnamed file a name needs /proc, or Linux 6.10.
  bool is_linkable() const noexcept { return ::faccessat(AT_FDCWD, data_link().data(), F_OK, 0) == 0; }

  // Not a string: it would allocate, in a function that must not throw.
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
  std::string temporary_;  // in the staging directory; empty while the data has no name
  unsigned mode_ = default_mode;
  bool replaces_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
