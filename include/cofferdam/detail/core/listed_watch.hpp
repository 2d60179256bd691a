// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/directory_watch.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/sleep.hpp>

#include <asio/cancellation_state.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns the changes between two listings of a directory, sorted by path. A new regular file counts as created and
/// written.
/// \param before, after  the listings, each sorted by the bytes of the paths.
inline std::vector<file_change> listing_changes(const std::vector<directory_entry>& before,
                                                const std::vector<directory_entry>& after) {
  std::vector<file_change> changes;
  const auto removed = [&](const directory_entry& entry) {
    changes.emplace_back(change_kind::removed, entry.path(), entry.is_directory());
  };
  const auto created = [&](const directory_entry& entry) {
    changes.emplace_back(change_kind::created, entry.path(), entry.is_directory());
    if (entry.is_regular()) changes.emplace_back(change_kind::written, entry.path(), false);
  };
  auto old = before.begin();
  for (const directory_entry& now : after) {
    for (; old != before.end() && old->path() < now.path(); ++old) removed(*old);
    if (old == before.end() || old->path() != now.path()) {
      created(now);
      continue;
    }
    const directory_entry& was = *old++;
    if (was.type() != now.type()) {
      removed(was);
      created(now);
      continue;
    }
    if (now.is_regular() && (was.size() != now.size() || was.modified() != now.modified()))
      changes.emplace_back(change_kind::written, now.path(), false);
    if (was.mode() != now.mode() || was.owner_id() != now.owner_id() || was.group_id() != now.group_id())
      changes.emplace_back(change_kind::attributes, now.path(), now.is_directory());
  }
  for (; old != before.end(); ++old) removed(*old);
  return changes;
}

/// A watch for files that cannot be watched: it lists the directory at an interval, and compares the listings.
/// \tparam Files  a value with the operations of a `file_system`.
template <class Files>
class listed_watch final : public directory_watch::implementation {
 public:
  listed_watch(Files files, std::string path, watch_options options)
      : files_(std::move(files)), path_(std::move(path)), options_(options) {}

  /// Begins a watch.
  /// \throws error{exec_errc::not_found} or error{exec_errc::not_a_directory} if `path` is not a directory.
  /// \throws error{exec_errc::too_large} if the directory has more than `max_entries` entries.
  static awaitable<directory_watch> begin(Files files, std::string path, watch_options options) {
    auto begun = std::make_unique<listed_watch>(std::move(files), std::move(path), options);
    begun->known_ = co_await begun->list();
    co_return directory_watch(std::move(begun));
  }

  bool lists() const noexcept override { return true; }

  awaitable<std::vector<file_change>> next(std::optional<std::chrono::milliseconds> limit) override {
    using clock = std::chrono::steady_clock;
    const std::optional<clock::time_point> until =
        limit ? std::optional(clock::now() + *limit) : std::optional<clock::time_point>();
    for (bool first = true;; first = false) {
      const asio::cancellation_state before = co_await asio::this_coro::cancellation_state;
      if (before.cancelled() != asio::cancellation_type::none) throw error(exec_errc::cancelled, cancelled());
      const clock::time_point now = clock::now();
      // Without a limit, or before it has passed, at least the interval lies between two listings.
      if (until && now >= *until && !first) co_return std::vector<file_change>();
      if (!until || now < *until) {
        clock::time_point at = std::max(listed_at_ + options_.interval(), now);
        if (until) at = std::min(at, *until);
        co_await sleep_until(at, cancelled());
      }
      std::vector<directory_entry> entries;
      std::optional<error> gone;
      try {
        entries = co_await list();
      } catch (const error& failure) {
        if (failure.code() != exec_errc::not_found && failure.code() != exec_errc::not_a_directory) throw;
        gone = failure;
      }
      std::vector<file_change> changes = listing_changes(known_, entries);
      known_ = std::move(entries);
      if (!changes.empty()) co_return changes;
      if (gone) throw error(exec_errc::not_found, gone->what(), gone->cause());
    }
  }

 private:
  static constexpr std::size_t max_entries = 20'000;
  static constexpr std::size_t max_path_bytes = std::size_t{16} * 1024 * 1024;

  awaitable<std::vector<directory_entry>> list() {
    listed_at_ = std::chrono::steady_clock::now();
    list_options options = list_options().entries(max_entries).path_bytes(max_path_bytes);
    if (!options_.is_recursive()) options.depth(1);
    return files_.list(path_, options);
  }

  std::string cancelled() const { return "watch " + shown_path(path_) + ": cancelled; the watch continues"; }

  Files files_;
  std::string path_;
  watch_options options_;
  std::vector<directory_entry> known_;
  std::chrono::steady_clock::time_point listed_at_;
};

/// Starts a watch on an object with file operations.
/// \return  an empty watch if the object has no member `watch`.
template <class Files>
awaitable<directory_watch> watch_if_possible(Files& files, std::string path, watch_options options) {
  if constexpr (requires { files.watch(std::move(path), options); }) {
    return files.watch(std::move(path), options);
  } else {
    const auto none = []() -> awaitable<directory_watch> { co_return directory_watch(); };
    return none();
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
