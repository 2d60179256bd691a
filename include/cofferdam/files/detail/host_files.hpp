// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/files/glob.hpp>
#include <cofferdam/detail/os/file_reader.hpp>
#include <cofferdam/detail/os/tree_walk.hpp>
#include <cofferdam/files/detail/file_plan.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/os/directory.hpp>
#include <cofferdam/os/workspace_files.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The maximum number of bytes that are read from a host file before other work on the executor may run.
inline constexpr std::size_t host_piece = 256 * 1024;

template <class = void>
class basic_host_planner;
using host_planner = basic_host_planner<>;

/// A planner that finds the files of a `file_set` on the host. Its functions are coroutines, because directory trees
/// may be large and other work must run in between.
template <class Unused>
class basic_host_planner {
 public:
  explicit basic_host_planner(const file_set& set) : set_(set), plan_(set, is_one_file) {}

  /// Makes the whole plan. This object must live until the awaitable completes.
  awaitable<void> plan() {
    return plan_items(set_, plan_, [this](const file_item& item) { return add_item(item); });
  }
  /// Makes a plan of the contents of an open directory, for the workspace. Links in the directory are not followed.
  /// \param tree   the directory.
  /// \param shown  its path in messages.
  awaitable<void> plan_tree(std::shared_ptr<const directory> tree, std::string shown) {
    co_await add_tree(std::move(tree), std::move(shown), ".");
    plan_.settle();
  }
  file_plan& result() noexcept { return plan_; }

 private:
  static bool is_one_file(const std::string& a, const std::string& b) {
    struct stat first {};
    struct stat second {};
    return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && same_file(first, second);
  }

  static error nothing_there(std::string_view text) {
    return error(exec_errc::not_found, "upload " + shown_path(text) + ": no such file or directory");
  }

  awaitable<void> add_item(file_item item) {
    const std::string& text = item.text();
    if (text.empty() || text.find('\0') != std::string::npos)
      throw error(exec_errc::invalid_argument,
                  "upload " + shown_path(text) + ": the path is empty or contains a NUL byte");
    if (item.naming() == file_naming::pattern) {
      co_await add_matches(text);
      co_return;
    }
    struct stat status {};
    const bool is_there = ::lstat(plain(text).c_str(), &status) == 0;
    if (is_there) {
      co_await add_named(plain(text), text);
      co_return;
    }
    const int code = errno;
    if (item.naming() == file_naming::exact || !glob::is_pattern(text)) {
      if (code == ENOENT) throw nothing_there(text);
      throw name_error(code, "upload", text);
    }
    co_await add_matches(text);
  }

  // Removes slashes at the end of a path, because lstat of `link/` would look at the target of the link.
  static std::string plain(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
  }

