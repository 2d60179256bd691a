// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/jail_mounts.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The proof of a jail's walls: what a command inside sees, or the kernel shows of process 1, and the first wall that is
// missing. Sans-I/O.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The namespaces that a jail has for itself, as /proc names them.
inline constexpr auto jail_namespaces =
    std::to_array<std::string_view>({"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"});

/// The shell line of the proof: the status of process 1 and of a command, the interfaces, the mounts, the namespaces,
/// and the names in the root.
inline std::string walls_script() {
  std::string line = "cat /proc/1/status /proc/self/status /proc/net/dev /proc/self/mountinfo && readlink";
  for (const std::string_view name : jail_namespaces) line.append(" /proc/self/ns/").append(name);
  line += " && cd / && printf 'root /%s\\n' * .[!.]*";
  return line;
}

/// The walls that a jail must have.
class wanted_walls {
 public:
  std::map<std::string, std::string, std::less<>> host_namespaces;  ///< the host's, by name, as `net:[4026531840]`
  bool has_network = false;
  std::size_t processes = 2;           ///< the number of processes whose status is shown
  std::string user_id;                 ///< the only one
  std::string group_id;                ///< the same
  std::vector<std::string> visible;    ///< paths, with all that is beneath them
  std::vector<std::string> writable;   ///< the same
  std::vector<std::string> read_only;  ///< paths at which the last mount must be read-only
  std::vector<std::string> covered;    ///< paths at which there must be a mount
};

/// A wall that does not stand.
class missing_wall {
 public:
  std::string name;
  std::string seen;
};

/// The output of the command that proves the walls, or the same facts as the host's /proc shows them.
class seen_walls {
 public:
  explicit seen_walls(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      take(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
  }

  /// Returns the first missing wall; empty if all stand.
  std::optional<missing_wall> missing(const wanted_walls& wanted) const {
    if (processes_.size() != wanted.processes) return missing_wall{"proof", "not every status was shown"};
    for (const std::string_view name : jail_namespaces) {
      if (name == "net" && wanted.has_network) continue;
      const auto inside = namespaces_.find(name);
      const auto outside = wanted.host_namespaces.find(name);
      if (inside == namespaces_.end() || inside->second.empty() || outside == wanted.host_namespaces.end())
        return missing_wall{std::string(name) + " namespace", "it could not be compared with the host's"};
      if (inside->second == outside->second)
        return missing_wall{std::string(name) + " namespace", "it is the host's, " + inside->second};
    }
    for (const fields& process : processes_)
      if (std::optional<missing_wall> found = missing_of(process, wanted)) return found;
    if (interfaces_.empty()) return missing_wall{"network", "the interfaces were not shown"};
    for (const std::string& name : interfaces_)
      if (name != "lo" && !wanted.has_network) return missing_wall{"network", "there is an interface " + name};
    if (std::optional<missing_wall> found = missing_mount(wanted)) return found;
    if (names_.empty()) return missing_wall{"private root", "the names in it were not shown"};
    for (const std::string& name : names_)
      if (!is_parent_or_beneath(name, wanted.visible)) return missing_wall{"private root", name + " is visible"};
    return std::nullopt;
  }

 private:
  using fields = std::map<std::string, std::string, std::less<>>;

  class mount {
   public:
    std::string point;
    std::string kind;
    bool is_read_only = false;
    bool is_private = true;  // false: it receives mounts that other namespaces make, or passes on its own
  };

  void take(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (const std::size_t bracket = line.find(":["); bracket != std::string_view::npos && words.size() == 1) {
      namespaces_.emplace(line.substr(0, bracket), line);
    } else if (line.starts_with("root ")) {
      names_.emplace_back(line.substr(5));
    } else if (const std::size_t dash = line.find(" - "); dash != std::string_view::npos && words.size() >= 8) {
      mount one;
      one.point = unescaped_mount_path(words[4]);
      const std::string_view options = words[5];
      one.is_read_only = options == "ro" || options.starts_with("ro,");
      one.is_private = line.find(" master:") >= dash && line.find(" shared:") >= dash;
      one.kind = std::string(words_of(line.substr(dash + 3)).front());
      mounts_.push_back(std::move(one));
    } else if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
      take_field(line.substr(0, colon), line.substr(colon + 1));
    }
  }

  void take_field(std::string_view name, std::string_view value) {
    if (name.starts_with(' ') || (!processes_.empty() && !value.starts_with('\t'))) {  // /proc/net/dev
      name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
      interfaces_.emplace_back(name);
      return;
    }
    if (name == "Name") processes_.emplace_back();
    if (!processes_.empty()) processes_.back().emplace(name, value);
  }

