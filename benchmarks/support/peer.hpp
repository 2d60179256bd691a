// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam_bench {

/// A program that uses another library, for comparison. It reads one word per line, and replies with one line.
class peer {
 public:
  /// \param words  the program, which is looked up in PATH, and its arguments.
  explicit peer(std::vector<std::string> words) : name_(words.front()) {
    int to[2];
    int from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(to[0], 0);
      ::dup2(from[1], 1);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    in_ = ::fdopen(to[1], "w");
    out_ = ::fdopen(from[0], "r");
  }
  peer(const peer&) = delete;
  peer& operator=(const peer&) = delete;
  ~peer() {
    std::fclose(in_);
    std::fclose(out_);
    ::waitpid(pid_, nullptr, 0);
  }

  std::string ask(const std::string& line) {
    std::fprintf(in_, "%s\n", line.c_str());
    std::fflush(in_);
    char answer[1024];
    if (std::fgets(answer, sizeof answer, out_) == nullptr)
      throw std::runtime_error(name_ + " gave no answer to " + line + "; is what it needs installed?");
    std::string text(answer);
    text.pop_back();
    return text;
  }

 private:
  std::string name_;
  pid_t pid_ = -1;
  std::FILE* in_ = nullptr;
  std::FILE* out_ = nullptr;
};

}  // namespace cofferdam_bench
