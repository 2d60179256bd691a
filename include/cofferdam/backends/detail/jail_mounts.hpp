// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The mounts of this machine or of a jail, as the kernel lists them: at which places a file can be seen. Sans-I/O.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns a path as the kernel means it: it writes blanks, line breaks and backslashes as `\040` and so on.
inline std::string unescaped_mount_path(std::string_view path) {
  const auto digit = [](char c) { return c >= '0' && c <= '7'; };
  std::string text;
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (path[at] == '\\' && at + 3 < path.size() && digit(path[at + 1]) && digit(path[at + 2]) && digit(path[at + 3])) {
      text += static_cast<char>((path[at + 1] - '0') * 64 + (path[at + 2] - '0') * 8 + (path[at + 3] - '0'));
      at += 3;
    } else {
      text += path[at];
    }
  }
  return text;
}

/// Returns the part of `path` beneath `folder`; empty if they are the same, no value if `path` lies elsewhere.
inline std::optional<std::filesystem::path> rest_beneath(const std::filesystem::path& path,
                                                         const std::filesystem::path& folder) {
  const auto [in_folder, in_path] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  if (in_folder != folder.end()) return std::nullopt;
  std::filesystem::path rest;
  for (auto each = in_path; each != path.end(); ++each) rest /= *each;
  return rest;
}

/// Returns `folder / rest`, without a `/` at the end if `rest` is empty.
inline std::filesystem::path joined(const std::filesystem::path& folder, const std::filesystem::path& rest) {
  return rest.empty() ? folder : folder / rest;
}

/// A file or folder, as its file system names it.
class file_location {
 public:
  std::string device;          ///< major and minor number of the file system, as in `8:1`
  std::filesystem::path path;  ///< from the root of the file system
};

/// The mounts of a mount namespace.
/// \par Source  proc_pid_mountinfo(5)
class mount_table {
 public:
  class entry {
   public:
    std::uint64_t number = 0;
    std::string device;
    std::filesystem::path root;   ///< the shown folder or file, from the root of its file system
    std::filesystem::path point;  ///< the path at which it is shown
  };

  explicit mount_table(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      take(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  const std::vector<entry>& entries() const noexcept { return entries_; }

  /// Returns the location of a file.
  /// \param path    absolute, without links.
  /// \param number  the number of the mount that shows it; 0 if it is not known.
  std::optional<file_location> locate(const std::filesystem::path& path, std::uint64_t number) const {
    const entry* found = nullptr;
    for (const entry& each : entries_)  // the last mount above the path is the one that is seen
      if (rest_beneath(path, each.point) && (number == 0 || each.number == number)) found = &each;
    if (found == nullptr) return std::nullopt;
    return file_location{found->device, joined(found->root, *rest_beneath(path, found->point))};
  }

  /// Returns the paths at which a file may be seen. A mount may cover some of them.
  std::vector<std::filesystem::path> places_of(const file_location& file) const {
    std::vector<std::filesystem::path> places;
    for (const entry& each : entries_) {
      if (each.device != file.device) continue;
      if (const auto rest = rest_beneath(file.path, each.root)) places.push_back(joined(each.point, *rest));
    }
    return places;
  }

 private:
  void take(std::string_view line) {
    std::vector<std::string_view> words;
    while (words.size() < 5) {
      const std::size_t end = std::min(line.find(' '), line.size());
      words.push_back(line.substr(0, end));
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    entry each;
    std::from_chars(words[0].data(), words[0].data() + words[0].size(), each.number);
    each.device = words[2];
    each.root = unescaped_mount_path(words[3]);
    each.point = unescaped_mount_path(words[4]);
    if (each.root.is_absolute() && each.point.is_absolute()) entries_.push_back(std::move(each));
  }

  std::vector<entry> entries_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
