// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>
#include <cofferdam/detail/files/glob.hpp>
#include <cofferdam/files/detail/file_plan.hpp>
#include <cofferdam/files/file_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The part of a file's workspace path that becomes its path at the destination.
enum class kept_path {
  /// As for `upload`: the name of a file, the name of a directory and the paths in it, or the path of a pattern's match
  /// below the folders that come before the first `*`, `?` or `[`.
  name,
  whole,  ///< as for `download`: the whole path in the workspace
};

template <class = void>
class basic_guest_planner;
using guest_planner = basic_guest_planner<>;

/// A planner that finds the files of a `file_set` in an environment's workspace.
template <class Unused>
class basic_guest_planner {
 public:
  /// \param guest, set  the caller keeps them as long as this object.
  basic_guest_planner(const files_getter& guest, const file_set& set, kept_path kept)
      : guest_(guest), set_(set), kept_(kept), plan_(set) {}

  /// Makes the whole plan. This object must live until the awaitable completes.
  awaitable<void> plan() {
    co_await plan_items(set_, plan_, [this](const file_item& item) { return add_item(item); });
    lists_.clear();
  }
  file_plan& result() noexcept { return plan_; }

 private:
  awaitable<void> add_item(file_item item) {
    const std::string& text = item.text();
    if (item.naming() == file_naming::pattern) {
      co_await add_matches(text);
      co_return;
    }
    std::optional<directory_entry> found;
    std::optional<error> missing;
    try {
      const file_system guest_files = guest_();
      directory_entry there = co_await guest_files.stat(text);
      found.emplace(std::move(there));
    } catch (const error& failure) {
      const bool is_missing = failure.code() == exec_errc::not_found || failure.code() == exec_errc::not_a_directory ||
                              failure.code() == exec_errc::outside_workspace;
      if (!is_missing || item.naming() == file_naming::exact || !glob::is_pattern(text)) throw;
    }
    if (found)
      co_await add_named(std::move(*found));
    else
      co_await add_matches(text);
  }

  awaitable<void> add_named(directory_entry found) {
    // The entry's path may be spelled in another way than the item. This is the normalized path in the workspace.
    const std::string path = workspace_path_or_root(found.path());
    const std::string name = last_name(path);
    if (found.type() == file_type::symlink) {  // a symbolic link that the caller named directly is followed
      bool leads_to_directory = true;
      try {
        co_await load_list(path);
      } catch (const error& failure) {
        if (failure.code() != exec_errc::not_a_directory) throw;
        leads_to_directory = false;
      }
      const directory_entry target(path, leads_to_directory ? file_type::directory : file_type::regular, 0, 0644);
      found = target;
    }
    if (found.is_directory()) {
      if (path == "." && kept_ == kept_path::name && !set_.into())
        throw error(exec_errc::invalid_argument,
                    "copy '.': the workspace has no name; set its destination with into()");
      std::string target = directory_target(set_.into(), name);
      if (kept_ == kept_path::whole) target = file_target(set_.into(), path);
      co_await add_tree(path, target, found.mode());
      co_return;
    }
    add_entry(found, path, file_target(set_.into(), kept_ == kept_path::whole ? path : name), true);
  }

  awaitable<void> add_matches(std::string pattern) {
    const glob matcher(pattern);
    std::string base = ".";
    if (!matcher.prefix().empty()) base = workspace_path_or_root(matcher.prefix());
    bool is_there = true;
    try {
      co_await load_list(base);
    } catch (const error& failure) {
      if (failure.code() != exec_errc::not_found && failure.code() != exec_errc::not_a_directory) throw;
      is_there = false;
    }
    if (!is_there) throw no_match(pattern);
    bool matched = false;
    const std::vector<directory_entry>& entries = lists_.at(base);
    for (const directory_entry& found : entries) {
      if (!matcher.matches(found.path())) continue;
      matched = true;
      const std::string path = joined_path(base, found.path());
      const std::string target = file_target(set_.into(), kept_ == kept_path::whole ? path : found.path());
      add_entry(found, path, target, false);
      if (!found.is_directory() || matcher.matches_whole_trees()) continue;
      const std::string below = found.path() + "/";
      for (auto inner = std::lower_bound(entries.begin(), entries.end(), below,
                                         [](const directory_entry& a, const std::string& b) { return a.path() < b; });
           inner != entries.end() && inner->path().starts_with(below); ++inner)
        add_entry(*inner, joined_path(base, inner->path()), joined_path(target, inner->path().substr(below.size())),
                  false);
    }
    if (!matched) throw no_match(pattern);
  }

  static error no_match(std::string_view pattern) {
    return error(exec_errc::not_found,
                 "fetch " + shown_path(pattern) + ": nothing in the workspace matches the pattern");
  }

  awaitable<void> add_tree(std::string path, std::string target, unsigned mode) {
    co_await load_list(path);
    if (target != ".") add_directory(path, target, mode);
    for (const directory_entry& found : lists_.at(path))
      add_entry(found, joined_path(path, found.path()), joined_path(target, found.path()), false);
  }

