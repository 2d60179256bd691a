// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/version.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The options of `file_system::watch`.
class watch_options {
 public:
  watch_options() = default;

  /// Sets the depth of the watch.
  /// \param all  true to watch everything beneath the directory; false (the default) to watch only its own entries.
  watch_options& recursive(bool all = true) {
    recursive_ = all;
    return *this;
  }
  /// Sets the time between two listings, for environments that cannot watch (`directory_watch::lists`). Others ignore
  /// it.
  /// \param time  in milliseconds; at least 10 ms, default 250 ms.
  /// \throws error{exec_errc::invalid_argument} if the time is shorter.
  watch_options& interval(std::chrono::milliseconds time) {
    if (time < std::chrono::milliseconds(10))
      throw error(exec_errc::invalid_argument, "watch: the interval must be at least 10 ms");
    interval_ = time;
    return *this;
  }

  /// Returns true if everything beneath the directory is watched; see `recursive`.
  bool is_recursive() const noexcept { return recursive_; }
  std::chrono::milliseconds interval() const noexcept { return interval_; }

 private:
  bool recursive_ = false;
  std::chrono::milliseconds interval_{250};
};

/// The kind of a change in a watched directory.
enum class change_kind {
  created,     ///< an entry was created, or moved into the watched directory; a moved file counts as written, too
  written,     ///< the content or the size of a file has changed
  removed,     ///< an entry was removed, or moved out of the watched directory, with everything beneath it
  renamed,     ///< an entry has another path; `file_change::from` returns the path before
  attributes,  ///< the mode, the owner or a time of an entry has changed
};

/// A change in a watched directory.
class file_change {
 public:
  /// Describes a change. The members of the same names describe the parameters.
  file_change(change_kind kind, std::string path, bool is_directory, std::string from = std::string())
      : kind_(kind), is_directory_(is_directory), path_(std::move(path)), from_(std::move(from)) {}

  /// Returns the kind of the change.
  change_kind kind() const noexcept { return kind_; }
  /// Returns the path of the entry, relative to the watched directory. It may contain any bytes except NUL.
  const std::string& path() const noexcept { return path_; }
  /// Returns the path before a rename, relative to the watched directory; empty for all other kinds.
  const std::string& from() const noexcept { return from_; }
  /// Returns true if the entry is a directory, and no symbolic link to one.
  bool is_directory() const noexcept { return is_directory_; }

 private:
  change_kind kind_;
  bool is_directory_;
  std::string path_;
  std::string from_;
};

/// A directory that is being watched; `file_system::watch` returns it. The destructor ends the watch and does not wait.
///
/// The changes come in the order in which they happened. Two equal changes that follow each other directly, such as two
/// writes to one file, may be reported as one. In a recursive watch, new directories are watched at once. The entries
/// that were in a new directory by then are reported as created. They may be reported as created twice if directories
/// are renamed at the same time. A file that a file operation of the environment writes is reported as created and
/// written, even if it replaces another one. Symbolic links are not followed. Directories that the user of the commands
/// may not read are not watched.
///
/// A guest (code in the sandbox) may make changes faster than the program reads them. A bounded number of changes
/// waits; beyond that, changes are lost. `next()` then throws `error{exec_errc::too_large}` once, and continues at the
/// next call.
/// \par Lifetime  does not keep the environment open.
/// \par Threads   the rules of the environment apply.
class directory_watch {
 public:
  /// The interface that a backend implements to provide its own watches. Its destructor ends the watch.
  class implementation {
   public:
    implementation() = default;
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;
    virtual ~implementation() = default;
    /// Does what `directory_watch::next` does.
    /// \param limit  the maximum time to wait; no value: no limit.
    virtual awaitable<std::vector<file_change>> next(std::optional<std::chrono::milliseconds> limit) = 0;
    /// Returns what `directory_watch::lists` returns.
    virtual bool lists() const noexcept { return false; }
  };

  /// Makes an object that watches nothing. Its operations throw `error{exec_errc::environment_closed}`.
  directory_watch() = default;
  /// Makes an object from the implementation of a backend.
  explicit directory_watch(std::unique_ptr<implementation> watch) noexcept : watch_(std::move(watch)) {}

  /// Returns true if the object watches a directory.
  explicit operator bool() const noexcept { return static_cast<bool>(watch_); }

  /// Returns true if the environment cannot watch, so that listings of the directory are compared. Then changes are
  /// found late, several changes of an entry become one, and a renamed entry counts as removed and created. A change
  /// that leaves type, size, mode and time of a file as they were is not found.
  bool lists() const noexcept { return watch_ && watch_->lists(); }

  /// Waits for changes. One call at a time is allowed, and the object must outlive the call.
  /// \return  at least one change.
  /// \throws error{exec_errc::too_large} if changes were lost at this point: list the directory again. The watch
  ///     continues.
  /// \throws error{exec_errc::not_found} if the directory itself was removed, moved or replaced. The watch has ended.
  /// \throws error{exec_errc::environment_closed} or error{exec_errc::provider_lost} if the environment has ended.
  /// \throws error{exec_errc::io_error} if the process that watches was killed. The watch has ended.
  /// \par Cancellation  ends the wait with error{exec_errc::cancelled}. No change is lost; the watch continues.
  awaitable<std::vector<file_change>> next() { return get().next(std::nullopt); }

  /// Waits for changes, but for a limited time.
  /// \param limit  the maximum time to wait, in milliseconds. 0 returns all changes that have happened so far.
  /// \return  the changes; empty if there are none within the time.
  /// \throws error  as `next()` does.
  awaitable<std::vector<file_change>> next(std::chrono::milliseconds limit) { return get().next(limit); }

 private:
  implementation& get() const {
    if (!watch_)
      throw error(exec_errc::environment_closed,
                  "directory_watch: empty (default-constructed or moved from); call watch() on the files of an "
                  "environment");
    return *watch_;
  }

  std::unique_ptr<implementation> watch_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
