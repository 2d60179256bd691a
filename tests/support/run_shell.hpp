// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/wait.h>

namespace cofferdam_test {

/// The result of a command of this machine.
class shell_result {
 public:
  std::string output;  ///< both outputs
  int status = 0;

  std::vector<std::string> lines() const {
    std::istringstream text(output);
    std::vector<std::string> found;
    for (std::string line; std::getline(text, line);) found.push_back(line);
    return found;
  }
};

/// Runs a shell line, with both outputs in one text.
inline shell_result run_shell(const std::string& line) {
  shell_result result;
  std::FILE* const pipe = ::popen(("( " + line + " ) 2>&1 </dev/null").c_str(), "re");
  if (pipe == nullptr) throw std::runtime_error("popen failed");
  std::array<char, 4096> room{};
  while (const std::size_t count = std::fread(room.data(), 1, room.size(), pipe))
    result.output.append(room.data(), count);
  result.status = ::pclose(pipe);
  if (WIFEXITED(result.status)) result.status = WEXITSTATUS(result.status);
  return result;
}

}  // namespace cofferdam_test
