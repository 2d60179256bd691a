// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/net/tar_entry.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A check of the entries of one archive, which decides by their names and types which of them may be unpacked. The
/// entries are checked in the order of the archive.
///
/// Unpack exactly the entries that `admit` accepts into an empty directory that no other program changes. Then every
/// entry lies inside the directory, no entry is written through a link, no entry replaces another, and no link leads
/// out of the directory, not even by way of another link. This class does not look at the file system. If the directory
/// is not empty, or if a guest (code in the sandbox) can change it, use the class `directory` as well, which refuses
/// paths that lead out.
///
/// A refusal concerns one entry: the following entries may still be checked. The name of a refused entry stays taken.
/// \par Cost     time proportional to the lengths of the names, whatever the names are; memory for the last component
///               of each name and for each directory, up to a limit.
/// \par Threads  one at a time.
class tar_names {
 public:
  /// \param max_memory  maximum memory for all names, in bytes. Default 256 MiB.
  explicit tar_names(std::size_t max_memory = std::size_t{256} * 1024 * 1024) : left_(max_memory) {}

  /// Checks the next entry, and returns its name, normalized as by `workspace_path_or_root`.
  /// \throws error{exec_errc::outside_workspace}: the name is absolute, has a `..`, or lies beneath a link; or the
  ///     entry is a symbolic link whose target is absolute, has more `..` than its directory's depth, or has a `..`
  ///     after another component (in `a/../b`, `a` may be a link). error{exec_errc::collision}: an earlier entry has
  ///     the same name; only directories may be repeated. error{exec_errc::not_a_directory}: the name lies beneath a
  ///     file. error{exec_errc::not_found}: the entry is a hard link to a name that is not an earlier file.
  ///     error{exec_errc::not_a_file}: the entry is a device, a FIFO or of an unknown type.
  ///     error{exec_errc::too_large}: the archive has more names than `max_memory` allows.
  ///     error{exec_errc::invalid_argument}: the name or the target is invalid in another way.
  std::string admit(const tar_entry& entry) {
    std::string clean = workspace_path_or_root(entry.name());
    const std::vector<std::string_view> parts = detail::path_components(clean);
    if (parts.empty()) {
      if (entry.type() == tar_type::directory) return clean;
      throw error(exec_errc::collision, "the archive's root is not a directory");
    }
    const kind new_kind = kind_of(entry.type());
    // A hard link counts as refused until its target is known to be a file.
    const bool is_hard_link = entry.type() == tar_type::hard_link;
    node& own = take_name(entry.name(), parts, is_hard_link ? kind::refused : new_kind);
    if (new_kind == kind::refused)
      throw error(exec_errc::not_a_file, shown(entry) + " is a device, a FIFO or of an unknown type");
    if (new_kind == kind::link) check_symlink(entry, parts.size() - 1);
    if (is_hard_link) {
      check_hard_link(entry);
      own.what = kind::file;
    }
    return clean;
  }

 private:
  enum class kind : std::uint8_t { directory, file, link, refused };

  /// A name in a directory. A sorted map has these keys, not a hash table: a hostile archive could choose names that
  /// collide in a hash table and make it slow.
  struct place {
    std::uint64_t folder;
    std::string name;
  };
  struct place_view {
    std::uint64_t folder;
    std::string_view name;
  };
  struct order {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
      return a.folder != b.folder ? a.folder < b.folder : std::string_view(a.name) < std::string_view(b.name);
    }
  };
  struct node {
    kind what;
    std::uint64_t number;  // identifies the directory in the keys of its entries
  };
  using nodes = std::map<place, node, order>;

  static kind kind_of(tar_type type) noexcept {
    switch (type) {
      case tar_type::regular:
      case tar_type::hard_link: return kind::file;
      case tar_type::directory: return kind::directory;
      case tar_type::symlink: return kind::link;
      default: return kind::refused;
    }
  }

  static std::string shown(const tar_entry& entry) { return "the archive's entry " + detail::shown_path(entry.name()); }

  node& take_name(const std::string& name, const std::vector<std::string_view>& parts, kind new_kind) {
    node* at = nullptr;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool is_last = i + 1 == parts.size();
      const std::uint64_t folder = at == nullptr ? 0 : at->number;
      const auto found = nodes_.find(place_view{folder, parts[i]});
      if (found == nodes_.end()) {
        at = &add(folder, parts[i], is_last ? new_kind : kind::directory);
        continue;
      }
      at = &found->second;
      if (is_last) {
        if (at->what != kind::directory || new_kind != kind::directory)
          throw error(exec_errc::collision, "the archive names " + detail::shown_path(name) + " twice");
      } else if (at->what == kind::link) {
        throw error(exec_errc::outside_workspace,
                    "the archive's entry " + detail::shown_path(name) + " is below a link");
      } else if (at->what != kind::directory) {
        throw error(exec_errc::not_a_directory,
                    "the archive's entry " + detail::shown_path(name) + " is below an entry that is not a directory");
      }
    }
    return *at;
  }

  node& add(std::uint64_t folder, std::string_view name, kind what) {
    // The approximate memory of one map node, without its name, in bytes.
    constexpr std::size_t overhead = 128;
    if (left_ < overhead + name.size())
      throw error(exec_errc::too_large, "the archive has more names than the limit: raise the limit of tar_names");
    left_ -= overhead + name.size();
    return nodes_.emplace(place{folder, std::string(name)}, node{what, ++last_}).first->second;
  }

  /// Returns true if a symbolic link may lead out of the directory for unpacking.
  /// \param depth  the number of directories above the link. `take_name` has checked that all of them are directories,
  ///               not links.
  static bool leads_out(std::string_view target, std::size_t depth) {
    if (target.starts_with('/')) return true;
    std::size_t climbed = 0;
    bool went_down = false;
    for (const std::string_view part : detail::path_components(target)) {
      if (part != "..") {
        went_down = true;
      } else if (went_down || ++climbed > depth) {
        return true;
      }
    }
    return false;
  }

  static void check_symlink(const tar_entry& entry, std::size_t depth) {
    const std::string& target = entry.link();
    if (target.empty() || target.find('\0') != std::string::npos)
      throw error(exec_errc::invalid_argument, shown(entry) + " is a link to an invalid name");
    if (leads_out(target, depth))
      throw error(
          exec_errc::outside_workspace,
          shown(entry) + " is a symbolic link that may lead out of the archive: to " + detail::shown_path(target));
  }

  void check_hard_link(const tar_entry& entry) const {
    const std::string target = workspace_path(entry.link());
    std::uint64_t folder = 0;
    kind what = kind::directory;
    for (const std::string_view part : detail::path_components(target)) {
      const auto found = nodes_.find(place_view{folder, part});
      what = found == nodes_.end() ? kind::refused : found->second.what;
      // Only directories can have entries beneath them, so another kind makes the next lookup fail.
      folder = what == kind::directory ? found->second.number : no_folder;
    }
    if (what != kind::file)
      throw error(exec_errc::not_found, shown(entry) + " is a hard link to " + detail::shown_path(entry.link()) +
                                            ", which is not an earlier file of the archive");
  }

  static constexpr std::uint64_t no_folder = ~std::uint64_t{0};

  nodes nodes_;
  std::uint64_t last_ = 0;
  std::size_t left_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
