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

/// The constant P_PIDFD of waitid(2). Older C libraries define it as a macro of another type.
inline constexpr auto wait_for_pidfd = static_cast<idtype_t>(3);

/// Sends a signal to the process of a pidfd. Does nothing if the process has ended, even if its number has been reused.
inline void signal_process(int pidfd, int number) noexcept {
  ::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0);
}

}  // namespace detail

/// A file descriptor that is closed by the destructor.
class unique_fd {
 public:
  unique_fd() = default;
  /// \param fd  the descriptor to own; -1 means none.
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~unique_fd() { reset(); }

  /// Returns the descriptor, which the object still owns; -1 if there is none.
  int get() const noexcept { return fd_; }
  /// Returns true if the object owns a descriptor.
  explicit operator bool() const noexcept { return fd_ >= 0; }

  /// Returns the descriptor and gives up its ownership, without closing it.
  int release() noexcept { return std::exchange(fd_, -1); }
  /// Closes the descriptor, and takes ownership of another.
  /// \param fd  the other descriptor; -1 means none.
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

  /// Returns a descriptor whose number is above the three standard ones: the same, or a duplicate. A host program may
  /// have closed standard descriptors, and new descriptors then get their numbers. Returns an empty object and sets
  /// `errno` if no descriptor is free.
  static unique_fd above_standard(unique_fd fd) noexcept {
    if (fd.get() < 0 || fd.get() > 2) return fd;
    return unique_fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  }

 private:
  int fd_ = -1;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
