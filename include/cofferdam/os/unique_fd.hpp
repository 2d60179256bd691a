// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <utility>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// P_PIDFD of waitid(2), which older C libraries define as a macro of another type.
inline constexpr auto wait_for_pidfd = static_cast<idtype_t>(3);

/// Sends a signal to the process of a pidfd. If that process has ended, no other process with its number is signalled.
inline void signal_process(int pidfd, int number) noexcept {
  ::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0);
}

}  // namespace detail

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

  /// Returns the descriptor, still owned; -1 if there is none.
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

  /// Releases the descriptor without closing it.
  int release() noexcept { return std::exchange(fd_, -1); }
  /// Closes the descriptor and takes over another.
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

  /// Moves the descriptor to a number above the three standard ones, which a host program may have closed. Empty, with
  /// `errno` set, if the system has no descriptor left.
  static unique_fd above_standard(unique_fd fd) noexcept {
    if (fd.get() < 0 || fd.get() > 2) return fd;
    return unique_fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  }

 private:
  int fd_ = -1;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
