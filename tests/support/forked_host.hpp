// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cerrno>
#include <csignal>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam_test {

/// Runs `body` in a forked copy of this program, and returns the text that `body` returns. For tests that would damage
/// the test program itself: closed standard descriptors, blocked signals, lowered limits.
/// Returns "threw: …" if `body` throws, and "died of signal N" or "exited with N" if the copy ends early. SIGALRM ends
/// the copy after `seconds`. Call this while no watchdog exists, because only one thread may run during the fork.
template <class Body>
std::string in_forked_host(Body body, unsigned seconds = 60) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("pipe failed");
  // Uses a high number, because some bodies close all low descriptors.
  const int answer = ::fcntl(ends[1], F_DUPFD_CLOEXEC, 100);
  std::cout.flush();  // otherwise the copy would print the buffered text too
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    ::alarm(seconds);
    std::string text;
    try {
      text = body();
    } catch (const std::exception& thrown) {
      text = std::string("threw: ") + thrown.what();
    }
    std::string_view rest = text;
    while (!rest.empty()) {
      const ssize_t written = ::write(answer, rest.data(), rest.size());
      if (written <= 0) break;
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    // Not `_exit`, because in `_exit` a sanitizer that reported an error before the fork would change the exit status.
    ::syscall(SYS_exit_group, 0);
  }
  ::close(ends[1]);
  ::close(answer);
  std::string text;
  for (;;) {
    char buffer[4096];
    const ssize_t got = ::read(ends[0], buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return "died of signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return "exited with " + std::to_string(WEXITSTATUS(status));
  return text;
}

}  // namespace cofferdam_test