  // Adds a file or directory that the caller named directly. Symbolic links in its path and at its end are followed,
  // because the caller is trusted.
  awaitable<void> add_named(std::string path, std::string shown) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) throw name_error(errno, "upload", shown);
    std::string name = last_name(path);
    if (name.empty() || name == "." || name == "..")
      name = last_name(std::filesystem::absolute(path).lexically_normal().string());
    if (S_ISDIR(status.st_mode)) {
      if (name.empty() && !set_.into())
        throw error(exec_errc::invalid_argument,
                    "upload " + shown_path(shown) + ": the path has no name; set the destination with into()");
      const std::string target = directory_target(set_.into(), name);
      if (set_.follows_symlinks())
        co_await add_followed(path, target);
      else
        co_await add_tree(std::make_shared<const directory>(directory::open(path)), path, target);
      co_return;
    }
    add_file(path, file_target(set_.into(), name), status);
  }

  awaitable<void> add_matches(std::string pattern) {
    const glob matcher(pattern);
    const std::string base = matcher.prefix().empty() ? "." : matcher.prefix();
    struct stat status {};
    if (::stat(base.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) throw no_match(pattern);
    matches found;
    found.base = std::make_shared<const directory>(directory::open(base));
    tree_walk walk = found.base->walk(".");
    std::string last;
    for (std::size_t count = 1;; ++count) {
      if (count % names_a_turn == 0) co_await yield_turn("upload " + shown_path(pattern));
      std::optional<directory_entry> next;
      try {
        next = walk.next();
      } catch (const error& failure) {
        if (file_plan::ends_all(failure)) throw;
        plan_.add_failure(joined_path(matcher.prefix(), last), failure);
        continue;
      }
      if (!next) break;
      last = next->path();
      if (matcher.matches(last)) found.entries.push_back(*next);
      if (next->is_directory() && !matcher.may_match_beneath(last)) walk.skip();
    }
    if (found.entries.empty()) throw no_match(pattern);
    directory::sort_entries(found.entries);
    for (const directory_entry& match : found.entries) {
      const std::string path = joined_path(matcher.prefix(), match.path());
      const std::string target = file_target(set_.into(), match.path());
      if (match.type() == file_type::symlink && set_.follows_symlinks()) {
        co_await add_followed(path, target);
      } else if (match.is_directory() && !matcher.matches_whole_trees()) {
        if (set_.follows_symlinks())
          co_await add_followed(path, target);
        else
          co_await add_tree(below(*found.base, match.path()), path, target);
      } else {
        add_entry(match, path, target, found.base, match.path());
      }
    }
  }

  static error no_match(std::string_view pattern) {
    return error(exec_errc::not_found, "upload " + shown_path(pattern) + ": nothing matches the pattern");
  }

  static std::shared_ptr<const directory> below(const directory& base, const std::string& path) {
    return std::make_shared<const directory>(base.subdirectory(path, link_policy::refuse));
  }

  awaitable<void> add_tree(std::shared_ptr<const directory> base, std::string path, std::string target) {
    if (target != ".") add_directory(path, target, base->stat(".").mode());
    std::vector<directory_entry> entries;
    tree_walk walk = base->walk(".", list_options().entries(set_.max_files()));
    for (std::size_t count = 1;; ++count) {
      if (count % names_a_turn == 0) co_await yield_turn("upload " + shown_path(path));
      std::optional<directory_entry> next;
      try {
        next = walk.next();
      } catch (const error& failure) {
        if (file_plan::ends_all(failure)) throw;
        plan_.add_failure(entries.empty() ? path : joined_path(path, entries.back().path()), failure);
        continue;
      }
      if (!next) break;
      entries.push_back(std::move(*next));
    }
    directory::sort_entries(entries);
    for (const directory_entry& found : entries)
      add_entry(found, joined_path(path, found.path()), joined_path(target, found.path()), base, found.path());
  }

  void add_entry(const directory_entry& found, const std::string& source, const std::string& target,
                 const std::shared_ptr<const directory>& base, const std::string& path) {
    switch (found.type()) {
      case file_type::directory: add_directory(source, target, found.mode()); break;
      case file_type::regular: {
        planned_file file(source, target, file_type::regular, found.size(), found.mode());
        plan_.add(std::move(file.opened_as(path, base)));
        break;
      }
      case file_type::symlink: plan_.add_failure(source, not_followed(source)); break;
      case file_type::other: plan_.add_failure(source, not_regular(source)); break;
    }
  }

  void add_file(const std::string& path, const std::string& target, const struct stat& status) {
    if (!S_ISREG(status.st_mode)) {
      plan_.add_failure(path, not_regular(path));
      return;
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    plan_.add(planned_file(path, target, file_type::regular, size, status.st_mode & 0777U));
  }

  void add_directory(const std::string& source, const std::string& target, unsigned mode) {
    constexpr unsigned needed = 0700;  // without these bits, no file could be written into the directory
    plan_.add(planned_file(source, target, file_type::directory, 0, mode | needed));
  }

  static error not_followed(std::string_view path) {
    return error(exec_errc::not_a_file, "upload " + shown_path(path) +
                                            ": it is a symbolic link; links are followed only with follow_symlinks()");
  }
  static error not_regular(std::string_view path) {
    return error(exec_errc::not_a_file, "upload " + shown_path(path) + ": it is a FIFO, socket or device");
  }

  // ---- directory trees with symbolic links followed ----
  //
  // Files are opened by their paths here, because links may lead out of the tree. A link to one of the directories
  // above it would be an endless cycle, so each directory is compared with the directories above it.

  struct level {
    std::string path;
    std::string target;
    dev_t device;
    ino_t inode;
    std::vector<std::string> names;  // names that were not visited yet; the last element is visited next
  };

  awaitable<void> add_followed(std::string path, std::string target) {
    std::vector<level> levels;
    visit(levels, std::move(path), std::move(target));
    for (std::size_t count = 1; !levels.empty(); ++count) {
      if (count % names_a_turn == 0) co_await yield_turn("upload " + shown_path(levels.back().path));
      if (levels.back().names.empty()) {
        levels.pop_back();
        continue;
      }
      const std::string name = std::move(levels.back().names.back());
      levels.back().names.pop_back();
      visit(levels, joined_host_path(levels.back().path, name), joined_path(levels.back().target, name));
    }
  }

  void visit(std::vector<level>& levels, std::string path, std::string target) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
      plan_.add_failure(path, name_error(errno, "upload", path));
      return;
    }
    if (!S_ISDIR(status.st_mode)) {
      add_file(path, target, status);
      return;
    }
    for (const level& above : levels) {
      if (above.device != status.st_dev || above.inode != status.st_ino) continue;
      plan_.add_failure(
          path, error(exec_errc::not_a_file,
                      "upload " + shown_path(path) + ": it is a symbolic link to one of its own parent directories"));
      return;
    }
    try {
      unique_fd fd(open_retried(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY));
      if (!fd) throw name_error(errno, "upload", path);
      level below{path, target, status.st_dev, status.st_ino,
                  names_in(std::move(fd), file_set::default_files, "upload", path)};
      std::sort(below.names.begin(), below.names.end(), std::greater<>());
      if (target != ".") add_directory(path, target, status.st_mode & 0777U);
      levels.push_back(std::move(below));
    } catch (const error& failure) {
      if (file_plan::ends_all(failure)) throw;
      plan_.add_failure(path, failure);
    }
  }

  static std::string joined_host_path(const std::string& above, const std::string& name) {
    return above.ends_with('/') ? above + name : above + "/" + name;
  }

  struct matches {
    std::shared_ptr<const directory> base;
    std::vector<directory_entry> entries;
  };

  const file_set& set_;
  file_plan plan_;
};

