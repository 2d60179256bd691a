// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

// Starts servers that are written in Go. Benchmarks use this file, too, so it needs no test library.

namespace cofferdam_test {

inline bool has_go() { return std::system("go version >/dev/null 2>&1") == 0; }

/// Builds a program that is written in Go, and returns its path.
/// \param source  the folder of the source.
/// \param folder  the folder for the program.
inline std::string build_go_program(const std::string& source, const std::string& folder) {
  std::string program = folder + "/go_program";
  const std::string build =
      "export GOCACHE=\"${GOCACHE:-${HOME:-/tmp}/.cache/go-build}\" GO111MODULE=off GOTOOLCHAIN=local; cd '" + source +
      "' && go build -o '" + program + "' .";
  if (std::system(build.c_str()) != 0) throw std::runtime_error("go build failed");
  return program;
}

/// A running server that is written in Go. It prints its port as its first line, and ends at the end of its standard
/// input.
class go_program {
 public:
  /// \param program    the path of the program.
  /// \param arguments  the arguments of the program.
  go_program(std::string program, std::vector<std::string> arguments) {
    int to_it[2];
    int from_it[2];
    if (::pipe2(to_it, O_CLOEXEC) != 0 || ::pipe2(from_it, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, to_it[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, from_it[1], 1);
    std::vector<char*> words{program.data()};
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    const int failure = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(to_it[0]);
    ::close(from_it[1]);
    input_ = to_it[1];
    if (failure != 0) throw std::runtime_error("posix_spawn failed");
    std::string text;
    char c = 0;
    while (::read(from_it[0], &c, 1) == 1 && c != '\n') text += c;
    ::close(from_it[0]);
    port_ = static_cast<std::uint16_t>(std::stoi(text));
  }
  go_program(const go_program&) = delete;
  go_program& operator=(const go_program&) = delete;
  ~go_program() {
    ::close(input_);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  pid_t pid_ = 0;
  int input_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace cofferdam_test
