// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/docker_ignore.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/os/file_reader.hpp>
#include <cofferdam/detail/os/tree_walk.hpp>
#include <cofferdam/os/directory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// A file, folder or symbolic link of a build's context.
class context_entry {
 public:
  context_entry(directory_entry what, std::string target) : what_(std::move(what)), target_(std::move(target)) {}

  /// Returns the path relative to the context, which is the same on the host and in the archive. It may contain any
  /// bytes but NUL.
  const std::string& path() const noexcept { return what_.path(); }
  /// Returns the type: regular, directory or symlink.
  file_type type() const noexcept { return what_.type(); }
  /// Returns the size in bytes at the time when the file was listed; the file may have grown since.
  std::uint64_t size() const noexcept { return what_.size(); }
  unsigned mode() const noexcept { return what_.mode(); }
  /// Returns the target of a symbolic link. The target may be any path, because the link is sent as a link and not
  /// followed.
  const std::string& target() const noexcept { return target_; }

 private:
  directory_entry what_;
  std::string target_;
};

/// The limits on the size of a build's context.
class context_limit {
 public:
  context_limit() = default;
  /// Sets the maximum total size of all files.
  /// \param count  in bytes. Default: 16 GiB.
  context_limit& bytes(std::uint64_t count) {
    bytes_ = count;
    return *this;
  }
  /// Sets the maximum number of listed files and folders.
  /// \param count  Default: 1,000,000.
  context_limit& files(std::size_t count) {
    files_ = count;
    return *this;
  }

  std::uint64_t bytes() const noexcept { return bytes_; }
  std::size_t files() const noexcept { return files_; }

 private:
  std::uint64_t bytes_ = std::uint64_t{16} << 30;
  std::size_t files_ = 1'000'000;
};

/// The selection of the files that are sent to the daemon for a build. The context folder is listed in steps. Of its
/// files, only the Dockerfile and the file with the exclusion rules are read.
///
/// The rules come from `<Dockerfile>.dockerignore` next to the Dockerfile if it exists, otherwise from `.dockerignore`
/// in the context. The Dockerfile and the file with the rules are always sent, even if the rules exclude them; the
/// daemon then leaves them out of the image. A Dockerfile outside the context is not an entry, but is returned by
/// `extra_content()`.
///
/// Symbolic links are entries and are never followed. Sockets, FIFOs and devices are left out.
/// \par Threads  one thread at a time. All members are synchronous; `step` executes a bounded part of the work.
/// \par Source   docker/cli `cli/command/image/build`.
class dockerfile_context {
 public:
  /// Opens the context folder and reads the exclusion rules.
  /// \param context     a folder of this machine.
  /// \param dockerfile  the path of the Dockerfile on this machine, inside or outside the context. Empty means
  ///                    `Dockerfile` in the context.
  /// \throws            error{exec_errc::not_found, not_a_directory, not_a_file, permission_denied, io_error};
  ///                    error{exec_errc::invalid_argument} for malformed rules; error{exec_errc::too_large} for a
  ///                    Dockerfile or rules of more than 1 MiB.
  explicit dockerfile_context(const std::filesystem::path& context, const std::filesystem::path& dockerfile = {},
                              context_limit limit = context_limit())
      : folder_(directory::open(context)), limit_(limit) {
    const std::filesystem::path file = dockerfile.empty() ? context / "Dockerfile" : dockerfile;
    const std::filesystem::path real_folder = real(context);
    const std::filesystem::path real_file = real(file);
    const std::filesystem::path inside = real_file.lexically_relative(real_folder);
    if (!inside.empty() && *inside.begin() != ".." && inside != ".") {
      name_ = inside.generic_string();
      static_cast<void>(folder_.open_file(name_));
    } else {
      extra_ = text_of(cofferdam::detail::file_reader::open_host(real_file.string()));
      name_ = unused_name();
    }
    find_rules(file);
    walk_.emplace(folder_.walk(".", list_options().entries(limit.files())));
  }

  /// Lists about `count` more files and folders. Returns true at the end of the list; `entries()` is then complete.
  /// \throws error{exec_errc::too_large} if the context exceeds its `context_limit`;
  ///     error{exec_errc::permission_denied} for a folder that is not excluded and cannot be read;
  ///     error{exec_errc::not_found} if the Dockerfile does not exist any more.
  bool step(std::size_t count = 1024) {
    if (!walk_) return true;
    for (std::size_t done = 0; done < count; ++done) {
      std::optional<directory_entry> found = walk_->next();
      if (!found) {
        finish();
        return true;
      }
      look_at(std::move(*found));
    }
    return false;
  }

