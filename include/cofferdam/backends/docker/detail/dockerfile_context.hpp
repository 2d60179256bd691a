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

/// One file, folder or symbolic link of a build's context.
class context_entry {
 public:
  context_entry(directory_entry what, std::string target) : what_(std::move(what)), target_(std::move(target)) {}

  /// Relative to the context, on the host and in the archive; any bytes but NUL.
  const std::string& path() const noexcept { return what_.path(); }
  /// regular, directory or symlink.
  file_type type() const noexcept { return what_.type(); }
  /// Returns the size in bytes at the time of the listing; the file may have grown since.
  std::uint64_t size() const noexcept { return what_.size(); }
  unsigned mode() const noexcept { return what_.mode(); }
  /// Returns the target of a symbolic link. It may lead anywhere, because it is sent as a link.
  const std::string& target() const noexcept { return target_; }

 private:
  directory_entry what_;
  std::string target_;
};

/// The maximum size of a context.
class context_limit {
 public:
  context_limit() = default;
  /// \param bytes  maximum size of all files together. Default 16 GiB.
  context_limit& bytes(std::uint64_t count) {
    bytes_ = count;
    return *this;
  }
  /// \param count  maximum number of listed names. Default 1,000,000.
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

/// Selects the files of a context folder for a build, in steps. Reads only the file with the rules.
///
/// The rules are those of `<Dockerfile>.dockerignore` next to the Dockerfile, else of `.dockerignore` in the context.
/// The Dockerfile and the file with the rules are always among the entries: the daemon itself leaves them out of the
/// image if the rules exclude them. A Dockerfile outside the context is not an entry; its content comes with
/// `extra_content()`.
///
/// Symbolic links are entries of their own and never followed; sockets, FIFOs and devices are left out.
/// \par Threads  one at a time. All members are synchronous; `step` does a bounded piece of the work.
/// \par Source   docker/cli `cli/command/image/build`.
class dockerfile_context {
 public:
  /// \param context     a folder of this machine.
  /// \param dockerfile  its path on this machine, inside or outside of the context; empty for `Dockerfile` in the
  ///                    context.
  /// \throws            error{exec_errc::not_found, not_a_directory, not_a_file, permission_denied, io_error};
  ///                    error{exec_errc::invalid_argument} for rules that cannot be read; error{exec_errc::too_large}
  ///                    for a
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

  /// Lists about `count` more names. Returns true at the end; then `entries` is complete.
  /// \throws error{exec_errc::too_large} at the limit; permission_denied for a folder that cannot be read and is not
  ///     excluded; not_found if the Dockerfile has vanished.
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

  /// Returns the open folder. Open files beneath it with `link_policy::refuse`.
  const directory& folder() const noexcept { return folder_; }
  /// Returns the entries to send, in byte order of the paths, so that the same files give the same archive. An excluded
  /// folder has no entry, even if a file in it has one.
  const std::vector<context_entry>& entries() const noexcept { return entries_; }
  /// Returns the size of all files in bytes.
  std::uint64_t total_bytes() const noexcept { return total_; }
  /// Returns the name of the Dockerfile for the daemon, relative to the archive.
  const std::string& dockerfile() const noexcept { return name_; }
  /// Returns the content of a Dockerfile from outside the context, to be sent under the name `dockerfile()`.
  const std::optional<std::string>& extra_content() const noexcept { return extra_; }
  /// Returns the text of the Dockerfile.
  /// \throws error{exec_errc::too_large} for more than 1 MiB.
  std::string dockerfile_text() const { return extra_ ? *extra_ : text_of(folder_.open_file(name_)); }
  /// Returns the path of the applied rules, relative to the context; empty if they are not in it.
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
                    (missing ? std::string("there is no such file") : failure.message()) +
                    "; name the Dockerfile and the folder of its context",
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
      throw error(exec_errc::too_large, "docker: build: the context is more than the " +
                                            std::to_string(limit_.bytes()) +
                                            " bytes that were allowed; name what it does not need in .dockerignore");
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
                                            " was removed while the context was looked at");
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
