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

inline std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream rest(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(rest, line);) lines.push_back(line);
  return lines;
}

}  // namespace cofferdam_test
