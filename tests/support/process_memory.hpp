// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <ios>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cofferdam_test {

/// Returns true if a text is in writable memory of one of the processes. Mappings of more than 64 MiB are left out: the
/// stacks, heaps and tables of the programs that tests search are smaller.
inline bool memory_contains(const std::vector<pid_t>& processes, const std::string& text) {
  for (const pid_t process : processes) {
    std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
    std::ifstream memory("/proc/" + std::to_string(process) + "/mem", std::ios::binary);
    std::string line;
    while (std::getline(maps, line)) {
      std::size_t begin = 0;
      std::size_t end = 0;
      if (std::sscanf(line.c_str(), "%zx-%zx r", &begin, &end) != 2 || line.find(" rw") == std::string::npos) continue;
      if (end - begin > (std::size_t{64} << 20)) continue;
      std::string content(end - begin, '\0');
      memory.clear();
      memory.seekg(static_cast<std::streamoff>(begin));
      memory.read(content.data(), static_cast<std::streamsize>(content.size()));
      if (content.find(text) != std::string::npos) return true;
    }
  }
  return false;
}

}  // namespace cofferdam_test
