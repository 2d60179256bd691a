// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
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

/// Returns true if only root can change a file or folder: it and all folders above it belong to root, and neither the
/// group of this program nor other users can write to them. In a user namespace, files of root may belong to the
/// overflow user. A command in a jail cannot have made such a file.
inline bool belongs_to_root(const std::filesystem::path& path) {
  constexpr uid_t overflow_user = 65534;
  std::error_code failure;
  std::filesystem::path each = std::filesystem::canonical(path, failure);
  for (; !failure; each = each.parent_path()) {
    struct stat status {};
    if (::stat(each.c_str(), &status) != 0) return false;
    const bool is_owned = status.st_uid == 0 || (status.st_uid == overflow_user && ::geteuid() != overflow_user);
    const bool is_of_group = (status.st_mode & S_IWGRP) != 0 && status.st_gid == ::getegid() && ::geteuid() != 0;
    if (!is_owned || is_of_group || (status.st_mode & S_IWOTH) != 0) return false;
    if (each == each.root_path()) return true;
  }
  return false;
}

/// Returns true if a path, or a symbolic link that the path goes through, lies in one of the folders.
/// \param path     absolute. Parts that do not exist are no links.
/// \param folders  absolute, normal, without links.
inline bool passes_through(const std::filesystem::path& path, const std::vector<std::filesystem::path>& folders) {
  namespace fs = std::filesystem;
  constexpr int max_links = 40;  // as in the kernel
  std::vector<fs::path> pending;
  const auto prepend = [&pending](const fs::path& parts) {
    const std::vector<fs::path> names(parts.begin(), parts.end());
    pending.insert(pending.end(), names.rbegin(), names.rend());
  };
  prepend(path);
  fs::path at = "/";
  for (int links = 0; !pending.empty();) {
    const fs::path name = std::move(pending.back());
    pending.pop_back();
    if (name.empty() || name == "." || name == "/") continue;
    if (name == "..") {
      at = at.parent_path();
      continue;
    }
    const fs::path next = at / name;
    const auto holds = [&next](const fs::path& folder) { return is_within(next, folder); };
    if (std::any_of(folders.begin(), folders.end(), holds)) return true;
    std::error_code failure;
    const fs::path target = fs::read_symlink(next, failure);
    if (failure) {
      at = next;
      continue;
    }
    if (++links > max_links) return true;
    if (target.is_absolute()) at = "/";
    prepend(target);
  }
  return false;
}

/// Returns the content of a file that a command may have made: a FIFO, a device, a huge file or one with a lease would
/// otherwise block this program or fill its memory. Returns no value if it cannot be read at once, or if it is no
/// regular file of at most 64 KiB.
inline std::optional<std::string> small_file(const std::filesystem::path& path) {
  constexpr off_t most = 64 * 1024;
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > most)
    return std::nullopt;
  std::string text(static_cast<std::size_t>(most), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + size, text.size() - size);
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return text;
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

/// A folder of a Python installation.
class python_folder {
 public:
  std::filesystem::path path;
  /// The file in a writable folder that names this folder, so that a command may have chosen it; empty: there is none.
  std::filesystem::path named_by;
};

/// Returns the folders of one Python installation, outside /usr: its prefix and, for a virtual environment, the base
/// prefix. Nothing is run: as Python does itself, this looks for pyvenv.cfg, and resolves the links to the program.
/// They lead only to folders that have the standard library.
/// \param program   a path of python3.
/// \param home      the user's home. It is never returned, and neither is a folder that holds it.
/// \param writable  the folders that commands may change, without links.
/// \par Source      CPython, Modules/getpath.py
inline std::vector<python_folder> python_folders(const std::filesystem::path& program,
                                                 const std::filesystem::path& home,
                                                 const std::vector<std::filesystem::path>& writable = {}) {
  namespace fs = std::filesystem;
  std::vector<python_folder> found;
  std::error_code failure;
  const auto add = [&](const fs::path& prefix, bool may_be_virtual, const fs::path& source) {
    const fs::path real = fs::canonical(prefix, failure);
    if (failure || is_within(real, "/usr") || real == "/" || is_within(home, real)) return;
    const bool is_virtual = may_be_virtual && fs::exists(real / "pyvenv.cfg", failure);
    if (real == home / ".local" || (!is_virtual && !has_python_library(real))) return;
    const auto holds = [&real](const fs::path& folder) { return is_within(real, folder); };
    const bool is_shown = std::any_of(writable.begin(), writable.end(), holds);
    const fs::path named_by = is_shown || !passes_through(source, writable) ? fs::path() : source;
    for (const fs::path& path : {prefix.lexically_normal(), real}) {
      const auto is_it = [&path](const python_folder& each) { return each.path == path; };
      const auto known = std::find_if(found.begin(), found.end(), is_it);
      if (known == found.end()) {
        found.push_back({path, named_by});
      } else if (named_by.empty()) {
        known->named_by.clear();
      }
    }
  };
  const fs::path prefix = program.parent_path().parent_path();
  const fs::path config_path = prefix / "pyvenv.cfg";
  const std::optional<std::string> config = small_file(config_path);
  if (config) add(prefix, true, prefix);
  std::istringstream lines(config.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || line.substr(0, line.find_last_not_of(" \t", equals - 1) + 1) != "home") continue;
    const std::size_t start = line.find_first_not_of(" \t", equals + 1);
    if (start == std::string::npos) continue;
    const fs::path base = fs::path(line.substr(start)).parent_path();
    add(base, false, passes_through(config_path, writable) ? config_path : base);
  }
  const fs::path real = fs::canonical(program, failure);
  if (!failure) add(real.parent_path().parent_path(), false, program);
  return found;
}

/// Returns the folders that the python3 of this machine needs. The python3 is found through the variables VIRTUAL_ENV
/// and PATH of this program.
/// \param writable  as in `python_folders`.
inline std::vector<python_folder> host_python_folders(const std::vector<std::filesystem::path>& writable) {
  std::vector<python_folder> found;
  std::error_code failure;
  std::filesystem::path home = host_variable("HOME");
  if (const std::filesystem::path real = std::filesystem::canonical(home, failure); !failure) home = real;
  std::vector<std::filesystem::path> programs{find_on_path("python3", host_variable("PATH"))};
  const std::string environment = host_variable("VIRTUAL_ENV");
  if (environment.starts_with('/')) programs.push_back(std::filesystem::path(environment) / "bin/python3");
  for (const std::filesystem::path& program : programs) {
    if (program.empty()) continue;
    for (python_folder& folder : python_folders(program, home, writable)) {
      const auto is_it = [&folder](const python_folder& each) { return each.path == folder.path; };
      const auto known = std::find_if(found.begin(), found.end(), is_it);
      if (known == found.end()) {
        found.push_back(std::move(folder));
      } else if (folder.named_by.empty()) {
        known->named_by.clear();
      }
    }
  }
  return found;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
