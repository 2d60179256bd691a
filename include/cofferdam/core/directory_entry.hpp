// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The depth and the maximum size of a listing. The maximum bounds the memory of the listing, because an untrusted
/// program may have created the directory tree. A larger listing throws error{exec_errc::too_large}.
/// \code
/// std::vector<directory_entry> here = co_await list_directory(environment, "data", list_options().depth(1));
/// \endcode
class list_options {
 public:
  list_options() = default;

  /// Sets the maximum depth. Deeper entries are left out.
  /// \param levels  1 lists the entries of the directory itself, 2 also the entries of its subdirectories, and so on.
  ///                The default is no limit.
  /// \throws error{exec_errc::invalid_argument} if `levels` is 0.
  list_options& depth(std::size_t levels) {
    if (levels == 0)
      throw error(exec_errc::invalid_argument,
                  "list: a depth of 0 lists nothing; use 1 for the entries of the directory itself");
    depth_ = levels;
    return *this;
  }

  /// Sets the maximum number of entries in the listing. Entries below the maximum depth are not counted.
  /// \param count  the number of entries; default 4,000,000.
  list_options& entries(std::size_t count) {
    entries_ = count;
    return *this;
  }

  /// Sets the maximum length of all paths together. In a deep tree with long names, few entries can have very long
  /// paths.
  /// \param max_bytes  the sum of the lengths in bytes; default 512 MiB.
  list_options& path_bytes(std::size_t max_bytes) {
    path_bytes_ = max_bytes;
    return *this;
  }

  std::size_t depth() const noexcept { return depth_; }
  std::size_t entries() const noexcept { return entries_; }
  std::size_t path_bytes() const noexcept { return path_bytes_; }

 private:
  std::size_t depth_ = SIZE_MAX;
  std::size_t entries_ = 4'000'000;
  std::size_t path_bytes_ = std::size_t{512} * 1024 * 1024;
};

namespace detail {

/// The remaining limits of a listing while it is filled: the number of entries and the bytes of paths that it may still
/// receive.
class listing_room {
 public:
  /// Starts with the limits of `options`.
  /// \param path  the listed directory; used in error messages only.
  listing_room(const list_options& options, std::string path)
      : options_(options), path_(std::move(path)), names_(options.entries()), bytes_(options.path_bytes()) {}

  const std::string& path() const noexcept { return path_; }
  std::size_t names() const noexcept { return names_; }

  /// Counts entries that the listing receives.
  /// \throws error{exec_errc::too_large} if the listing would exceed its maximum number of entries.
  void take_names(std::size_t count) {
    if (count > names_) throw too_many(std::to_string(options_.entries()) + " names");
    names_ -= count;
  }
  /// Counts the bytes of a path that the listing receives.
  /// \throws error{exec_errc::too_large} if the listing would exceed its maximum length of paths.
  void take_path(std::string_view path) {
    if (path.size() > bytes_) throw too_many(std::to_string(options_.path_bytes()) + " bytes of paths");
    bytes_ -= path.size();
  }

  /// Returns true if the depth of the listing includes this path.
  /// \param path  a path relative to the listed directory.
  bool reaches(std::string_view path) const {
    if (options_.depth() > path.size()) return true;
    return static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')) < options_.depth();
  }

  error too_many(const std::string& what) const {
    return error(exec_errc::too_large, "list " + shown_path(path_) + ": more than the limit of " + what +
                                           "; list a smaller part of the tree, or fewer levels");
  }

 private:
  list_options options_;
  std::string path_;
  std::size_t names_;
  std::size_t bytes_;
};

}  // namespace detail

/// The type of a directory entry. A symbolic link is a `symlink`, whatever its target is.
enum class file_type { regular, directory, symlink, other };

/// A file, a directory or another entry in the workspace.
class directory_entry {
 public:
  directory_entry() = default;
  /// Describes an entry. The other members describe the parameters.
  directory_entry(std::string path, file_type type, std::uint64_t size, unsigned mode)
      : path_(std::move(path)), type_(type), size_(size), mode_(mode) {}
  /// Describes the same entry as `facts` by another path.
  directory_entry(std::string path, const directory_entry& facts) : directory_entry(facts) { path_ = std::move(path); }

