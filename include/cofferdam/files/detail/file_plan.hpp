// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/os/directory.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A file or directory to transfer, or the reason why it cannot be transferred.
class planned_file {
 public:
  planned_file(std::string source, std::string destination, file_type type, std::uint64_t size, unsigned mode)
      : source_(std::move(source)), destination_(std::move(destination)), type_(type), size_(size), mode_(mode) {}
  planned_file(std::string source, error failure) : source_(std::move(source)), failure_(std::move(failure)) {}

  const std::string& source() const noexcept { return source_; }
  const std::string& destination() const noexcept { return destination_; }
  bool is_directory() const noexcept { return type_ == file_type::directory; }
  file_type type() const noexcept { return type_; }
  std::uint64_t size() const noexcept { return size_; }
  unsigned mode() const noexcept { return mode_; }
  const std::optional<error>& failure() const noexcept { return failure_; }

  /// Sets how the source is opened: relative to the open directory `beneath`, or by its path if `beneath` is null.
  planned_file& opened_as(std::string path, std::shared_ptr<const directory> beneath = nullptr) {
    path_ = std::move(path);
    beneath_ = std::move(beneath);
    return *this;
  }
  const std::string& path() const noexcept { return path_.empty() ? source_ : path_; }
  const std::shared_ptr<const directory>& beneath() const noexcept { return beneath_; }

 private:
  std::string source_;
  std::string destination_;
  file_type type_ = file_type::other;
  std::uint64_t size_ = 0;
  unsigned mode_ = 0;
  std::optional<error> failure_;
  std::string path_;
  std::shared_ptr<const directory> beneath_;
};

