// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include "support/paths.hpp"

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

namespace cofferdam_test {

/// Returns true if Python can run tests/net/http_server.py.
inline bool has_python() { return std::system("python3 -c 'import ssl, http.server' >/dev/null 2>&1") == 0; }

/// A process that runs a server in Python, by default tests/net/http_server.py. The destructor ends the process.
class real_server {
 public:
  /// \param script  the path of the script in the source tree. It prints "ready PORT", and ends when its input ends.
  /// \param python  the interpreter: a path, or a name that is looked up in the PATH.
  explicit real_server(std::vector<std::string> options = {}, const std::string& script = "tests/net/http_server.py",
                       const std::string& python = "python3") {
    int to_child[2];
    int from_child[2];
    if (::pipe2(to_child, O_CLOEXEC) != 0 || ::pipe2(from_child, O_CLOEXEC) != 0)
      throw std::runtime_error("pipe2 failed");
    std::vector<std::string> words{python, source_path(script)};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> raw;
    for (std::string& word : words) raw.push_back(word.data());
    raw.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to_child[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from_child[1], 1);
    const int failure = ::posix_spawnp(&pid_, python.c_str(), &actions, nullptr, raw.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(to_child[0]);
    ::close(from_child[1]);
    input_ = to_child[1];
    std::string line;
    char c = 0;
    while (failure == 0 && ::read(from_child[0], &c, 1) == 1 && c != '\n') line += c;
    ::close(from_child[0]);
    if (!line.starts_with("ready ")) throw std::runtime_error("the server did not start: " + line);
    port_ = static_cast<std::uint16_t>(std::stoi(line.substr(6)));
  }
  real_server(const real_server&) = delete;
  real_server& operator=(const real_server&) = delete;
  ~real_server() {
    ::close(input_);
    ::waitpid(pid_, nullptr, 0);
  }

  std::uint16_t port() const noexcept { return port_; }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace cofferdam_test
