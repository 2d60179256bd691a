// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/directory_watch.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/os/path_error.hpp>
#include <cofferdam/warden/detail/file_requests.hpp>
#include <cofferdam/warden/detail/protocol.hpp>
#include <cofferdam/warden/detail/warden_command.hpp>

#include <asio/any_io_executor.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Converts the errno of a watch to an error. The message of an exceeded limit has the name of the kernel's setting.
inline error watch_error(int number, std::string_view doing, std::string_view path) {
  const std::string what = std::string(doing) + " " + shown_path(path) + ": ";
  const std::error_code cause(number, std::system_category());
  switch (number) {
    case EMFILE:
      return error(exec_errc::too_large,
                   what + "the user has too many inotify instances; raise fs.inotify.max_user_instances", cause);
    case ENOSPC:
      return error(exec_errc::too_large,
                   what + "the user watches too many directories; raise fs.inotify.max_user_watches", cause);
    case EUSERS:
      return error(exec_errc::too_large,
                   what + "the environment has " + std::to_string(wire::max_watches) + " watches; end one of them",
                   cause);
    case EFBIG:
      return error(exec_errc::too_large,
                   what + "more than " + std::to_string(wire::max_watched_directories) +
                       " watched directories in the environment; watch a smaller part of the tree",
                   cause);
    default: return path_error(number, doing, path);
  }
}

template <class = void>
class basic_warden_changes;
using warden_changes = basic_warden_changes<>;

/// The changes in one watched directory that have arrived from the warden (the helper program in a sandbox), and were
/// not taken yet. All members are called on one executor.
template <class Unused>
class basic_warden_changes final : public change_sink {
 public:
  /// The number of bytes of changes that the warden may send before the first `watch_credit`.
  static constexpr std::uint32_t window = 256 * 1024;

  basic_warden_changes(const asio::any_io_executor& executor, std::string path)
      : path_(std::move(path)), changed_(executor) {}

  const std::string& path() const noexcept { return path_; }

  void take(const wire::frame& arrived) override {
    const std::size_t size = arrived.payload().size();
    if (size > credit_ + wire::max_payload) throw wire::violation("more changes than were requested");
    credit_ -= std::min(credit_, size);
    wire::payload_reader values(arrived);
    while (!values.empty()) take(wire::change(values));
    changed_.notify();
  }

  void lose(const error& reason) override {
    if (!end_) end_ = reason;
    changed_.notify();
  }

  /// Returns true if `taken` will return changes or throw.
  bool has_some() const noexcept { return !waiting_.empty() || end_; }

  /// Returns the error that has ended the watch; no value if it continues.
  const std::optional<error>& end() const noexcept { return end_; }

  /// Returns all changes before the next error.
  /// \throws error  the next error, if no change precedes it.
  std::vector<file_change> taken() {
    std::vector<file_change> changes;
    while (!waiting_.empty() && std::holds_alternative<file_change>(waiting_.front())) {
      changes.push_back(std::move(std::get<file_change>(waiting_.front())));
      waiting_.pop_front();
    }
    if (!changes.empty()) return changes;
    if (!waiting_.empty()) {
      const loss first = std::move(std::get<loss>(waiting_.front()));
      waiting_.pop_front();
      unread_losses_.erase(std::find(unread_losses_.begin(), unread_losses_.end(), first.number));
      throw lost(first);
    }
    if (end_) throw *end_;
    return changes;
  }

  /// Returns the credit that the warden has to get, and counts it as sent. Nothing may be waiting.
  /// \param least  the smallest credit to return; if there is less, returns 0.
  std::uint32_t refill(std::uint32_t least) noexcept {
    const std::uint32_t more = window - static_cast<std::uint32_t>(credit_);
    if (more < least) return 0;
    credit_ = window;
    return more;
  }

  async_event& changed() noexcept { return changed_; }

 private:
  /// A place where changes are missing: the number and the path of `change_kind::lost`.
  struct loss {
    int number;
    std::string path;
  };

  void take(wire::change one) {
    if (end_) return;
    switch (one.kind) {
      case wire::change_kind::created: return add(change_kind::created, one);
      case wire::change_kind::written: return add(change_kind::written, one);
      case wire::change_kind::removed: return add(change_kind::removed, one);
      case wire::change_kind::renamed: return add(change_kind::renamed, one);
      case wire::change_kind::attributes: return add(change_kind::attributes, one);
      case wire::change_kind::lost: add_loss(one); return;
      case wire::change_kind::ended:
        end_ = error(exec_errc::not_found,
                     "watch " + shown_path(path_) + ": the directory was removed, moved or replaced");
        return;
    }
  }
  void add(change_kind kind, wire::change& one) {
    waiting_.emplace_back(std::in_place_type<file_change>, kind, std::move(one.path), one.is_directory,
                          std::move(one.from));
  }
  /// Adds an error, unless one with the same cause still waits to be read. The caller will list the directory after
  /// that one, so the listing contains what is missing here, too. The warden reports each directory that it cannot
  /// watch, and a tree may have thousands of them.
  void add_loss(wire::change& one) {
    if (std::find(unread_losses_.begin(), unread_losses_.end(), one.number) != unread_losses_.end()) return;
    unread_losses_.push_back(one.number);
    waiting_.emplace_back(loss{one.number, std::move(one.path)});
  }
  error lost(const loss& one) const {
    if (one.number == 0)
      return error(exec_errc::too_large,
                   "watch " + shown_path(path_) +
                       ": changes were lost, because they came faster than they were read; list the directory again");
    const error cause = watch_error(one.number, "watch", one.path.empty() ? path_ : path_ + "/" + one.path);
    return error(exec_errc::too_large, std::string("changes were lost: ") + cause.what(), cause.cause());
  }