/// Returns a path with its letters in lower case, as a case-insensitive file system would compare it. Only Latin, Greek
/// and Cyrillic letters are converted.
inline std::string folded(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  while (!path.empty()) {
    const utf8_unit unit = decode_utf8(path);
    if (!unit.valid()) {
      out += path.front();
      path.remove_prefix(1);
      continue;
    }
    char32_t c = unit.code_point();
    path.remove_prefix(unit.size());
    if ((c >= U'A' && c <= U'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x391 && c <= 0x3A9) ||
        (c >= 0x410 && c <= 0x42F))
      c += 0x20;
    else if (c >= 0x400 && c <= 0x40F)
      c += 0x50;
    else if ((c >= 0x100 && c <= 0x137) || (c >= 0x14A && c <= 0x177) || (c >= 0x1E00 && c <= 0x1EFF))
      c |= 1;
    append_utf8(out, c);
  }
  return out;
}

/// The list of all files and directories to transfer. The list is complete before the transfer begins, so that invalid
/// sets are refused before anything is written.
class file_plan {
 public:
  /// The type of a function that returns true if two different source paths lead to the same file. It is null if each
  /// source has only one path.
  using same_source = bool (*)(const std::string&, const std::string&);

  explicit file_plan(const file_set& set, same_source same = nullptr)
      : same_(same), max_bytes_(set.max_bytes()), max_files_(set.max_files()) {}

  /// Adds a file, unless the plan already contains it.
  /// \throws error{exec_errc::too_large} if the plan exceeds the limits of the set; error{exec_errc::collision} if two
  ///     different files would have the same destination.
  void add(planned_file file) {
    if (!file.failure()) {
      try {
        static_cast<void>(workspace_path(file.destination()));
      } catch (const error& refusal) {
        file = planned_file(file.source(), refusal);
      }
    }
    if (file.failure()) {
      if (failed_.contains(file.source())) return;
    } else if (const auto other = taken_.find(file.destination()); other != taken_.end()) {
      if (!is_same(file, files_[other->second])) throw collision(file, files_[other->second]);
      return;
    }
    if (files_.size() == max_files_)
      throw error(exec_errc::too_large, "more files than the limit of " + std::to_string(max_files_) +
                                            "; name fewer files, or raise the limit with at_most_files()");
    if (file.size() > max_bytes_ - bytes_)
      throw error(exec_errc::too_large, "the files are larger than the limit of " + std::to_string(max_bytes_) +
                                            " bytes; name fewer files, or raise the limit with at_most()");
    bytes_ += file.size();
    if (file.failure())
      failed_.insert(file.source());
    else
      taken_.emplace(file.destination(), files_.size());
    files_.push_back(std::move(file));
  }
  void add_failure(std::string source, error reason) { add(planned_file(std::move(source), std::move(reason))); }

  /// Completes the plan. Removes directories with the default mode that contain planned files, because the receiver
  /// makes these directories anyway. Call this last.
  /// \throws error{exec_errc::collision} if one destination would be both a file and a directory.
  void settle() {
    std::unordered_set<std::string_view> filled;
    for (const auto& [path, index] : taken_) {
      const std::string_view destination = path;
      for (std::size_t slash = destination.rfind('/'); slash != std::string_view::npos;
           slash = destination.rfind('/', slash - 1)) {
        const std::string_view above = destination.substr(0, slash);
        const auto other = taken_.find(std::string(above));
        if (other != taken_.end() && !files_[other->second].is_directory())
          throw collision(files_[index], files_[other->second]);
        if (!filled.insert(above).second) break;
      }
    }
    constexpr unsigned default_mode = 0755;  // the mode that a receiver gives to missing folders of a file's path
    std::erase_if(files_, [&](const planned_file& file) {
      return !file.failure() && file.is_directory() && file.mode() == default_mode &&
             filled.contains(file.destination());
    });
    taken_.clear();
    failed_.clear();
  }

  /// Returns an error that names the first two destinations that differ only in case; no value if there are none.
  std::optional<error> case_collision() const {
    // The key is the folded path of a file or folder, and the value is the first spelling of that path.
    std::unordered_map<std::string, std::string> taken;
    for (const planned_file& file : files_) {
      if (file.failure()) continue;
      const std::string& path = file.destination();
      for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
        const std::string part = path.substr(0, end);
        const auto [other, is_new] = taken.emplace(folded(part), part);
        if (!is_new && other->second != part)
          return error(exec_errc::collision,
                       "the destinations " + shown_path(other->second) + " and " + shown_path(part) +
                           " differ only in case, which the receiving file system does not distinguish");
        if (end == std::string::npos) break;
      }
    }
    return std::nullopt;
  }

  /// Returns true if a failure during planning ends the whole transfer. Other failures concern one file only.
  static bool ends_all(const error& reason) noexcept {
    if (reason.code() == exec_errc::too_large)
      return !reason.cause();  // without a cause, the set's own limit was exceeded, not a limit of the system
    return reason.code() == exec_errc::collision || ends_everything(reason);
  }

  const std::vector<planned_file>& files() const noexcept { return files_; }
  std::uint64_t max_bytes() const noexcept { return max_bytes_; }

 private:
  bool is_same(const planned_file& a, const planned_file& b) const {
    if (a.type() != b.type()) return false;
    return a.is_directory() || a.source() == b.source() || (same_ != nullptr && same_(a.source(), b.source()));
  }

  static error collision(const planned_file& a, const planned_file& b) {
    if (a.destination() == b.destination())
      return error(exec_errc::collision, shown_path(b.source()) + " and " + shown_path(a.source()) +
                                             " would both become " + shown_path(a.destination()) +
                                             "; copy them one by one, with into()");
    return error(exec_errc::collision, shown_path(b.source()) + " would become the file " +
                                           shown_path(b.destination()) + ", where " + shown_path(a.source()) +
                                           " needs a directory");
  }

  std::vector<planned_file> files_;
  std::unordered_map<std::string, std::size_t> taken_;  // from a destination to its index in files_
  std::unordered_set<std::string> failed_;              // sources that cannot be transferred
  same_source same_;
  std::uint64_t max_bytes_;
  std::size_t max_files_;
  std::uint64_t bytes_ = 0;
};

/// Returns the last name of a path; empty for the root. Slashes at the end are ignored.
inline std::string last_name(std::string_view path) {
  const std::vector<std::string_view> parts = path_components(path);
  return parts.empty() ? std::string() : std::string(parts.back());
}

/// Returns the destination of a directory's contents: `into` if it is given, otherwise a directory of the same name.
inline std::string directory_target(const std::optional<std::string>& into, std::string_view name) {
  return into ? *into : std::string(name);
}

/// Returns the destination of a file or of a pattern's match: its path beneath `into`, if `into` is given.
inline std::string file_target(const std::optional<std::string>& into, std::string_view path) {
  return joined_path(into.value_or("."), path);
}

/// Adds all files that a `file_set` names to the plan. If an item of the set fails, the plan contains the failure.
/// \param set, plan  the caller keeps them until the awaitable completes.
/// \param add_item   `awaitable<void>(file_item)`: adds the files of one item to the plan.
template <class AddItem>
awaitable<void> plan_items(const file_set& set, file_plan& plan, AddItem add_item) {
  for (const file_item& item : set.items()) {
    std::optional<error> failure;
    try {
      co_await add_item(item);
    } catch (const error& reason) {
      if (file_plan::ends_all(reason)) throw;
      failure = reason;
    }
    if (failure) plan.add_failure(item.text(), std::move(*failure));
  }
  plan.settle();
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
