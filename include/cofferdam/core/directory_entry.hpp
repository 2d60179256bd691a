// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The type of a directory entry. A symbolic link is a `symlink`, whatever it points to.
enum class file_type { regular, directory, symlink, other };

/// A file, directory or other entry in the workspace.
class directory_entry {
 public:
  directory_entry() = default;
  directory_entry(std::string path, file_type type, std::uint64_t size, unsigned mode)
      : path_(std::move(path)), type_(type), size_(size), mode_(mode) {}

  /// Returns the path: relative to the workspace for `stat`, to the listed directory for `list`. Any bytes but NUL.
  const std::string& path() const& noexcept { return path_; }
  std::string path() && { return std::move(path_); }
  file_type type() const noexcept { return type_; }
  bool is_directory() const noexcept { return type_ == file_type::directory; }
  bool is_regular() const noexcept { return type_ == file_type::regular; }
  /// Returns the size of a regular file in bytes; 0 for everything else.
  std::uint64_t size() const noexcept { return size_; }
  /// Returns the permission bits, 0 to 0777.
  unsigned mode() const noexcept { return mode_; }

 private:
  std::string path_;
  file_type type_ = file_type::other;
  std::uint64_t size_ = 0;
  unsigned mode_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
