// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/without_sigpipe.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Both ends of a pipe. They are closed on exec, and their numbers are above the three standard descriptors.
class pipe_ends {
 public:
  unique_fd read_end;
  unique_fd write_end;
};

/// Returns the descriptor with a number above the standard ones.
/// \param what  the kind of descriptor, for the error message.
/// \throws error{exec_errc::io_error} with the error of `errno` if `fd` is empty or no such number is free.
inline unique_fd usable(unique_fd fd, const char* what) {
  fd = unique_fd::above_standard(std::move(fd));
  if (!fd) {
    const std::error_code cause(errno, std::system_category());
    throw error(
        exec_errc::io_error,
        std::string(what) + ": " + cause.message() + "; raise the limit on open files, or run fewer commands at once",
        cause);
  }
  return fd;
}

inline void set_nonblocking(const unique_fd& fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) < 0)
    throw error(exec_errc::io_error, "a pipe cannot be made non-blocking",
                std::error_code(errno, std::system_category()));
}

/// Calls write(2) without raising SIGPIPE: a pipe without a reader gives EPIPE. Does not change the program's action
/// for this signal.
inline ssize_t write_without_sigpipe(int fd, bytes_view data) noexcept {
  return without_sigpipe([&] { return ::write(fd, data.data(), data.size()); });
}

/// Makes a pipe.
/// \throws error{exec_errc::io_error} if no descriptor is free.
inline pipe_ends make_pipe() {
  int fds[2] = {-1, -1};
  if (::pipe2(fds, O_CLOEXEC) < 0) {
    const std::error_code cause(errno, std::system_category());
    throw error(exec_errc::io_error,
                "pipe: " + cause.message() + "; raise the limit on open files, or run fewer commands at once", cause);
  }
  pipe_ends ends;
  ends.read_end.reset(fds[0]);
  ends.write_end.reset(fds[1]);
  ends.read_end = detail::usable(std::move(ends.read_end), "pipe");
  ends.write_end = detail::usable(std::move(ends.write_end), "pipe");
  return ends;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
