// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// This header checks paths as text, without looking at any file. os/directory.hpp opens files beneath a directory.

namespace cofferdam::inline COFFERDAM_ABI {

/// The maximum length in bytes of a path in one Linux system call, without its NUL (PATH_MAX, limits.h).
inline constexpr std::size_t max_path = 4095;
/// The maximum length in bytes of one name in a path (NAME_MAX, limits.h).
inline constexpr std::size_t max_name = 255;

namespace detail {

/// Returns the components of a path, without empty components and without `.`.
inline std::vector<std::string_view> path_components(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, slash - at);
    if (!part.empty() && part != ".") parts.push_back(part);
    at = slash + 1;
  }
  return parts;
}

/// Returns a path in the form for error messages: in quotes, escaped, and cut after 200 bytes.
inline std::string shown_path(std::string_view path) {
  constexpr std::size_t max_shown = 200;
  if (path.size() <= max_shown) return "'" + one_line(path) + "'";
  return "'" + one_line(path.substr(0, max_shown)) + "...' (" + std::to_string(path.size()) + " bytes)";
}

inline std::string joined_path(std::string_view above, std::string_view below) {
  if (above.empty() || above == ".") return std::string(below);
  if (below.empty() || below == ".") return std::string(above);
  std::string joined(above);
  joined += '/';
  joined += below;
  return joined;
}

}  // namespace detail

/// Normalizes a path in the workspace: `a//b/` becomes `a/b`. The path "." is the workspace itself.
///
/// The function works on the text only. It looks at no file and follows no link, and `~` has no special meaning. An
/// accepted path can still lead out of the workspace through a symbolic link; the class `directory` (os/directory.hpp)
/// refuses such a path when it opens the file.
/// \param  path  a path separated by `/`, in any bytes except NUL. It is relative to the workspace, or absolute and
///               beneath `root`.
/// \param  root  the absolute path of the workspace inside the environment. Empty means that absolute paths are
///               refused. Whole components are compared, so `/w-evil/x` is not beneath `/w`.
/// \throws       error{exec_errc::invalid_argument} if the path is empty, contains NUL, has more than 4095 bytes, or
///               contains a name of more than 255 bytes.
/// \throws       error{exec_errc::outside_workspace} if the path contains `..`, even where it is harmless, or if it is
///               absolute and not beneath `root`.
/// \par Source   path_resolution(7).
inline std::string workspace_path_or_root(std::string_view path, std::string_view root = {}) {
  if (path.empty())
    throw error(exec_errc::invalid_argument, "the path is empty: name a file, or '.' for the workspace itself");
  if (path.find('\0') != std::string_view::npos)
    throw error(exec_errc::invalid_argument,
                "path " + detail::shown_path(path) + " contains a NUL byte, which no file name may contain");
  std::vector<std::string_view> parts = detail::path_components(path);
  for (const std::string_view part : parts) {
    if (part == "..")
      throw error(exec_errc::outside_workspace,
                  "path " + detail::shown_path(path) + " has a '..' component: write the path without it");
    if (part.size() > max_name)
      throw error(exec_errc::invalid_argument,
                  "path " + detail::shown_path(path) + " has a name of more than 255 bytes, the longest Linux allows");
  }
  if (path.front() == '/') {
    const std::vector<std::string_view> above = detail::path_components(root);
    const bool beneath = !root.empty() && root.front() == '/' && parts.size() >= above.size() &&
                         std::equal(above.begin(), above.end(), parts.begin());
    if (!beneath)
      throw error(exec_errc::outside_workspace,
                  "path " + detail::shown_path(path) + " is absolute: paths are relative to the workspace");
    parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(above.size()));
  }
  if (parts.empty()) return ".";
  std::string clean;
  clean.reserve(path.size());
  for (const std::string_view part : parts) {
    if (!clean.empty()) clean += '/';
    clean += part;
  }
  if (clean.size() > max_path)
    throw error(exec_errc::invalid_argument,
                "path " + detail::shown_path(path) + " is longer than 4095 bytes, the longest Linux allows");
  return clean;
}

/// Normalizes a path as `workspace_path_or_root` does, but refuses the workspace itself.
/// \throws       error{exec_errc::invalid_argument} if the path is the workspace itself, for example `.` or `./`; and
///               the errors of `workspace_path_or_root`.
inline std::string workspace_path(std::string_view path, std::string_view root = {}) {
  std::string clean = workspace_path_or_root(path, root);
  if (clean == ".")
    throw error(exec_errc::invalid_argument,
                "path " + detail::shown_path(path) + " is the workspace itself: name a file or directory in it");
  return clean;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
