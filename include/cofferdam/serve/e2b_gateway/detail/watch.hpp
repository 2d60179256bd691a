// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/directory_entry.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// A change in a watched directory.
class file_event {
 public:
  file_event(const char* type, std::string name, const directory_entry* now)
      : type_(type), name_(std::move(name)), has_entry_(now != nullptr) {
    if (now != nullptr) now_ = *now;
  }
  const char* type() const noexcept { return type_; }
  /// Returns the path of the changed entry, relative to the watched directory.
  const std::string& name() const noexcept { return name_; }
  /// Returns the entry after the change; null if it was removed.
  const directory_entry* now() const noexcept { return has_entry_ ? &now_ : nullptr; }

 private:
  const char* type_;
  std::string name_;
  directory_entry now_;
  bool has_entry_;
};

/// A watched directory. Its changes are found by comparing two listings. A moved file counts as removed and created. If
/// a file was rewritten and its size and mode are the same as before, the change is not detected.
class directory_watch {
 public:
  directory_watch(std::string path, bool is_recursive, bool with_entries)
      : path_(std::move(path)), is_recursive_(is_recursive), with_entries_(with_entries) {}

  /// Returns the path of the directory in the workspace.
  const std::string& path() const noexcept { return path_; }
  bool is_recursive() const noexcept { return is_recursive_; }
  bool with_entries() const noexcept { return with_entries_; }

  /// Compares a listing with the listing of the previous call.
  /// \param listed  the entries that exist now, at most as deep as the directory is watched.
  /// \return        the changes since the previous call; nothing at the first call.
  std::vector<file_event> look(const std::vector<directory_entry>& listed) {
    std::map<std::string, directory_entry, std::less<>> now;
    for (const directory_entry& entry : listed) now.emplace(entry.path(), entry);
    std::vector<file_event> events;
    if (has_looked_) {
      for (const auto& [name, old] : known_)
        if (!now.contains(name)) events.emplace_back("EVENT_TYPE_REMOVE", name, nullptr);
      for (const auto& [name, entry] : now) compare(name, entry, events);
    }
    known_ = std::move(now);
    has_looked_ = true;
    return events;
  }

 private:
  void compare(const std::string& name, const directory_entry& entry, std::vector<file_event>& events) const {
    const auto old = known_.find(name);
    if (old == known_.end()) {
      events.emplace_back("EVENT_TYPE_CREATE", name, &entry);
      if (entry.is_regular()) events.emplace_back("EVENT_TYPE_WRITE", name, &entry);
    } else if (old->second.type() != entry.type()) {
      events.emplace_back("EVENT_TYPE_REMOVE", name, nullptr);
      events.emplace_back("EVENT_TYPE_CREATE", name, &entry);
    } else {
      if (old->second.size() != entry.size()) events.emplace_back("EVENT_TYPE_WRITE", name, &entry);
      if (old->second.mode() != entry.mode()) events.emplace_back("EVENT_TYPE_CHMOD", name, &entry);
    }
  }

  std::string path_;
  bool is_recursive_;
  bool with_entries_;
  bool has_looked_ = false;
  std::map<std::string, directory_entry, std::less<>> known_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
