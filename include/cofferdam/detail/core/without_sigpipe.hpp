// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cerrno>
#include <csignal>
#include <ctime>

#include <pthread.h>
#include <sys/types.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Makes a system call that writes to a pipe or a socket. If the other end is closed, the call fails with EPIPE and the
/// program receives no SIGPIPE. The program's own handling of this signal stays unchanged. This function is for system
/// calls without a flag for this purpose; send(2) has MSG_NOSIGNAL.
/// \param call  a callable that makes the system call, sets `errno` and returns its result, as write(2) does.
template <class Call>
ssize_t without_sigpipe(Call call) noexcept {
  sigset_t broken;
  sigset_t before;
  sigset_t pending;
  ::sigemptyset(&broken);
  ::sigaddset(&broken, SIGPIPE);
  ::sigpending(&pending);
  const bool was_pending = ::sigismember(&pending, SIGPIPE) == 1;
  ::pthread_sigmask(SIG_BLOCK, &broken, &before);
  const ssize_t written = call();
  const int number = errno;
  if (written < 0 && number == EPIPE && !was_pending) {
    const timespec now{};
    while (::sigtimedwait(&broken, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = number;
  return written;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
