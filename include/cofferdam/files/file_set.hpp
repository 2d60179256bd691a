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

/// The way in which a text of a `file_set` names files.
enum class file_naming {
  automatic,  ///< an exact name if such a file exists; otherwise, if the text has `*`, `?` or `[`, a pattern
  exact,      ///< an exact name, even if it has pattern characters
  pattern,    ///< a pattern, as documented at `glob`
};

/// A text that names one or more files of a `file_set`: a path or a pattern.
class file_item {
 public:
  /// Names files. `naming` decides how the text is read.
  file_item(std::string text, file_naming naming) : text_(std::move(text)), naming_(naming) {}
  /// Returns the path or the pattern.
  const std::string& text() const noexcept { return text_; }
  /// Returns the way in which the text names files.
  file_naming naming() const noexcept { return naming_; }

 private:
  std::string text_;
  file_naming naming_;
};

/// A selection of files to transfer, and their destination: `files("data.csv", "input dir/",
/// "logs/**/*.txt").into("inputs")`.
///
/// A value, made by `files()`. A path on the host may be absolute or relative to the current directory, and may contain
/// `..`. A path in an environment is relative to the workspace.
///
/// `upload` and `copy_files` choose the destination as follows:
///
/// | named | arrives as |
/// |---|---|
/// | a file `a/b.csv` | `b.csv` |
/// | a directory `a/dir`, `a/dir/` | `dir/…`; with `into(x)` its contents as `x/…` |
/// | a pattern `a/**/b*` | each match under its path below `a`, the folder before the first part that is a pattern |
///
/// With `into()`, all these paths are beneath that directory. `download` is different: it keeps the whole path in the
/// workspace. If a pattern matches a directory, all contents of the directory are transferred. A pattern that ends in
/// `**` is different: it matches the contents one by one.
///
/// A symbolic link that is named directly is followed, and the destination has the name of the link. Links that are
/// found in a directory or by a pattern are not followed, and are reported as `exec_errc::not_a_file`, unless
/// `follow_symlinks()` was called. Empty directories and permission bits (0777) are transferred. A file that is named
/// twice is transferred once.
class file_set {
 public:
  /// The default maximum of the total size: 16 GiB.
  static constexpr std::uint64_t default_bytes = std::uint64_t{16} * 1024 * 1024 * 1024;
  /// The default maximum number of files and directories.
  static constexpr std::size_t default_files = 1'000'000;

  /// Makes an empty set.
  file_set() = default;

  /// Adds the files that a text names: the file or directory of exactly this name if it exists; otherwise, if the text
  /// has `*`, `?` or `[`, the matches of this pattern.
  file_set& add(std::string text) {
    items_.emplace_back(std::move(text), file_naming::automatic);
    return *this;
  }

  /// Adds the file or directory of exactly this name, even if the name contains pattern characters.
  file_set& exactly(std::string path) {
    items_.emplace_back(std::move(path), file_naming::exact);
    return *this;
  }

  /// Adds all files that match a pattern. The class `glob` in cofferdam/detail/files/glob.hpp documents the syntax.
  file_set& matching(std::string pattern) {
    items_.emplace_back(std::move(pattern), file_naming::pattern);
    return *this;
  }

  /// Sets the destination directory on the receiving side. It is made if it is missing.
  /// \param  directory  relative, without `..`. "." is the workspace, or the destination of `download`.
  /// \throws            error{exec_errc::outside_workspace, invalid_argument} for another path.
  file_set& into(std::string directory) {
    into_ = workspace_path_or_root(directory);
    return *this;
  }

  /// Also follows symbolic links that are found in directories and by patterns. On the host, such a link may lead
  /// anywhere. In a workspace, only links to files are followed; links to directories are still reported as
  /// `exec_errc::not_a_file`.
  file_set& follow_symlinks() {
    follows_symlinks_ = true;
    return *this;
  }

  /// Sets the maximum total size in bytes. If the set is larger, the transfer throws `error{exec_errc::too_large}`
  /// before anything is written. If a file grows past the limit during the transfer, only the transfer of that file
  /// fails. Default: `default_bytes`.
  file_set& at_most(std::uint64_t limit) {
    max_bytes_ = limit;
    return *this;
  }

  /// Sets the maximum number of files and directories, including those that cannot be read. If the set is larger, the
  /// transfer throws `error{exec_errc::too_large}` before anything is written. Default: `default_files`.
  file_set& at_most_files(std::size_t count) {
    max_files_ = count;
    return *this;
  }

  /// Returns the paths and patterns in the order in which they were given.
  const std::vector<file_item>& items() const noexcept { return items_; }
  /// Returns the destination directory; no value if none was set.
  const std::optional<std::string>& into() const noexcept { return into_; }
  /// Returns true if `follow_symlinks` was called.
  bool follows_symlinks() const noexcept { return follows_symlinks_; }
  /// Returns the limit that `at_most` sets, in bytes.
  std::uint64_t max_bytes() const noexcept { return max_bytes_; }
  /// Returns the limit that `at_most_files` sets.
  std::size_t max_files() const noexcept { return max_files_; }

 private:
  std::vector<file_item> items_;
  std::optional<std::string> into_;
  bool follows_symlinks_ = false;
  std::uint64_t max_bytes_ = default_bytes;
  std::size_t max_files_ = default_files;
};

/// Makes a set of files, directories and patterns: `files("report.md", "plots/*.png")`. `file_set` documents how the
/// texts are interpreted.
/// \param items  texts or `std::filesystem::path`s, with `/` as separator; any bytes but NUL.
template <std::convertible_to<std::string>... Items>
  requires(sizeof...(Items) > 0)
file_set files(Items&&... items) {
  file_set set;
  (set.add(std::forward<Items>(items)), ...);
  return set;
}

/// Makes a set of files, directories and patterns from a list of texts.
inline file_set files(std::vector<std::string> items) {
  file_set set;
  for (std::string& item : items) set.add(std::move(item));
  return set;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