  /// Returns the path. `stat` returns a path relative to the workspace, and `list` a path relative to the listed
  /// directory. The path may contain any bytes except NUL.
  const std::string& path() const& noexcept { return path_; }
  std::string path() && { return std::move(path_); }
  /// Returns the type of the entry.
  file_type type() const noexcept { return type_; }
  /// Returns true if the entry is a directory, and no symbolic link to one.
  bool is_directory() const noexcept { return type_ == file_type::directory; }
  /// Returns true if the entry is a regular file, and no symbolic link to one.
  bool is_regular() const noexcept { return type_ == file_type::regular; }
  /// Returns the size of a regular file in bytes; 0 for any other entry.
  std::uint64_t size() const noexcept { return size_; }
  /// Returns the permission bits, 0 to 0777.
  unsigned mode() const noexcept { return mode_; }

  /// Sets the time of the last change of the content.
  directory_entry& modified(std::chrono::system_clock::time_point when) & {
    modified_ = when.time_since_epoch().count();
    return *this;
  }
  /// Returns the time of the last change of the content; no value if the environment does not report it. Some
  /// environments report whole seconds.
  std::optional<std::chrono::system_clock::time_point> modified() const noexcept {
    if (modified_ == unknown_time) return std::nullopt;
    return std::chrono::system_clock::time_point(std::chrono::system_clock::duration(modified_));
  }

  /// Sets the numbers of the owner and of the group.
  directory_entry& ids(std::uint32_t owner, std::uint32_t group) & {
    owner_id_ = owner;
    group_id_ = group;
    return *this;
  }
  /// Returns the user id of the owner; no value if the environment does not report it.
  std::optional<std::uint32_t> owner_id() const noexcept { return known(owner_id_); }
  /// Returns the group id; no value if the environment does not report it.
  std::optional<std::uint32_t> group_id() const noexcept { return known(group_id_); }

  /// Sets the names of the owner and of the group.
  directory_entry& names(std::string owner, std::string group) & {
    if (!owner.empty() || !group.empty()) texts_ = make_texts(std::move(owner), std::move(group), target());
    return *this;
  }
  /// Returns the user name of the owner; empty if the environment does not report it, or if the user has no name.
  std::string owner() const { return texts_ ? texts_->owner : std::string(); }
  /// Returns the name of the group; empty if the environment does not report it, or if the group has no name.
  std::string group() const { return texts_ ? texts_->group : std::string(); }

  /// Sets the target of a symbolic link.
  directory_entry& target(std::string path) & {
    if (!path.empty()) texts_ = make_texts(owner(), group(), std::move(path));
    return *this;
  }
  /// Returns the path in a symbolic link, as it was written; empty if the entry is no symbolic link, or if the
  /// environment does not report the path. It may be relative to the directory of the link, and may not exist.
  std::string target() const { return texts_ ? texts_->target : std::string(); }

 private:
  static constexpr std::int64_t unknown_time = std::numeric_limits<std::int64_t>::min();
  static constexpr std::uint32_t unknown_id = std::numeric_limits<std::uint32_t>::max();  // no user and no group has it

  /// The texts that most entries of a listing lack, or share with another entry. They are allocated only if they are
  /// known, because a listing may have millions of entries.
  struct texts {
    std::string owner;
    std::string group;
    std::string target;
  };

  static std::optional<std::uint32_t> known(std::uint32_t id) noexcept {
    if (id == unknown_id) return std::nullopt;
    return id;
  }
  static std::shared_ptr<const texts> make_texts(std::string owner, std::string group, std::string target) {
    return std::make_shared<const texts>(texts{std::move(owner), std::move(group), std::move(target)});
  }

  std::string path_;
  file_type type_ = file_type::other;
  std::uint64_t size_ = 0;
  unsigned mode_ = 0;
  std::uint32_t owner_id_ = unknown_id;
  std::uint32_t group_id_ = unknown_id;
  std::int64_t modified_ = unknown_time;
  std::shared_ptr<const texts> texts_;
};

namespace detail {

/// Converts a time that the kernel reports for a file. A file system may have times that a clock cannot represent.
/// \return  no value for such a time.
inline std::optional<std::chrono::system_clock::time_point> file_time(std::int64_t seconds,
                                                                      std::uint32_t nanoseconds) noexcept {
  constexpr std::int64_t limit = 9'000'000'000;  // nanoseconds in 64 bits reach to the year 2262
  if (seconds < -limit || seconds > limit || nanoseconds >= 1'000'000'000) return std::nullopt;
  const std::chrono::nanoseconds since = std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanoseconds);
  return std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(since));
}

}  // namespace detail

}  // namespace cofferdam::inline COFFERDAM_ABI
