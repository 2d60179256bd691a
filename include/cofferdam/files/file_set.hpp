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

namespace cofferdam::inline v0 {

/// How a text names files.
enum class file_naming {
  automatic,  ///< exactly what it says where that exists; else, where it has `*`, `?` or `[`, a pattern
  exact,      ///< exactly what it says
  pattern,    ///< a pattern, as `glob` has them
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

/// Which files are to be moved, and where to: `files("data.csv", "input dir/", "logs/**/*.txt").into("inputs")`.
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
/// All of it beneath `into()`, where that is given. A matching directory comes with all it holds, except at the end of
/// `**`, which matches that one by one. `download` differs in one thing: it keeps the whole path in the workspace.
///
/// A link that is named itself is followed and keeps its own name. Links found in a directory or by a pattern are not
/// followed, and reported as `errc::not_a_file`, unless `follow_symlinks()` was said. Empty directories and permission
/// bits (0777) are kept. What is named twice is moved once.
class file_set {
 public:
  /// Total bytes where `at_most` was not said: 16 GiB.
  static constexpr std::uint64_t default_bytes = std::uint64_t{16} * 1024 * 1024 * 1024;
  /// Number of files and directories where `at_most_files` was not said.
  static constexpr std::size_t default_files = 1'000'000;

  /// Nothing.
  file_set() = default;

  /// Adds what a plain text names.
  file_set& add(std::string text) & {
    items_.emplace_back(std::move(text), file_naming::automatic);
    return *this;
  }
  file_set&& add(std::string text) && { return std::move(add(std::move(text))); }

  /// Adds exactly this file or directory, whatever characters its name has.
  file_set& exactly(std::string path) & {
    items_.emplace_back(std::move(path), file_naming::exact);
    return *this;
  }
  file_set&& exactly(std::string path) && { return std::move(exactly(std::move(path))); }

  /// Adds all that matches a pattern, as `glob` has them.
  file_set& matching(std::string pattern) & {
    items_.emplace_back(std::move(pattern), file_naming::pattern);
    return *this;
  }
  file_set&& matching(std::string pattern) && { return std::move(matching(std::move(pattern))); }

  /// The directory on the receiving side that all goes to; made where it is missing. "." is its root.
  /// \param  directory  relative, without `..`.
  /// \throws            error{errc::outside_workspace, invalid_argument}.
  file_set& into(std::string directory) & {
    into_ = workspace_path_or_root(directory);
    return *this;
  }
  file_set&& into(std::string directory) && { return std::move(into(std::move(directory))); }

  /// Follows symbolic links found in directories and by patterns, too. On the host they may lead anywhere; in a
  /// workspace they lead to files in it, and links to directories are still reported.
  file_set& follow_symlinks() & {
    follows_symlinks_ = true;
    return *this;
  }
  file_set&& follow_symlinks() && { return std::move(follow_symlinks()); }

  /// Limits the total size. A set that is larger throws `error{errc::too_large}` before anything is written; a file
  /// that grows past it meanwhile fails.
  file_set& at_most(std::uint64_t bytes) & {
    most_bytes_ = bytes;
    return *this;
  }
  file_set&& at_most(std::uint64_t bytes) && { return std::move(at_most(bytes)); }

  /// Limits the number of files and directories, failed ones included; more throw `error{errc::too_large}` before
  /// anything is written.
  file_set& at_most_files(std::size_t count) & {
    most_files_ = count;
    return *this;
  }
  file_set&& at_most_files(std::size_t count) && { return std::move(at_most_files(count)); }

  const std::vector<file_item>& items() const noexcept { return items_; }
  const std::optional<std::string>& into() const noexcept { return into_; }
  bool follows_symlinks() const noexcept { return follows_symlinks_; }
  std::uint64_t most_bytes() const noexcept { return most_bytes_; }
  std::size_t most_files() const noexcept { return most_files_; }

 private:
  std::vector<file_item> items_;
  std::optional<std::string> into_;
  bool follows_symlinks_ = false;
  std::uint64_t most_bytes_ = default_bytes;
  std::size_t most_files_ = default_files;
};

/// A set of files, directories and patterns: `files("report.md", "plots/*.png")`. See `file_set` for what it says.
/// \param items  `/`-separated, any bytes but NUL; a `std::filesystem::path` does, too.
template <std::convertible_to<std::string>... Items>
  requires(sizeof...(Items) > 0)
file_set files(Items&&... items) {
  file_set set;
  (set.add(std::forward<Items>(items)), ...);
  return set;
}

/// The same from a list made at run time.
inline file_set files(std::vector<std::string> items) {
  file_set set;
  for (std::string& item : items) set.add(std::move(item));
  return set;
}

}  // namespace cofferdam::inline v0
