// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/utc_time.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// Replaces invalid UTF-8, so that the text is valid in JSON. File names and output from a sandbox may have any bytes.
inline boost::json::string valid_json_text(std::string_view raw) {
  std::string text;
  cofferdam::detail::append_repaired_utf8(text, raw);
  return boost::json::string(text.data(), text.size());
}

/// Formats a time as E2B's services do.
inline std::string timestamp(std::chrono::system_clock::time_point when) {
  return cofferdam::detail::utc_time(when, 9);
}

/// A translation between the paths of clients and paths in the workspace. Clients use absolute paths, or paths relative
/// to their home. The translation is lexical: it looks up no file.
class guest_paths {
 public:
  /// \param home       the path that clients use for the workspace.
  /// \param workspace  the workspace's path inside commands, which is accepted like `home`; empty if it is not known.
  guest_paths(std::string home, std::string workspace) : home_(std::move(home)), workspace_(std::move(workspace)) {}

  /// Converts the path of a client to a path in the workspace.
  /// \param  path  `~`, `~/x`, a path relative to the home, or an absolute path. `..` is resolved as text. An empty
  ///         path is the home.
  /// \return       a path relative to the workspace, in the form of `workspace_path_or_root`; "." for the home itself.
  /// \throws       error{exec_errc::outside_workspace} for a path outside of the home;
  ///               error{exec_errc::invalid_argument} for an invalid path or another user's home.
  std::string inside(std::string_view path) const {
    std::string found = locate(path);
    if (!found.starts_with('/')) return found;
    throw error(exec_errc::outside_workspace, "path " + cofferdam::detail::shown_path(path) + " is outside " + home_ +
                                                  "; this operation is available only in this directory");
  }

  /// Converts the path of a client to a path in the workspace, or to an absolute path elsewhere in the guest.
  /// \param  path  as for `inside`.
  /// \return       for a path in the home, the path relative to the workspace, as `inside` returns it; for any other
  ///               path, the absolute path in its shortest form.
  /// \throws       error{exec_errc::invalid_argument} for an invalid path or another user's home.
  std::string locate(std::string_view path) const {
    std::string_view rest = path;
    if (rest.starts_with('~')) {
      rest.remove_prefix(1);
      if (!rest.empty() && rest.front() != '/')
        throw error(exec_errc::invalid_argument,
                    "path " + cofferdam::detail::shown_path(path) +
                        ": home directories of other users are not supported; use an absolute path");
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
    // The lexical rules of the workspace hold here too: no NUL byte, and a limited length.
    absolute = clean(rest.starts_with('/') ? std::string(rest) : home_ + "/" + std::string(rest));
    if (absolute == "/") return absolute;
    return "/" + workspace_path_or_root(std::string_view(absolute).substr(1));
  }

  /// Converts a path from `locate` to the path that clients use.
  std::string outside(std::string_view path) const {
    if (path.starts_with('/')) return std::string(path);
    if (path.empty() || path == ".") return home_;
    return home_ + "/" + std::string(path);
  }
  /// Returns the target of a symbolic link as an absolute path, as envd does. Links in the target are not resolved.
  /// \param path    the path of the link, as `locate` returns it.
  /// \param target  the content of the link.
  std::string target_of(std::string_view path, std::string_view target) const {
    if (target.starts_with('/')) return std::string(target);
    const std::string whole = outside(path);
    return clean(whole.substr(0, whole.rfind('/') + 1) + std::string(target));
  }
  const std::string& home() const noexcept { return home_; }
  const std::string& workspace() const noexcept { return workspace_; }

  /// Describes a file as the message `EntryInfo` of envd, E2B's daemon in a sandbox, without its owner and its group.
  /// \param path  the path of the file, as `locate` returns it.
  /// \par Source  envd's filesystem.proto.
  boost::json::object describe(const directory_entry& found, std::string_view path) const {
    const std::string whole = outside(path);
    boost::json::object object;
    object["name"] = valid_json_text(whole == "/" ? whole : whole.substr(whole.rfind('/') + 1));
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
