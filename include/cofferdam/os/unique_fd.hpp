// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

/// Owns one file descriptor and closes it.
class unique_fd {
 public:
  unique_fd() = default;
  /// \param fd  taken over; -1 means none.
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~unique_fd() { reset(); }

  /// The descriptor, still owned; -1 where there is none.
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

  /// Gives the descriptor up.
  int release() noexcept { return std::exchange(fd_, -1); }
  /// Closes the descriptor and takes over another.
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

  /// The same descriptor with a number above the three standard ones, which a host program may have closed.
  /// Empty, with `errno` set, where the system has no descriptor left.
  static unique_fd above_standard(unique_fd fd) noexcept {
    if (fd.get() < 0 || fd.get() > 2) return fd;
    return unique_fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  }

 private:
  int fd_ = -1;
};

}  // namespace cofferdam::inline v0
