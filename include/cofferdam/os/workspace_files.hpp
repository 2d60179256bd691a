// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/directory_watch.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/callable_ref.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/os/atomic_file.hpp>
#include <cofferdam/detail/os/file_reader.hpp>
#include <cofferdam/detail/os/tree_walk.hpp>
#include <cofferdam/os/directory.hpp>

#include <asio/cancellation_state.hpp>
#include <asio/post.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// The maximum number of bytes to read or write before other work on the executor may run.
inline constexpr std::size_t file_turn = 1024 * 1024;

/// The maximum number of names to list or remove before other work on the executor may run.
inline constexpr std::size_t names_a_turn = 512;

/// The maximum time for which operations that follow one another keep a thread from other work.
inline constexpr std::chrono::milliseconds time_of_turns{5};

/// Returns true if this function has not returned true on this thread for `time_of_turns`. The caller then lets other
/// work on the executor run. The function is never inlined, because clang would keep the address of the thread's
/// variable in a coroutine that continues on another thread.
[[gnu::noinline]] inline bool is_others_turn() noexcept {
  thread_local std::chrono::steady_clock::time_point last;
  const std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now();
  if (now - last < time_of_turns) return false;
  last = now;
  return true;
}

/// Throws error{exec_errc::cancelled} if a coroutine was cancelled.
/// \param doing  the operation, for the error message.
inline void throw_if_cancelled(const asio::cancellation_state& state, const std::string& doing) {
  if (state.cancelled() != asio::cancellation_type::none) throw error(exec_errc::cancelled, doing + ": cancelled");
}

/// Lets other work on the executor run. Throws error{exec_errc::cancelled} if the coroutine was cancelled.
/// \param doing  the operation, for the error message.
template <class Unused = void>
awaitable<void> yield_turn(std::string doing) {
  co_await asio::post(await_in<Unused>);
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  throw_if_cancelled(state, doing);
}

/// Removes a tree step by step, and lets other work on the executor run in between.
/// \param removal  kept by the caller until the awaitable completes.
/// \param doing    the operation, for error messages.
/// \param until    the time at which to give up. Default: never.
/// \return         true if everything was removed; false if `until` was reached first.
template <class = void>
awaitable<bool> remove_in_turns(
    tree_removal& removal, std::string doing,
    std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max()) {
  while (std::chrono::steady_clock::now() < until) {
    if (removal.step(names_a_turn)) co_return true;
    co_await yield_turn(doing);
  }
  co_return false;
}

template <class = void>
class basic_directory_source;
using directory_source = basic_directory_source<>;

/// A source that reads files of a directory one after another, for `put_files` of another environment.
template <class Unused>
class basic_directory_source final : public file_source {
 public:
  /// \param root   the directory.
  /// \param above  the absolute path of the directory, which the requested paths may have.
  basic_directory_source(std::shared_ptr<const directory> root, std::string above, std::vector<file_request> requests)
      : root_(std::move(root)), above_(std::move(above)), requests_(std::move(requests)) {}

  awaitable<std::optional<file_header>> next() override {
    reader_.reset();
    if (at_ == requests_.size()) co_return std::nullopt;
    const file_request& request = requests_[at_++];
    if (is_others_turn()) co_await yield_turn("read '" + request.path() + "'");
    std::optional<file_header> header;
    try {
      const std::string path = workspace_path_or_root(request.path(), above_);
      const directory_entry found = root_->stat(path);
      if (found.is_directory()) {
        header.emplace(request.path(), request.destination(), file_type::directory, 0, found.mode());
      } else {
        reader_.emplace(root_->open_file(path));
        header.emplace(request.path(), request.destination(), file_type::regular, reader_->size(), reader_->mode());
      }
    } catch (const error& failure) {
      header.emplace(request.path(), failure);
    }
    co_return header;
  }

  awaitable<bytes> read(std::size_t max_bytes) override {
    if (!reader_) co_return bytes();
    co_await yield_turn("read '" + reader_->path() + "'");
    co_return reader_->read(std::min(max_bytes, file_turn));
  }

 private:
  std::shared_ptr<const directory> root_;
  std::string above_;
  std::vector<file_request> requests_;
  std::size_t at_ = 0;
  std::optional<file_reader> reader_;
};

}  // namespace detail

template <class = void>
class basic_workspace_files;
/// The name of `basic_workspace_files<>` in programs.
using workspace_files = basic_workspace_files<>;

