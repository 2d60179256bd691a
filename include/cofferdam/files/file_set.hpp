// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The way in which a text names files.
enum class file_naming {
  automatic,  ///< a file of exactly this name if it exists; else, if the text has `*`, `?` or `[`, a pattern
  exact,      ///< a file of exactly this name
  pattern,    ///< a pattern of `glob`
};

/// One part of a `file_set`.
class file_item {
 public:
  file_item(std::string text, file_naming naming) : text_(std::move(text)), naming_(naming) {}
  const std::string& text() const noexcept { return text_; }
  file_naming naming() const noexcept { return naming_; }

 private:
  std::string text_;
  file_naming naming_;
};

/// A selection of files to transfer, and their destination: `files("data.csv", "input dir/",
/// "logs/**/*.txt").into("inputs")`.
///
/// A value, made by `files()`. On the host a path may be absolute or start at the current directory, and may have `..`;
/// in a workspace it is relative to that.
///
/// | named | arrives as |
/// |---|---|
/// | a file `a/b.csv` | `b.csv` |
/// | a directory `a/dir`, `a/dir/` | `dir/…`; with `into(x)` its contents as `x/…` |
/// | a pattern `a/**/b*` | each match under its path below `a`, the folder before the first part that is a pattern |
///
/// If `into()` is given, all of this arrives beneath it. A matching directory comes with all its contents, except for a
/// pattern that ends in `**`, which matches the contents one by one. `download` is different: it keeps the whole path
/// in the workspace.
///
/// A link that is named directly is followed and keeps its own name. Links found in a directory or by a pattern are not
/// followed, and are reported as `exec_errc::not_a_file`, unless `follow_symlinks()` was called. Empty directories and
/// permission bits (0777) are kept. A file that is named twice is transferred once.
class file_set {
 public:
  /// The default maximum of all sizes together: 16 GiB.
  static constexpr std::uint64_t default_bytes = std::uint64_t{16} * 1024 * 1024 * 1024;
  /// The default maximum number of files and directories.
  static constexpr std::size_t default_files = 1'000'000;

  /// An empty set.
  file_set() = default;

  /// Adds the files that a plain text names.
  file_set& add(std::string text) {
    items_.emplace_back(std::move(text), file_naming::automatic);
    return *this;
  }

  /// Adds exactly this file or directory, even if its name has pattern characters.
  file_set& exactly(std::string path) {
    items_.emplace_back(std::move(path), file_naming::exact);
    return *this;
  }

  /// Adds all files that match a pattern of `glob`.
  file_set& matching(std::string pattern) {
    items_.emplace_back(std::move(pattern), file_naming::pattern);
    return *this;
  }

  /// Sets the destination directory on the receiving side; it is made if it is missing. "." is the root.
  /// \param  directory  relative, without `..`.
  /// \throws            error{exec_errc::outside_workspace, invalid_argument}.
  file_set& into(std::string directory) {
    into_ = workspace_path_or_root(directory);
    return *this;
  }

  /// Also follows symbolic links that are found in directories and by patterns. On the host they may lead anywhere. In
  /// a workspace only links to files are followed; links to directories are still reported.
  file_set& follow_symlinks() {
    follows_symlinks_ = true;
    return *this;
  }

  /// Limits the total size in bytes. A larger set throws `error{exec_errc::too_large}` before anything is written. A
  /// file that grows past the limit during the transfer fails.
  file_set& at_most(std::uint64_t limit) {
    max_bytes_ = limit;
    return *this;
  }

  /// Limits the number of files and directories, failed ones included. A larger set throws
  /// `error{exec_errc::too_large}` before anything is written.
  file_set& at_most_files(std::size_t count) {
    max_files_ = count;
    return *this;
  }

  const std::vector<file_item>& items() const noexcept { return items_; }
  const std::optional<std::string>& into() const noexcept { return into_; }
  bool follows_symlinks() const noexcept { return follows_symlinks_; }
  std::uint64_t max_bytes() const noexcept { return max_bytes_; }
  std::size_t max_files() const noexcept { return max_files_; }

 private:
  std::vector<file_item> items_;
  std::optional<std::string> into_;
  bool follows_symlinks_ = false;
  std::uint64_t max_bytes_ = default_bytes;
  std::size_t max_files_ = default_files;
};

/// Makes a set of files, directories and patterns: `files("report.md", "plots/*.png")`. `file_set` documents the names.
/// \param items  `/`-separated, any bytes but NUL; also a `std::filesystem::path`.
template <std::convertible_to<std::string>... Items>
  requires(sizeof...(Items) > 0)
file_set files(Items&&... items) {
  file_set set;
  (set.add(std::forward<Items>(items)), ...);
  return set;
}

/// Makes a set from a list.
inline file_set files(std::vector<std::string> items) {
  file_set set;
  for (std::string& item : items) set.add(std::move(item));
  return set;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