  /// Returns the open context folder. Open the files in it with `link_policy::refuse`, so that a file that was replaced
  /// by a symbolic link is not followed.
  const directory& folder() const noexcept { return folder_; }
  /// Returns the entries to send, sorted by the bytes of their paths, so that the same files result in the same
  /// archive. An excluded folder has no entry, even if a file in it has one.
  const std::vector<context_entry>& entries() const noexcept { return entries_; }
  /// Returns the total size of all files in bytes.
  std::uint64_t total_bytes() const noexcept { return total_; }
  /// Returns the path of the Dockerfile in the archive that is sent to the daemon.
  const std::string& dockerfile() const noexcept { return name_; }
  /// Returns the content of a Dockerfile that is outside the context. It must be sent under the name `dockerfile()`. No
  /// value if the Dockerfile is inside the context.
  const std::optional<std::string>& extra_content() const noexcept { return extra_; }
  /// Returns the text of the Dockerfile.
  /// \throws error{exec_errc::too_large} for more than 1 MiB.
  std::string dockerfile_text() const { return extra_ ? *extra_ : text_of(folder_.open_file(name_)); }
  /// Returns the path of the file with the applied rules, relative to the context; empty if that file is not in the
  /// context.
  const std::string& rules() const noexcept { return rules_name_; }

 private:
  static constexpr std::size_t max_text = std::size_t{1024} * 1024;

  static std::filesystem::path real(const std::filesystem::path& path) {
    std::error_code failure;
    std::filesystem::path found = std::filesystem::canonical(path, failure);
    if (!failure) return found;
    const bool missing = failure == std::errc::no_such_file_or_directory || failure == std::errc::not_a_directory;
    throw error(missing ? exec_errc::not_found : exec_errc::io_error,
                "docker: build: " + cofferdam::detail::shown_path(path.native()) + ": " +
                    (missing ? std::string("no such file") : failure.message()) +
                    "; check the paths of the Dockerfile and of the context folder",
                failure);
  }

  static std::string text_of(cofferdam::detail::file_reader reader) {
    const bytes content = reader.read_rest(max_text);
    return std::string(as_text(content));
  }

  bool is_there(const std::string& path) const {
    try {
      static_cast<void>(folder_.stat(path));
      return true;
    } catch (const error& failure) {
      if (failure.code() == exec_errc::not_found || failure.code() == exec_errc::not_a_directory) return false;
      throw;
    }
  }

  std::string unused_name() const {
    std::string name = ".cofferdam.Dockerfile";
    while (is_there(name)) name += ".x";
    return name;
  }

  void find_rules(const std::filesystem::path& dockerfile) {
    if (extra_) {
      std::error_code ignored;
      std::filesystem::path beside = dockerfile;
      beside += ".dockerignore";
      if (std::filesystem::is_regular_file(beside, ignored)) {
        ignore_ = docker_ignore(text_of(cofferdam::detail::file_reader::open_host(beside.string())));
        return;
      }
    } else if (is_there(name_ + ".dockerignore")) {
      rules_name_ = name_ + ".dockerignore";
    }
    if (rules_name_.empty() && is_there(".dockerignore")) rules_name_ = ".dockerignore";
    if (!rules_name_.empty()) ignore_ = docker_ignore(text_of(folder_.open_file(rules_name_)));
  }

  bool is_needed(std::string_view path) const { return (!extra_ && path == name_) || path == rules_name_; }

  bool leads_to_needed(std::string_view path) const {
    const auto is_above = [path](std::string_view below) {
      return below.size() > path.size() && below.starts_with(path) && below[path.size()] == '/';
    };
    return (!extra_ && is_above(name_)) || is_above(rules_name_);
  }

  void look_at(directory_entry found) {
    if (found.type() == file_type::other) return;
    if (found.is_directory() && !leads_to_needed(found.path()) && ignore_.ignores_all_of(found.path())) {
      walk_->skip();
      return;
    }
    if (!is_needed(found.path()) && ignore_.ignored(found.path())) return;
    std::string target;
    if (found.type() == file_type::symlink) target = folder_.link_target(found.path());
    if (found.size() > limit_.bytes() - total_)
      throw error(exec_errc::too_large, "docker: build: the context is larger than the limit of " +
                                            std::to_string(limit_.bytes()) +
                                            " bytes; list unneeded files in .dockerignore");
    total_ += found.size();
    entries_.emplace_back(std::move(found), std::move(target));
  }

  void finish() {
    walk_.reset();
    std::sort(entries_.begin(), entries_.end(),
              [](const context_entry& a, const context_entry& b) { return a.path() < b.path(); });
    const bool has_dockerfile = extra_ || std::any_of(entries_.begin(), entries_.end(),
                                                      [this](const auto& entry) { return entry.path() == name_; });
    if (!has_dockerfile)
      throw error(exec_errc::not_found, "docker: build: the Dockerfile " + cofferdam::detail::shown_path(name_) +
                                            " was removed while the context was read");
  }

  directory folder_;
  context_limit limit_;
  std::string name_;
  std::optional<std::string> extra_;
  std::string rules_name_;
  docker_ignore ignore_;
  std::optional<cofferdam::detail::tree_walk> walk_;
  std::vector<context_entry> entries_;
  std::uint64_t total_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
