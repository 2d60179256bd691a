// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns true if `path` is `root` or a path beneath it. Whole components are compared.
inline bool is_beneath(std::string_view path, std::string_view root) noexcept {
  return !root.empty() && path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

/// Returns true if the path is in a directory where a host keeps its own data or the data of its users. Directories of
/// programs, libraries and devices are not included.
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

/// Returns true if a relative path leads out of the workspace.
/// \param depth  the number of directories between the workspace and the directory where the path starts; 0 is the
///               workspace.
inline bool climbs_out(std::string_view path, std::size_t depth) noexcept {
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, slash - at);
    if (part == "..") {
      if (depth == 0) return true;
      --depth;
    } else if (!part.empty() && part != ".") {
      ++depth;
    }
    at = slash + 1;
  }
  return false;
}

/// Returns the first word of a shell line that looks like a path out of the workspace; empty if there is none.
///
/// The result is a guess, which serves to advise a model. It protects nothing, because a variable, a glob or a string
/// inside a program can name any file. Words are separated by blanks, quotes, operators, `=` and `:`. The function
/// finds absolute paths to directories where a host keeps its own data or the data of its users, `~name`, and paths
/// with `..`. HOME is the workspace, so `~/x` counts as inside.
/// \param line      a shell line.
/// \param root      the absolute path of the workspace; paths beneath it are inside.
/// \param also      another absolute path that counts as inside; may be empty.
/// \par Source      the five-directory pattern of Stirrup's local backend. Unlike that pattern, this function gives no
///                  false alarm for `s/var/home/`, URLs and `build/tmp/x`.
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

/// Returns the first argument of a program that looks like a path out of the workspace; empty if there is none.
///
/// This function is for a command that runs without a shell. It tests whole arguments, and the value after the first
/// `=` in `--name=VALUE` and `name=VALUE`. It does not test the name of the program. It does not read text inside an
/// argument, such as a script after `-c`.
/// \param words  the program and its arguments.
/// \param root   the absolute path of the workspace; paths beneath it are inside.
/// \param also   another absolute path that counts as inside; may be empty.
/// \param depth  the number of directories between the workspace and the directory where the command starts. At depth
///               1, `../x` is inside.
inline std::string outside_path(std::span<const std::string> words, std::string_view root, std::string_view also,
                                std::size_t depth) {
  const auto leads_out = [&](std::string_view path) {
    if (!path.starts_with('/')) return detail::climbs_out(path, depth);
    if (path.size() < 2) return false;
    if (detail::has_parent_component(path)) return true;
    return !detail::is_beneath(path, root) && !detail::is_beneath(path, also) && detail::is_foreign_place(path);
  };
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (leads_out(word)) return std::string(word);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const bool is_name = word.substr(0, equals).find_first_not_of(
                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "0123456789_-") == std::string_view::npos;
    if (is_name && leads_out(word.substr(equals + 1))) return std::string(word.substr(equals + 1));
  }
  return {};
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
