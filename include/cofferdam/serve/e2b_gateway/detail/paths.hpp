// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// Returns text that is valid in JSON: file names and guests' output need not be UTF-8.
inline boost::json::string valid_json_text(std::string_view raw) {
  std::string text;
  cofferdam::detail::append_repaired_utf8(text, raw);
  return boost::json::string(text.data(), text.size());
}

/// Translates between the paths that clients use, absolute or below their home, and those of the workspace. Lexical.
class guest_paths {
 public:
  /// \param home       the clients' path of the workspace.
  /// \param workspace  its path inside commands, if known; accepted like `home`.
  guest_paths(std::string home, std::string workspace) : home_(std::move(home)), workspace_(std::move(workspace)) {}

  /// \param  path  `~`, `~/x`, relative to the home, or absolute; `..` is resolved as text. Empty: the home.
  /// \return       as `workspace_path_or_root`.
  /// \throws       error{exec_errc::outside_workspace} for a path outside of the home;
  /// error{exec_errc::invalid_argument}.
  std::string inside(std::string_view path) const {
    std::string_view rest = path;
    if (rest.starts_with('~')) {
      rest.remove_prefix(1);
      if (!rest.empty() && rest.front() != '/')
        throw error(exec_errc::invalid_argument, "path " + cofferdam::detail::shown_path(path) +
                                                     ": other users' homes are not looked up; use an absolute path");
      while (rest.starts_with('/')) rest.remove_prefix(1);
    }
    std::string absolute;
    for (const std::string& root : {home_, workspace_}) {
      if (root.empty()) continue;
      absolute = clean(rest.starts_with('/') ? std::string(rest) : root + "/" + std::string(rest));
      if (absolute == root) return ".";
      if (absolute.size() > root.size() + 1 && absolute.starts_with(root) && absolute[root.size()] == '/')
        return workspace_path_or_root(std::string_view(absolute).substr(root.size() + 1));
    }
    throw error(exec_errc::outside_workspace, "path " + cofferdam::detail::shown_path(path) + " is outside of " +
                                                  home_ + ", which is all that a sandbox behind this gateway offers");
  }

  /// Returns the path of a workspace file as clients see it.
  std::string outside(std::string_view path) const {
    if (path.empty() || path == ".") return home_;
    return home_ + "/" + std::string(path);
  }
  const std::string& home() const noexcept { return home_; }
  const std::string& workspace() const noexcept { return workspace_; }

  /// Makes an EntryInfo.
  /// \param path  the entry's, in the workspace.
  /// \par Source  envd's filesystem.proto.
  boost::json::object describe(const directory_entry& found, std::string_view path) const {
    const std::string whole = outside(path);
    boost::json::object object;
    object["name"] = valid_json_text(std::string_view(whole).substr(whole.rfind('/') + 1));
    char kind = '?';
    if (found.type() == file_type::regular) {
      object["type"] = "FILE_TYPE_FILE";
      kind = '-';
    } else if (found.type() == file_type::directory) {
      object["type"] = "FILE_TYPE_DIRECTORY";
      kind = 'd';
    } else if (found.type() == file_type::symlink) {
      object["type"] = "FILE_TYPE_SYMLINK";
      kind = 'L';
    }
    object["path"] = valid_json_text(whole);
    if (found.size() != 0) object["size"] = std::to_string(found.size());
    if (found.mode() != 0) object["mode"] = found.mode();
    std::string permissions(1, kind);
    for (unsigned bit = 0; bit < 9; ++bit)
      permissions += (found.mode() >> (8 - bit) & 1U) != 0 ? "rwxrwxrwx"[bit] : '-';
    object["permissions"] = permissions;
    object["owner"] = "user";
    object["group"] = "user";
    return object;
  }

 private:
  static std::string clean(std::string_view absolute) {
    std::vector<std::string_view> parts;
    for (const std::string_view part : cofferdam::detail::path_components(absolute)) {
      if (part != "..") {
        parts.push_back(part);
      } else if (!parts.empty()) {
        parts.pop_back();
      }
    }
    std::string result;
    for (const std::string_view part : parts) {
      result += '/';
      result += part;
    }
    return result.empty() ? "/" : result;
  }

  std::string home_;
  std::string workspace_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
