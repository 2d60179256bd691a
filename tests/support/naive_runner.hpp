// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cerrno>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam_test {

/// A command that is run in the simplest way: fork and `sh -c`, with pipes and everything inherited; reads to the end
/// of the output, and kills only the child. The control of the attack tests: against this runner, the attacks must
/// succeed.
class naive_runner {
 public:
  /// \param line  the shell line.
  /// \param home  the command's HOME, by which `guests_of` finds its processes.
  naive_runner(const std::string& line, const std::string& home) {
    int in[2];
    int out[2];
    int err[2];
    if (::pipe(in) != 0 || ::pipe(out) != 0 || ::pipe(err) != 0) throw std::runtime_error("pipe failed");
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork failed");
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::dup2(err[1], 2);
      for (const int fd : {in[0], in[1], out[0], out[1], err[0], err[1]}) ::close(fd);
      ::setenv("HOME", home.c_str(), 1);
      ::execl("/bin/sh", "sh", "-c", line.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    ::close(err[1]);
    in_ = in[1];
    out_ = out[0];
    err_ = err[0];
  }

  naive_runner(const naive_runner&) = delete;
  naive_runner& operator=(const naive_runner&) = delete;

  ~naive_runner() {
    kill();
    wait();
    ::close(in_);
    ::close(out_);
    ::close(err_);
  }

  pid_t pid() const noexcept { return pid_; }
  int output() const noexcept { return out_; }
  int error() const noexcept { return err_; }

  /// Reads standard output to its end, and then waits for the child. Returns false if the output has not ended within
  /// `limit`.
  bool finish(std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      pollfd readable{out_, POLLIN, 0};
      const int ready = left.count() > 0 ? ::poll(&readable, 1, static_cast<int>(left.count())) : 0;
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return false;
      char buffer[65536];
      const ssize_t got = ::read(out_, buffer, sizeof buffer);
      if (got <= 0) break;
      text_.append(buffer, static_cast<std::size_t>(got));
    }
    wait();
    return true;
  }

  /// Returns the output that `finish` has read.
  const std::string& text() const noexcept { return text_; }
  /// Returns waitpid's status, once `finish` has returned true.
  int status() const noexcept { return status_; }

  void kill() const noexcept {
    if (!waited_) ::kill(pid_, SIGKILL);
  }

  void wait() noexcept {
    while (!waited_)
      if (::waitpid(pid_, &status_, 0) == pid_ || errno != EINTR) waited_ = true;
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
  int status_ = 0;
  bool waited_ = false;
  std::string text_;
};

}  // namespace cofferdam_test
