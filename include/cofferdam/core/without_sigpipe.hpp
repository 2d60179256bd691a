// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cerrno>
#include <csignal>
#include <ctime>

#include <pthread.h>
#include <sys/types.h>

namespace cofferdam::inline v0::detail {

/// A system call that writes, without the SIGPIPE that a peer who has gone raises: it answers EPIPE. What is done with that
/// signal is the host program's business. For calls that cannot be told so themselves (send(2) can: MSG_NOSIGNAL).
/// \param call  yields what write(2) does, and sets `errno`.
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

}  // namespace cofferdam::inline v0::detail
