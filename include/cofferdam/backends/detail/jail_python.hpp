// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/os/spawn.hpp>
#include <cofferdam/version.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline std::string host_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Returns true if a path is an executable file.
inline bool is_program(const std::string& path) {
  std::error_code failure;
  return ::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, failure);
}

/// Returns the first executable file with this name on a search path; empty if there is none. Relative elements of the
/// path are skipped.
inline std::filesystem::path find_on_path(const std::string& name, std::string_view path) {
  for (const std::string& candidate : program_candidates(name, path))
    if (is_program(candidate)) return candidate;
  return {};
}

/// Returns true if `path` is `folder` or beneath it. Both are absolute and normal.
inline bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

/// Returns true if a folder has the standard library of Python, as the prefix of an installation does.
inline bool has_python_library(const std::filesystem::path& prefix) {
  constexpr int newest = 30;
  for (int minor = newest; minor >= 6; --minor)
    for (const char* name : {"lib/python3.", "lib/pypy3.", "lib64/python3."})
      for (const char* kind : {"", "t"}) {  // t: without the global lock
        const std::filesystem::path folder = prefix / (name + std::to_string(minor) + kind);
        if (::access((folder / "os.py").c_str(), F_OK) == 0) return true;
      }
  return false;
}

/// Returns the folders of one Python installation, outside /usr: its prefix and, for a virtual environment, the base
/// prefix. Nothing is run: as Python does itself, this looks for pyvenv.cfg, and resolves the links to the program. A
/// guest may have written both, if the virtual environment is in its workspace. So they lead only to folders that have
/// the standard library.
/// \param program  a path of python3.
/// \param home     the user's home. It is never returned, and neither is a folder that holds it.
/// \par Source     CPython, Modules/getpath.py
inline std::vector<std::filesystem::path> python_folders(const std::filesystem::path& program,
                                                         const std::filesystem::path& home) {
  namespace fs = std::filesystem;
  std::vector<fs::path> found;
  std::error_code failure;
  const auto add = [&](const fs::path& prefix, bool may_be_virtual) {
    const fs::path real = fs::canonical(prefix, failure);
    if (failure || is_within(real, "/usr") || real == "/" || is_within(home, real)) return;
    const bool is_virtual = may_be_virtual && fs::exists(real / "pyvenv.cfg", failure);
    if (real == home / ".local" || (!is_virtual && !has_python_library(real))) return;
    for (const fs::path& path : {prefix.lexically_normal(), real})
      if (std::find(found.begin(), found.end(), path) == found.end()) found.push_back(path);
  };
  const fs::path prefix = program.parent_path().parent_path();
  std::ifstream config(prefix / "pyvenv.cfg");
  if (config.is_open()) add(prefix, true);
  for (std::string line; std::getline(config, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || line.substr(0, line.find_last_not_of(" \t", equals - 1) + 1) != "home") continue;
    const std::size_t start = line.find_first_not_of(" \t", equals + 1);
    if (start != std::string::npos) add(fs::path(line.substr(start)).parent_path(), false);
  }
  const fs::path real = fs::canonical(program, failure);
  if (!failure) add(real.parent_path().parent_path(), false);
  return found;
}

/// Returns the folders that the python3 of this machine needs. The python3 is found through the variables VIRTUAL_ENV
/// and PATH of this program.
inline std::vector<std::filesystem::path> host_python_folders() {
  std::vector<std::filesystem::path> found;
  std::error_code failure;
  std::filesystem::path home = host_variable("HOME");
  if (const std::filesystem::path real = std::filesystem::canonical(home, failure); !failure) home = real;
  std::vector<std::filesystem::path> programs{find_on_path("python3", host_variable("PATH"))};
  const std::string environment = host_variable("VIRTUAL_ENV");
  if (environment.starts_with('/')) programs.push_back(std::filesystem::path(environment) / "bin/python3");
  for (const std::filesystem::path& program : programs) {
    if (program.empty()) continue;
    for (const std::filesystem::path& folder : python_folders(program, home))
      if (std::find(found.begin(), found.end(), folder) == found.end()) found.push_back(folder);
  }
  return found;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
