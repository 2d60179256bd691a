// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/directory_watch.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/sleep.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// An event in a watched directory, as clients get it.
class file_event {
 public:
  file_event(const char* type, std::string name) : type_(type), name_(std::move(name)) {}
  const char* type() const noexcept { return type_; }
  /// Returns the path of the changed entry, relative to the watched directory.
  const std::string& name() const noexcept { return name_; }

 private:
  const char* type_;
  std::string name_;
};

/// Converts changes to the events of envd, E2B's daemon in a sandbox. A rename is two events.
/// \par Source  envd's filesystem.proto and its observed events (specs/e2b.md, section 5).
inline std::vector<file_event> events_of(const std::vector<file_change>& changes) {
  std::vector<file_event> events;
  events.reserve(changes.size());
  for (const file_change& change : changes) {
    switch (change.kind()) {
      case change_kind::created: events.emplace_back("EVENT_TYPE_CREATE", change.path()); break;
      case change_kind::written: events.emplace_back("EVENT_TYPE_WRITE", change.path()); break;
      case change_kind::removed: events.emplace_back("EVENT_TYPE_REMOVE", change.path()); break;
      case change_kind::attributes: events.emplace_back("EVENT_TYPE_CHMOD", change.path()); break;
      case change_kind::renamed:
        events.emplace_back("EVENT_TYPE_RENAME", change.from());
        events.emplace_back("EVENT_TYPE_CREATE", change.path());
        break;
    }
  }
  return events;
}

/// A watch of a directory for a client. One call at a time is allowed.
class served_watch {
 public:
  served_watch(std::string path, bool with_entries, directory_watch watch)
      : path_(std::move(path)), with_entries_(with_entries), watch_(std::move(watch)) {}

  /// Returns the path of the directory in the workspace.
  const std::string& path() const noexcept { return path_; }
  bool with_entries() const noexcept { return with_entries_; }
  bool lists() const noexcept { return watch_.lists(); }

  /// Returns the events so far. If there are none, waits for some.
  /// \param limit  the maximum time to wait; 0 to return at once.
  /// \return  empty if there are none within the time. After the end of the directory there are none.
  /// \throws error{exec_errc::too_large} if events were lost.
  awaitable<std::vector<file_event>> next(std::chrono::milliseconds limit) {
    std::vector<file_event> events;
    if (!has_ended_) {
      try {
        const std::vector<file_change> changes = co_await watch_.next(limit);
        events = events_of(changes);
        co_return events;
      } catch (const error& failure) {
        if (failure.code() != exec_errc::not_found) throw;
        has_ended_ = true;
      }
    }
    if (limit.count() > 0) co_await pause(limit);
    co_return events;
  }

  static awaitable<void> pause(std::chrono::milliseconds time) {
    return cofferdam::detail::sleep_for(time, "watch: cancelled");
  }

 private:
  std::string path_;
  bool with_entries_;
  directory_watch watch_;
  bool has_ended_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