/// The files of a workspace on this machine. It has the file operations of an environment, for backends whose guests
/// (the code in a sandbox) work in a directory of the host. The kernel resolves each path beneath an open directory
/// descriptor, so a guest that renames or replaces entries at the same time cannot lead an operation out of the
/// workspace. An operation works in turns: it processes at most 1 MiB or 512 names, then lets other work run. Short
/// operations that follow one another let other work run every 5 ms.
/// \par Threads  one executor at a time. After `share`, operations may run on any executor, except for `watch` and
///               `watch_by`, which run on the strand.
template <class Unused>
class basic_workspace_files {
 public:
  /// \param root      the workspace directory.
  /// \param path      the absolute path of the workspace as the guest sees it. Absolute paths beneath it are accepted
  ///                  like relative paths.
  /// \param staging   the directory for unfinished files, on the same file system. No value means the directory of each
  ///                  file.
  basic_workspace_files(directory root, std::string path, std::optional<directory> staging)
      : root_(std::make_shared<const directory>(std::move(root))),
        path_(std::move(path)),
        staging_(std::move(staging)) {}

  /// Returns the workspace directory.
  const directory& root() const noexcept { return *root_; }

  /// Returns a path relative to the root, or "." for the root itself.
  /// \param path  relative, or absolute and beneath the path of the workspace in the guest.
  std::string beneath(std::string_view path) const { return workspace_path_or_root(path, path_); }

