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

/// Makes a system call that writes, without the SIGPIPE that a closed peer would raise: the call fails with EPIPE. The
/// host program's setting for this signal stays unchanged. For calls that have no flag for this (send(2) has one:
/// MSG_NOSIGNAL).
/// \param call  returns the result of write(2), and sets `errno`.
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