  // Lists each directory only once, even if several items need it. Sorts the entries, because an environment returns
  // them in any order.
  awaitable<void> load_list(std::string path) {
    if (lists_.contains(path)) co_return;
    const list_options options = list_options().entries(std::max(set_.max_files(), file_set::default_files));
    const file_system guest_files = guest_();
    std::vector<directory_entry> entries = co_await guest_files.list(path, options);
    for (const directory_entry& found : entries) static_cast<void>(checked(found));
    std::sort(entries.begin(), entries.end(),
              [](const directory_entry& a, const directory_entry& b) { return a.path() < b.path(); });
    lists_.emplace(std::move(path), std::move(entries));
  }

  // Checks the path of an entry. Code in the environment controls these names, and they must not lead out of the
  // directory.
  static const directory_entry& checked(const directory_entry& found) {
    if (path_components(found.path()).empty() || found.path().front() == '/')
      throw error(exec_errc::io_error,
                  "the environment listed " + shown_path(found.path()) + ", which is not a valid name");
    for (const std::string_view part : path_components(found.path()))
      if (part == "..")
        throw error(exec_errc::io_error,
                    "the environment listed " + shown_path(found.path()) + ", which is not a valid name");
    return found;
  }

  void add_entry(const directory_entry& found, const std::string& source, const std::string& target, bool is_named) {
    switch (found.type()) {
      case file_type::directory: add_directory(source, target, found.mode()); break;
      case file_type::regular:
        plan_.add(planned_file(source, target, file_type::regular, found.size(), found.mode()));
        break;
      case file_type::symlink:
        if (is_named || set_.follows_symlinks())
          plan_.add(planned_file(source, target, file_type::regular, 0, 0644));
        else
          plan_.add_failure(source,
                            error(exec_errc::not_a_file,
                                  "fetch " + shown_path(source) +
                                      ": it is a symbolic link; links are followed only with follow_symlinks()"));
        break;
      case file_type::other:
        plan_.add_failure(
            source, error(exec_errc::not_a_file, "fetch " + shown_path(source) + ": it is a FIFO, socket or device"));
        break;
    }
  }

  void add_directory(const std::string& source, const std::string& target, unsigned mode) {
    constexpr unsigned needed = 0700;  // without these bits, no file could be written into the directory
    plan_.add(planned_file(source, target, file_type::directory, 0, (mode & 0777U) | needed));
  }

  const files_getter& guest_;
  const file_set& set_;
  kept_path kept_;
  file_plan plan_;
  std::map<std::string, std::vector<directory_entry>> lists_;
};

template <class = void>
class basic_guest_source;
using guest_source = basic_guest_source<>;

/// A source that reads the files of a plan from an environment's workspace, one after another.
template <class Unused>
class basic_guest_source final : public file_source {
 public:
  /// \param guest, plan  the caller keeps them as long as this object.
  basic_guest_source(const files_getter& guest, const file_plan& plan)
      : guest_(guest), plan_(plan), left_(plan.max_bytes()) {}

  awaitable<std::optional<file_header>> next() override {
    is_open_ = false;
    if (at_ == plan_.files().size()) co_return std::nullopt;
    const planned_file& file = plan_.files()[at_++];
    current_ = &file;
    std::optional<file_header> header;
    if (file.failure()) {
      header.emplace(file.source(), *file.failure());
    } else if (file.is_directory()) {
      header.emplace(file.source(), file.destination(), file_type::directory, 0, file.mode());
    } else {
      try {
        co_await open(header);
      } catch (const error& failure) {
        if (ends_everything(failure)) throw;
        header.emplace(file.source(), failure);
      }
    }
    co_return header;
  }

  awaitable<bytes> read(std::size_t max_bytes) override {
    bytes piece;
    if (!is_open_ || max_bytes == 0) co_return piece;
    piece = co_await inner_->read(max_bytes);
    if (piece.size() > left_) {
      is_open_ = false;
      throw error(exec_errc::too_large,
                  "fetch " + shown_path(current_->source()) +
                      ": the files are larger than the limit in total; raise the limit with at_most()");
    }
    left_ -= piece.size();
    co_return piece;
  }

 private:
  awaitable<void> open(std::optional<file_header>& header) {
    const planned_file& file = *current_;
    if (!inner_) {
      std::vector<file_request> requests;
      for (const planned_file& planned : plan_.files())
        if (!planned.failure() && !planned.is_directory())
          requests.emplace_back(planned.source(), planned.destination());
      const file_system guest_files = guest_();
      inner_ = co_await guest_files.get_files(std::move(requests));
    }
    header = co_await inner_->next();
    if (!header)
      throw error(exec_errc::io_error, "fetch " + shown_path(file.source()) + ": the environment sent too few files");
    if (header->failure()) {
      const error reason = *header->failure();
      header.emplace(file.source(), reason);
      co_return;
    }
    if (header->type() != file_type::regular || header->destination() != file.destination())
      throw error(exec_errc::io_error, "fetch " + shown_path(file.source()) + ": the environment sent another file");
    const std::uint64_t size = header->size();
    const unsigned mode = header->mode() & 0777U;
    header.emplace(file.source(), file.destination(), file_type::regular, size, mode);
    is_open_ = true;
  }

  const files_getter& guest_;
  const file_plan& plan_;
  std::uint64_t left_;
  std::size_t at_ = 0;
  const planned_file* current_ = nullptr;
  std::unique_ptr<file_source> inner_;
  bool is_open_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