  /// Lets operations run on any executor. Each turn of an operation runs where its caller runs if the strand is free,
  /// and otherwise on the strand. So no turn runs at the same time as another turn, or as a function of the strand.
  /// Sources from `get_files` take no turns, because they use only descriptors of their own.
  /// \param home   the strand of the environment.
  /// \param check  called at the beginning of each turn; it throws if the environment is closed.
  void share(const detail::home_strand& home, std::function<void()> check) {
    shared_.emplace(home);
    check_ = std::move(check);
  }

  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    std::optional<detail::file_reader> reader;
    bytes content;
    const auto step = [&] {
      if (!reader) {
        reader.emplace(root_->open_file(workspace_path(path, path_)));
        if (reader->size() <= detail::file_turn) {
          content = reader->read_rest(max_bytes);
          return true;
        }
        if (reader->size() > max_bytes) throw reader->larger_than(max_bytes);
        content.reserve(reader->size());
      }
      const bytes piece = reader->read(detail::file_turn);
      if (piece.size() > max_bytes - content.size()) throw reader->larger_than(max_bytes);
      content.insert(content.end(), piece.begin(), piece.end());
      return piece.empty();
    };
    if (!in_one_turn(step)) co_await in_more_turns("read", path, step);
    co_return content;
  }

  awaitable<void> write_file(std::string path, bytes_view content) {
    std::optional<detail::atomic_file> file;
    const auto step = [&] {
      if (!file) file.emplace(create(workspace_path(path, path_)));
      const bytes_view piece = content.first(std::min(content.size(), detail::file_turn));
      file->write(piece);
      content = content.subspan(piece.size());
      if (content.empty()) file->commit();
      return content.empty();
    };
    if (!in_one_turn(step)) co_await in_more_turns("write", path, step);
  }

  awaitable<directory_entry> stat(std::string path) {
    std::optional<directory_entry> found;
    const auto step = [&] {
      found.emplace(root_->stat(beneath(path)));
      return true;
    };
    if (!in_one_turn(step)) co_await in_more_turns("stat", path, step);
    co_return std::move(*found);
  }

  awaitable<std::vector<directory_entry>> list(std::string path, list_options options = list_options()) {
    std::optional<detail::tree_walk> walk;
    std::vector<directory_entry> entries;
    const auto step = [&] {
      if (!walk) walk.emplace(root_->walk(beneath(path), options));
      for (std::size_t names = 0; names < detail::names_a_turn; ++names) {
        std::optional<directory_entry> found = walk->next();
        if (!found) {
          directory::sort_entries(entries);
          return true;
        }
        entries.push_back(std::move(*found));
      }
      return false;
    };
    if (!in_one_turn(step)) co_await in_more_turns("list", path, step);
    co_return entries;
  }

  awaitable<void> make_directory(std::string path) {
    const auto step = [&] {
      root_->make_directory(beneath(path));
      return true;
    };
    if (!in_one_turn(step)) co_await in_more_turns("make directory", path, step);
  }

  awaitable<void> remove(std::string path) {
    std::optional<detail::tree_removal> removal;
    const auto step = [&] {
      if (!removal) removal.emplace(root_->removal(workspace_path(path, path_)));
      return removal->step(detail::names_a_turn);
    };
    if (!in_one_turn(step)) co_await in_more_turns("remove", path, step);
  }

  awaitable<void> rename(std::string from, std::string to) {
    const auto step = [&] {
      root_->rename(workspace_path(from, path_), workspace_path(to, path_));
      return true;
    };
    if (!in_one_turn(step)) co_await in_more_turns("rename", from, step);
  }

  awaitable<transfer_result> put_files(file_source& source) {
    const auto is_open = [] { return true; };  // the check of a turn, before the source is used
    if (!in_one_turn(is_open)) co_await in_more_turns("write", ".", is_open);
    const auto put = [this, &source](const file_header& header) { return put_one(source, header); };
    transfer_result report = co_await detail::put_each(source, put);
    co_return report;
  }

  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    const auto is_open = [] { return true; };  // the check of a turn
    const std::string first = requests.empty() ? "." : requests.front().path();
    if (!in_one_turn(is_open)) co_await in_more_turns("read", first, is_open);
    co_return std::make_unique<detail::directory_source>(root_, path_, std::move(requests));
  }

  /// Sets the object that watches directories for this one. Without it, `watch` returns an empty watch.
  /// \param files  the same files, for example as a warden (the helper program in a sandbox) reaches them; null: none.
  void watch_by(std::shared_ptr<file_system::implementation> files) noexcept { watcher_ = std::move(files); }
  /// Returns true if such an object has been set.
  bool can_watch() const noexcept { return static_cast<bool>(watcher_); }

  /// Watches a directory through the object of `watch_by`, as `file_system::watch` describes.
  /// \param path  the directory; "." is the whole workspace.
  /// \param options  the depth of the watch.
  /// \return  an empty watch if there is no such object.
  awaitable<directory_watch> watch(std::string path, watch_options options) {
    const std::string clean = beneath(path);
    directory_watch begun;
    if (watcher_) begun = co_await watcher_->watch(clean, options);
    is_watched_ = is_watched_ || begun;
    co_return begun;
  }

 private:
  detail::atomic_file create(const std::string& path) const {
    detail::atomic_file file = staging_ ? root_->create_file(path, *staging_) : root_->create_file(path);
    if (is_watched_) file.rename_always();
    return file;
  }

  awaitable<transferred_file> put_one(file_source& source, const file_header& header) {
    std::string clean;
    std::optional<detail::atomic_file> file;
    const auto begin = [&] {
      clean = workspace_path(header.destination(), path_);
      if (header.type() == file_type::directory) {
        root_->make_directory(clean);
        root_->set_mode(clean, header.mode());
      } else {
        file.emplace(create(clean));
      }
      return true;
    };
    if (!in_one_turn(begin)) co_await in_more_turns("write", header.destination(), begin);
    std::uint64_t size = 0;
    while (file) {
      const bytes piece = co_await source.read(detail::file_turn);
      const auto put = [&] {
        if (piece.empty())
          file->commit(header.mode());
        else
          file->write(piece);
        return true;
      };
      if (!in_one_turn(put)) co_await in_more_turns("write", header.destination(), put);
      if (piece.empty()) break;
      size += piece.size();
    }
    co_return transferred_file(header.source(), clean, size);
  }

  /// Calls `turn` and returns true, or returns false at once if the strand is not free.
  bool takes_turn(detail::callable_ref<void()> turn) const {
    if (shared_) return shared_->try_look(turn);
    turn();
    return true;
  }

  /// Calls `step` once, unless the strand is not free or it is the turn of other work. Returns true if the operation
  /// has ended, because `step` has returned true. Otherwise the caller awaits `in_more_turns`.
  bool in_one_turn(detail::callable_ref<bool()> step) const {
    if (detail::is_others_turn()) return false;
    bool done = false;
    const auto turn = [&] { done = checked(step); };
    return takes_turn(turn) && done;
  }

  /// Calls `step` until it returns true, each time in a turn of its own.
  /// \param doing, path  the operation, for the error of a cancellation; the caller keeps the path.
  awaitable<void> in_more_turns(const char* doing, std::string_view path, detail::callable_ref<bool()> step) const {
    const std::string operation = std::string(doing) + " '" + std::string(path) + "'";
    bool done = false;
    const auto turn = [&] { done = checked(step); };
    do {
      co_await detail::yield_turn(operation);
      if (takes_turn(turn)) continue;
      co_await shared_->run([&turn] { return in_coroutine(turn); });
      if (done) co_return;
      // Otherwise Asio would throw an error of its own at the next co_await.
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      detail::throw_if_cancelled(state, operation);
    } while (!done);
  }

  bool checked(detail::callable_ref<bool()> step) const {
    if (check_) check_();
    return step();
  }

  static awaitable<void> in_coroutine(detail::callable_ref<void()> turn) {
    turn();
    co_return;
  }

  std::shared_ptr<const directory> root_;
  std::string path_;
  std::optional<directory> staging_;
  std::shared_ptr<file_system::implementation> watcher_;
  bool is_watched_ = false;  // true from the first watch on
  std::optional<detail::home_strand> shared_;
  std::function<void()> check_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
