// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::testing {

/// The files of a `fake_provider`, in memory. They are regular files and directories. A copy of this object is
/// independent of the original. Paths are checked, and errors thrown, as in a real environment.
class fake_files {
 public:
  /// Writes a whole file, and creates missing directories.
  /// \param path  relative to the workspace.
  /// \param content  the bytes, which replace those of an existing file.
  /// \param mode  the permission bits, 0 to 0777; default 0644.
  fake_files& write(std::string_view path, bytes content, unsigned mode = 0644) {
    const std::string name = workspace_path(path);
    if (is_directory(name)) throw failure(exec_errc::not_a_file, "write", name, "is a directory");
    make_parents(name);
    nodes_.insert_or_assign(name, node{std::move(content), mode, false});
    return *this;
  }
  /// Creates a file from a text, or replaces its content, as the other overload does.
  fake_files& write(std::string_view path, std::string_view text, unsigned mode = 0644) {
    return write(path, to_bytes(text), mode);
  }

  /// Returns the content of a file.
  /// \param path  relative to the workspace.
  /// \param max_bytes  the maximum size of the file in bytes; the default is no limit.
  /// \throws error{exec_errc::not_found}, error{exec_errc::not_a_file}; error{exec_errc::too_large} if the file has
  ///     more than `max_bytes` bytes.
  const bytes& read(std::string_view path, std::size_t max_bytes = SIZE_MAX) const {
    const auto& [name, file] = *find("read", workspace_path(path));
    if (file.is_directory) throw failure(exec_errc::not_a_file, "read", name, "is a directory");
    if (file.content.size() > max_bytes)
      throw failure(exec_errc::too_large, "read", name,
                    "has " + std::to_string(file.content.size()) + " bytes; the limit is " + std::to_string(max_bytes));
    return file.content;
  }

  /// Returns the content of a file as text. Throws the errors of `read`.
  std::string text(std::string_view path) const { return std::string(as_text(read(path))); }

  /// Returns true if a file or a directory has this path.
  bool contains(std::string_view path) const {
    const std::string name = workspace_path_or_root(path);
    return name == "." || nodes_.contains(name);
  }

  /// Returns the entry at `path`.
  /// \throws error{exec_errc::not_found} if the entry does not exist.
  directory_entry stat(std::string_view path) const {
    const std::string name = workspace_path_or_root(path);
    if (name == ".") return directory_entry(name, file_type::directory, 0, folder_mode);
    return entry_of(name, find("stat", name)->second);
  }

  /// Returns everything beneath a directory, as `file_system::list` does.
  std::vector<directory_entry> list(std::string_view path, const list_options& options = list_options()) const {
    const std::string folder = workspace_path_or_root(path);
    if (folder != "." && !find("list", folder)->second.is_directory)
      throw failure(exec_errc::not_a_directory, "list", folder, "is not a directory");
    const std::string prefix = folder == "." ? std::string() : folder + "/";
    cofferdam::detail::listing_room room(options, folder);
    std::vector<directory_entry> found;
    for (auto at = nodes_.lower_bound(prefix); at != nodes_.end() && at->first.starts_with(prefix); ++at) {
      const std::string below = at->first.substr(prefix.size());
      if (!room.reaches(below)) continue;
      room.take_names(1);
      room.take_path(below);
      found.push_back(entry_of(below, at->second));
    }
    return found;
  }

  /// Creates a directory and its missing parents. Does nothing if the directory exists.
  /// \throws error{exec_errc::not_a_directory} if the path or a part of it is a file.
  void make_directory(std::string_view path) {
    const std::string name = workspace_path_or_root(path);
    if (name == "." || is_directory(name)) return;
    if (nodes_.contains(name)) throw failure(exec_errc::not_a_directory, "make directory", name, "is a file");
    make_parents(name);
    nodes_.emplace(name, node{bytes(), folder_mode, true});
  }

  /// Removes a file, or a directory with its contents.
  /// \throws error{exec_errc::not_found} if the entry does not exist.
  void remove(std::string_view path) {
    const auto found = find("remove", workspace_path(path));
    const std::string beneath = found->first + "/";
    nodes_.erase(found);
    std::erase_if(nodes_, [&](const auto& each) { return each.first.starts_with(beneath); });
  }

