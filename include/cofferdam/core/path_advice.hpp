// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace cofferdam::inline v0 {

namespace detail {

/// Whether `path` is `root` or beneath it, component by component.
inline bool is_beneath(std::string_view path, std::string_view root) noexcept {
  return !root.empty() && path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

/// The places of a host that a command has no business in. Programs, libraries and devices are not among them.
inline bool is_foreign_place(std::string_view path) noexcept {
  constexpr std::array<std::string_view, 13> places{"/etc", "/home", "/root", "/tmp",   "/var",   "/proc",   "/sys",
                                                    "/run", "/srv",  "/mnt",  "/media", "/Users", "/private"};
  for (const std::string_view place : places)
    if (is_beneath(path, place)) return true;
  return false;
}

inline bool has_parent_component(std::string_view word) noexcept {
  for (std::size_t at = 0; at <= word.size();) {
    const std::size_t slash = std::min(word.find('/', at), word.size());
    if (word.substr(at, slash - at) == "..") return true;
    at = slash + 1;
  }
  return false;
}

}  // namespace detail

/// The first word of a shell line that looks like a path out of the workspace; empty where none does.
///
/// A guess about text, to advise a model with, and no protection: a variable, a glob or a program's own string names
/// any file. Looks at words as blanks, quotes, operators, `=` and `:` part them: absolute paths to the
/// folders a host keeps its own and its users' files in, `~name`, and `..` components. HOME is the workspace, so `~/x` is inside.
/// \param line      a shell line.
/// \param root      the workspace's absolute path; paths beneath it are inside.
/// \param also      another absolute path that counts as inside; may be empty.
/// \par Source      the five-folder pattern of Stirrup's local backend, whose false alarms (`s/var/home/`, URLs,
///                  `build/tmp/x`) this does not have.
inline std::string outside_path(std::string_view line, std::string_view root, std::string_view also = {}) {
  constexpr std::string_view parting = " \t\n'\"`;|&<>()=:";
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t start = line.find_first_not_of(parting, at);
    if (start == std::string_view::npos) break;
    at = std::min(line.find_first_of(parting, start), line.size());
    const std::string_view word = line.substr(start, at - start);
    const bool after_scheme = start > 0 && line[start - 1] == ':' && word.starts_with("//");
    if (after_scheme) continue;
    if (word.size() > 1 && word.front() == '/') {
      if (detail::has_parent_component(word)) return std::string(word);
      if (!detail::is_beneath(word, root) && !detail::is_beneath(word, also) && detail::is_foreign_place(word))
        return std::string(word);
    } else if (word.front() == '~' && word.size() > 1 && word[1] != '/' && word[1] != '+' && word[1] != '-') {
      return std::string(word);
    } else if (detail::has_parent_component(word)) {
      return std::string(word);
    }
  }
  return {};
}

}  // namespace cofferdam::inline v0
