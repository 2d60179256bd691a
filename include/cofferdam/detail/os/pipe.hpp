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

/// Both ends of a pipe, closed on exec and numbered above the standard descriptors.
class pipe_ends {
 public:
  unique_fd read_end;
  unique_fd write_end;
};

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

/// Calls write(2) without SIGPIPE: a closed pipe gives EPIPE. Does not change the host program's setting for that
/// signal.
inline ssize_t write_without_sigpipe(int fd, bytes_view data) noexcept {
  return without_sigpipe([&] { return ::write(fd, data.data(), data.size()); });
}

/// Makes a pipe.
/// \throws error{exec_errc::io_error} if the system has no descriptor left.
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