template <class = void>
class basic_host_source;
using host_source = basic_host_source<>;

/// A source that reads the planned files of the host, one after another. Each file is checked again when it is opened,
/// because it may have been replaced in the meantime. A FIFO is refused, so that it cannot block the transfer. A
/// symbolic link in place of a file from a directory or a pattern is not followed, unless the set follows symbolic
/// links. At most the set's limit of bytes is read, even if files have grown.
template <class Unused>
class basic_host_source final : public file_source {
 public:
  explicit basic_host_source(const file_plan& plan) : plan_(plan), left_(plan.max_bytes()) {}

  awaitable<std::optional<file_header>> next() override {
    reader_.reset();
    if (at_ == plan_.files().size()) co_return std::nullopt;
    const planned_file& file = plan_.files()[at_++];
    co_await yield_turn("upload " + shown_path(file.source()));
    std::optional<file_header> header;
    if (file.failure()) {
      header.emplace(file.source(), *file.failure());
    } else if (file.is_directory()) {
      header.emplace(file.source(), file.destination(), file_type::directory, 0, file.mode());
    } else {
      try {
        if (file.beneath())
          reader_.emplace(file.beneath()->open_file(file.path(), link_policy::refuse));
        else
          reader_.emplace(file_reader::open_host(file.path()));
        header.emplace(file.source(), file.destination(), file_type::regular, reader_->size(), reader_->mode());
      } catch (const error& failure) {
        reader_.reset();
        header.emplace(file.source(), failure);
      }
    }
    co_return header;
  }

  awaitable<bytes> read(std::size_t max_bytes) override {
    if (!reader_ || max_bytes == 0) co_return bytes();
    co_await yield_turn("upload " + shown_path(reader_->path()));
    bytes piece = reader_->read(std::min(max_bytes, host_piece));
    if (piece.size() > left_)
      throw error(exec_errc::too_large, "upload " + shown_path(reader_->path()) +
                                            ": the file grew beyond the limit; raise the limit with at_most()");
    left_ -= piece.size();
    co_return piece;
  }

  std::optional<file_range> take_range() override {
    if (!reader_ || reader_->size() <= reader_->position()) return std::nullopt;
    const std::uint64_t size = reader_->size() - reader_->position();
    if (size > left_)
      throw error(exec_errc::too_large, "upload " + shown_path(reader_->path()) +
                                            ": the file grew beyond the limit; raise the limit with at_most()");
    left_ -= size;
    return file_range(reader_->descriptor(), reader_->position(), size);
  }

 private:
  const file_plan& plan_;
  std::uint64_t left_;
  std::size_t at_ = 0;
  std::optional<file_reader> reader_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