  static std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    for (;;) {
      const std::size_t start = line.find_first_not_of(" \t");
      if (start == std::string_view::npos) return words;
      line.remove_prefix(start);
      const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
      words.push_back(line.substr(0, end));
      line.remove_prefix(end);
    }
  }

  static std::optional<missing_wall> missing_of(const fields& process, const wanted_walls& wanted) {
    const auto words = [&process](std::string_view name) {
      const auto found = process.find(name);
      return found == process.end() ? std::vector<std::string_view>() : words_of(found->second);
    };
    const auto is = [&words](std::string_view name, std::string_view value) {
      const std::vector<std::string_view> seen = words(name);
      return !seen.empty() && std::all_of(seen.begin(), seen.end(), [&](std::string_view one) { return one == value; });
    };
    const auto shown = [&words](std::string_view name) {
      std::string text(name);
      for (const std::string_view one : words(name)) text.append(" ").append(one);
      return text;
    };
    if (!is("NoNewPrivs", "1")) return missing_wall{"no new privileges", shown("NoNewPrivs")};
    if (!is("Seccomp", "2")) return missing_wall{"system call filter", shown("Seccomp")};
    for (const std::string_view name : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
      if (!is(name, "0000000000000000")) return missing_wall{"no capabilities", shown(name)};
    if (!is("Uid", wanted.user_id)) return missing_wall{"own user", shown("Uid")};
    if (!is("Gid", wanted.group_id)) return missing_wall{"own user", shown("Gid")};
    return std::nullopt;
  }

  std::optional<missing_wall> missing_mount(const wanted_walls& wanted) const {
    bool has_root = false;
    for (const mount& one : mounts_) {
      if (one.point == "/") {
        has_root = true;
        if (one.kind != "tmpfs") return missing_wall{"private root", "it is of the kind " + one.kind};
      } else if (!is_beneath_any(one.point, wanted.visible)) {
        return missing_wall{"private root", one_line(one.point) + " is mounted"};
      }
      if (!one.is_private) return missing_wall{"own mounts", one_line(one.point) + " receives mounts of this machine"};
      if (!one.is_read_only && !is_beneath_any(one.point, wanted.writable))
        return missing_wall{"read-only root", one_line(one.point) + " is writable"};
    }
    for (const std::string& path : wanted.read_only) {
      // The last mount at the path or above it is the one that commands see.
      const auto seen = std::find_if(mounts_.rbegin(), mounts_.rend(), [&](const mount& one) {
        return one.point == "/" || is_beneath_any(path, {one.point});
      });
      if (seen == mounts_.rend() || !seen->is_read_only)
        return missing_wall{"read-only path", one_line(path) + " is writable"};
    }
    for (const std::string& path : wanted.covered)
      if (std::none_of(mounts_.begin(), mounts_.end(), [&](const mount& one) { return one.point == path; }))
        return missing_wall{"covered path", one_line(path) + " has no mount"};
    if (!has_root) return missing_wall{"private root", "it is not among the mounts"};
    return std::nullopt;
  }

  static bool is_beneath_any(std::string_view path, const std::vector<std::string>& folders) {
    return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
      return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
    });
  }

  static bool is_parent_or_beneath(std::string_view path, const std::vector<std::string>& folders) {
    if (is_beneath_any(path, folders)) return true;
    return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
      return folder.starts_with(path) && folder.size() > path.size() && folder[path.size()] == '/';
    });
  }

  std::vector<fields> processes_;
  std::vector<std::string> interfaces_;
  std::vector<mount> mounts_;
  std::map<std::string, std::string, std::less<>> namespaces_;
  std::vector<std::string> names_;
};

/// Returns a command for the user to copy, on a line of its own.
inline std::string copied_line(std::string_view command) { return "\n    " + std::string(command); }

/// Returns what to do about a failure of bubblewrap, by what it printed.
inline std::string bubblewrap_advice(std::string_view complaint) {
  const auto says = [complaint](std::string_view words) { return complaint.find(words) != std::string_view::npos; };
  if (says("Unknown option")) return "this bubblewrap is too old: install version 0.8.0 or newer";
  if (says("setting up uid map") || says("RTM_NEWADDR"))
    return "AppArmor seems to restrict user namespaces (Ubuntu 24.04); allow them to bubblewrap:" +
           copied_line(
               "printf '%s\\n' 'abi <abi/4.0>,' 'include <tunables/global>' 'profile bwrap /usr/bin/bwrap "
               "flags=(unconfined) { userns, }' | sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r "
               "/etc/apparmor.d/bwrap");
  if (says("namespace"))
    return "this system seems to refuse user namespaces; allow them (in a container: allow the call unshare; in a "
           "chroot they are never allowed):" +
           copied_line("sudo sysctl -e kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000");
  if (says("Can't find source path") || says("Can't bind mount") || says("Can't get type of source"))
    return "the jail's user cannot reach this path: change the modes of its folders, or name another path";
  return "run `bwrap --ro-bind / / --unshare-user --disable-userns true` to see whether bubblewrap works here";
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