  std::string path_;
  async_event changed_;
  std::deque<std::variant<file_change, loss>> waiting_;
  std::vector<int> unread_losses_;  // the numbers of the losses in `waiting_`, each once
  std::optional<error> end_;
  std::size_t credit_ = window;
};

template <class = void>
class basic_warden_watch;
using warden_watch = basic_warden_watch<>;

/// A watch of a directory by the warden.
template <class Unused>
class basic_warden_watch final : public directory_watch::implementation {
 public:
  /// Begins a watch.
  /// \param path  relative to the root of the warden's files.
  static awaitable<directory_watch> begin(std::shared_ptr<frame_sink> sink, std::shared_ptr<file_requests> requests,
                                          std::string path, bool is_recursive) {
    auto begun = std::make_unique<basic_warden_watch>(std::move(sink), std::move(requests), std::move(path));
    constexpr std::uint8_t yes = 1;
    constexpr std::uint8_t no = 0;
    wire::frame_writer frame(wire::frame_type::watch, begun->number_);
    frame.text(begun->changes_->path()).number(is_recursive ? yes : no).number(warden_changes::window);
    bytes whole = frame.take();
    std::shared_ptr<file_requests::sent> pending =
        co_await begun->requests_->send(*begun->sink_, begun->number_, std::move(whole));
    begun->is_sent_ = true;
    const file_answer answer = co_await begun->requests_->answer(std::move(pending));
    if (answer.number != 0) begun->is_sent_ = false;
    if (answer.number == ENOSYS) co_return directory_watch();
    if (answer.number != 0) throw watch_error(answer.number, "watch", begun->changes_->path());
    co_return directory_watch(std::move(begun));
  }

  basic_warden_watch(std::shared_ptr<frame_sink> sink, std::shared_ptr<file_requests> requests, std::string path)
      : sink_(std::move(sink)),
        requests_(std::move(requests)),
        number_(requests_->number()),
        changes_(std::make_shared<warden_changes>(requests_->executor(), std::move(path))) {
    requests_->add_watch(number_, changes_);
  }
  ~basic_warden_watch() override {
    requests_->end_watch(number_);
    if (!is_sent_ || changes_->end()) return;
    try {
      requests_->send_now(*sink_, number_, wire::frame_writer(wire::frame_type::watch_end, number_).take());
    } catch (const std::bad_alloc&) {  // no memory for the request: the watch ends with the session
    }
  }

  awaitable<std::vector<file_change>> next(std::optional<std::chrono::milliseconds> limit) override {
    using clock = async_event::clock;
    const bool at_once = limit && limit->count() <= 0;
    const clock::time_point until = limit ? clock::now() + *limit : async_event::never;
    // The answer to a credit comes after all changes that have happened before.
    if (at_once && !changes_->end()) {
      wire::frame_writer frame(wire::frame_type::watch_credit, number_);
      bytes whole = frame.number(changes_->refill(0)).take();
      std::shared_ptr<file_requests::sent> pending = co_await requests_->send(*sink_, number_, std::move(whole));
      co_await requests_->answer(std::move(pending));
    }
    while (!changes_->has_some() && !at_once) {
      const wait_result woken = co_await changes_->changed().wait(until);
      if (changes_->has_some() || woken == wait_result::timed_out) break;
      if (woken == wait_result::cancelled)
        throw error(exec_errc::cancelled, "watch " + shown_path(changes_->path()) + ": cancelled; the watch continues");
    }
    std::vector<file_change> changes = changes_->taken();
    if (changes_->has_some() || changes_->end()) co_return changes;
    if (const std::uint32_t more = changes_->refill(warden_changes::window / 2); more != 0)
      requests_->send_now(*sink_, number_,
                          wire::frame_writer(wire::frame_type::watch_credit, number_).number(more).take());
    co_return changes;
  }

 private:
  std::shared_ptr<frame_sink> sink_;
  std::shared_ptr<file_requests> requests_;
  std::uint32_t number_;
  std::shared_ptr<warden_changes> changes_;
  bool is_sent_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
