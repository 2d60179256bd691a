// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include "support/paths.hpp"

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam_test {

/// A server in Python that runs as a child of the test. The script prints one line when it is ready, and ends when its
/// standard input ends. The destructor ends it.
class script_server {
 public:
  /// Starts the script, and waits for its line.
  /// \param script  the path of the script in the source tree.
  script_server(const std::string& script, std::vector<std::string> arguments) {
    int to[2];
    int from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    std::vector<std::string> words{"python3", source_path(script)};
    for (std::string& each : arguments) words.push_back(std::move(each));
    std::vector<char*> pointers;
    for (std::string& each : words) pointers.push_back(each.data());
    pointers.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(to[0], 0);
      ::dup2(from[1], 1);
      ::execvp("python3", pointers.data());
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    input_ = to[1];
    char c = 0;
    while (::read(from[0], &c, 1) == 1 && c != '\n') line_ += c;
    ::close(from[0]);
    if (c == '\n') return;
    end();
    throw std::runtime_error(script + " does not start");
  }
  script_server(const script_server&) = delete;
  script_server& operator=(const script_server&) = delete;
  ~script_server() { end(); }

  /// Returns the line that the script has printed.
  const std::string& line() const noexcept { return line_; }

 private:
  void end() noexcept {
    ::close(input_);
    ::kill(pid_, SIGTERM);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  pid_t pid_ = -1;
  int input_ = -1;
  std::string line_;
};

}  // namespace cofferdam_test
