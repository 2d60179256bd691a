// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/pipe.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Sets the size of a terminal. Ignores errors, because the call fails only if the terminal no longer exists.
inline void set_terminal_size(const unique_fd& terminal, terminal_size size) noexcept {
  winsize window{};
  window.ws_row = size.rows();
  window.ws_col = size.columns();
  ::ioctl(terminal.get(), TIOCSWINSZ, &window);
}

/// Both ends of a new pseudo-terminal.
class terminal_ends {
 public:
  /// \param size  the initial size of the terminal, in rows and columns.
  /// \throws error{exec_errc::io_error} if the system has no free terminal or no /dev/ptmx.
  explicit terminal_ends(terminal_size size) {
    ours = usable(unique_fd(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)), "terminal");
    if (::unlockpt(ours.get()) != 0) throw failure();
    theirs.reset(::ioctl(ours.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!theirs) throw failure();
    theirs = usable(std::move(theirs), "terminal");
    set_terminal_size(ours, size);
  }
  unique_fd ours;  ///< the master side, non-blocking
  unique_fd theirs;

 private:
  static error failure() {
    const std::error_code cause(errno, std::system_category());
    return error(exec_errc::io_error, "terminal: " + cause.message(), cause);
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