  /// Renames a file, or a directory with its contents. A file replaces a file, and a directory an empty directory.
  /// \throws error{exec_errc::not_found} if `from` or the directory above `to` does not exist.
  /// \throws error{exec_errc::not_empty, not_a_directory, not_a_file} if `to` is a directory with entries, if a
  ///     directory would replace a file, and if a file would replace a directory.
  /// \throws error{exec_errc::invalid_argument} if a directory would be moved into itself.
  void rename(std::string_view from, std::string_view to) {
    const std::string old_name = workspace_path(from);
    const std::string new_name = workspace_path(to);
    const bool moves_directory = find("rename", old_name)->second.is_directory;
    if (const std::size_t slash = new_name.rfind('/'); slash != std::string::npos) {
      const std::string above = new_name.substr(0, slash);
      if (!find("rename to", above)->second.is_directory)
        throw failure(exec_errc::not_a_directory, "rename to", above, "is a file");
    }
    if (old_name == new_name) return;
    if (moves_directory && new_name.starts_with(old_name + "/"))
      throw failure(exec_errc::invalid_argument, "rename", old_name, "a directory cannot be moved into itself");
    const bool onto_directory = is_directory(new_name);
    if (old_name.starts_with(new_name + "/") || (onto_directory && moves_directory && has_entries(new_name)))
      throw failure(exec_errc::not_empty, "rename to", new_name, "is a directory with entries");
    if (onto_directory && !moves_directory)
      throw failure(exec_errc::not_a_file, "rename to", new_name, "is a directory");
    if (!onto_directory && moves_directory && nodes_.contains(new_name))
      throw failure(exec_errc::not_a_directory, "rename to", new_name, "is a file");
    std::map<std::string, node> moved;
    std::erase_if(nodes_, [&](auto& each) {
      if (each.first != old_name && !each.first.starts_with(old_name + "/")) return false;
      moved.insert_or_assign(new_name + each.first.substr(old_name.size()), std::move(each.second));
      return true;
    });
    for (auto& [name, each] : moved) nodes_.insert_or_assign(name, std::move(each));
  }

 private:
  static constexpr unsigned folder_mode = 0755;

  class node {
   public:
    bytes content;
    unsigned mode;
    bool is_directory;
  };
  using node_map = std::map<std::string, node>;

  static error failure(exec_errc code, const std::string& doing, std::string_view path, const std::string& why) {
    return error(code, doing + " " + cofferdam::detail::shown_path(path) + ": " + why);
  }

  static directory_entry entry_of(const std::string& path, const node& file) {
    return directory_entry(path, file.is_directory ? file_type::directory : file_type::regular, file.content.size(),
                           file.mode);
  }

  bool is_directory(const std::string& name) const {
    const auto found = nodes_.find(name);
    return found != nodes_.end() && found->second.is_directory;
  }

  node_map::const_iterator find(const std::string& doing, const std::string& name) const {
    const auto found = nodes_.find(name);
    if (found != nodes_.end()) return found;
    for (std::size_t slash = name.rfind('/'); slash != std::string::npos; slash = name.rfind('/', slash - 1)) {
      const auto above = nodes_.find(name.substr(0, slash));
      if (above != nodes_.end() && !above->second.is_directory)
        throw failure(exec_errc::not_a_directory, doing, above->first, "is a file");
    }
    throw failure(exec_errc::not_found, doing, name, "no such file or directory");
  }

  bool has_entries(const std::string& name) const {
    const auto next = nodes_.lower_bound(name + "/");
    return next != nodes_.end() && next->first.starts_with(name + "/");
  }
  void make_parents(const std::string& name) {
    const std::size_t slash = name.rfind('/');
    if (slash == std::string::npos) return;
    const std::string above = name.substr(0, slash);
    if (is_directory(above)) return;
    if (nodes_.contains(above)) throw failure(exec_errc::not_a_directory, "make directory", above, "is a file");
    make_parents(above);
    nodes_.emplace(above, node{bytes(), folder_mode, true});
  }

  node_map nodes_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::testing
