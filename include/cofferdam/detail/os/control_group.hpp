// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/os/process_table.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// Control groups of the kernel (cgroups), version 1 and 2: limits for all processes of an environment together. See
// the kernel's admin-guide/cgroup-v1/memory.rst, cgroup-v1/pids.rst and cgroup-v2.rst.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The limits of a control group. An absent limit is not set.
class control_group_limits {
 public:
  std::optional<std::uint64_t> memory;     ///< bytes of all processes together, with their files in tmpfs
  std::optional<std::uint32_t> processes;  ///< processes and threads
  std::optional<double> cpus;              ///< processor time of all processes together, in CPUs
};

/// The directory of a control group of this process.
class control_group_place {
 public:
  std::filesystem::path directory;
  bool is_unified = false;  ///< true for a group of version 2, which may have all controllers

  bool operator==(const control_group_place&) const = default;
};

/// Returns the directories of the control groups of a process, by controller: "memory", "pids" and "cpu". A controller
/// of version 1 wins, because a controller that version 1 has is missing in version 2.
/// \param memberships  the text of /proc/self/cgroup.
/// \param mounts       the text of /proc/self/mountinfo.
inline std::map<std::string, control_group_place, std::less<>> control_group_places(std::string_view memberships,
                                                                                    std::string_view mounts) {
  const auto next_of = [](std::string_view& text, char separator) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
  };
  const auto has_word = [&](std::string_view list, std::string_view word) {
    while (!list.empty())
      if (next_of(list, ',') == word) return true;
    return false;
  };

  std::map<std::string, control_group_place, std::less<>> places;
  while (!mounts.empty()) {
    std::string_view line = next_of(mounts, '\n');
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    std::string_view source = line.substr(dash + 3);
    const std::string_view type = next_of(source, ' ');
    next_of(source, ' ');
    const std::string_view super_options = source;
    if (type != "cgroup" && type != "cgroup2") continue;
    for (int skipped = 0; skipped < 3; ++skipped) next_of(line, ' ');
    const std::string_view root = next_of(line, ' ');  // the group that is mounted
    const std::string_view point = next_of(line, ' ');

    for (const char* controller : {"memory", "pids", "cpu"}) {
      const bool is_unified = type == "cgroup2";
      if (!is_unified && !has_word(super_options, controller)) continue;
      if (is_unified && places.count(controller) != 0) continue;
      for (std::string_view rest = memberships; !rest.empty();) {
        std::string_view membership = next_of(rest, '\n');
        const std::string_view number = next_of(membership, ':');
        const std::string_view controllers = next_of(membership, ':');
        if (is_unified ? number != "0" || !controllers.empty() : !has_word(controllers, controller)) continue;
        // If another group than the root is mounted here, the path of this process's group begins with the path of that
        // group.
        std::string_view path = membership;
        if (root != "/" && path.starts_with(root)) path.remove_prefix(root.size());
        while (path.starts_with('/')) path.remove_prefix(1);
        if (path.starts_with("..")) continue;  // outside what is mounted
        control_group_place place;
        place.directory = std::filesystem::path(point);
        if (!path.empty()) place.directory /= path;
        place.is_unified = is_unified;
        places[controller] = std::move(place);
      }
    }
  }
  return places;
}

/// The control group of one environment: a directory for each hierarchy, made beneath the group of this process or, if
/// that group has no limits of its own, beside it. The destructor removes the group if its processes have ended by
/// then. Otherwise, the next control_group of any program of the same user removes it.
class control_group {
 public:
  /// Makes a control group. If it cannot be made, the result has no value and `obstacle` names the reason.
  static std::optional<control_group> make(const control_group_limits& limits, std::string& obstacle) {
    return make(limits, control_group_places(proc_text("/proc/self/cgroup"), proc_text("/proc/self/mountinfo")),
                obstacle);
  }

  /// \param places  as `control_group_places` returns them.
  static std::optional<control_group> make(const control_group_limits& limits,
                                           const std::map<std::string, control_group_place, std::less<>>& places,
                                           std::string& obstacle) {
    control_group group;
    for (const std::string_view controller : {"memory", "pids", "cpu"}) {
      if (controller == "memory" ? !limits.memory : controller == "pids" ? !limits.processes : !limits.cpus) continue;
      const auto found = places.find(controller);
      if (found == places.end()) {
        obstacle = "no hierarchy of control groups has the controller " + std::string(controller);
        return std::nullopt;
      }
      if (!group.add(found->second, controller, obstacle)) return std::nullopt;
    }
    for (const level& each : group.levels_)
      if (!each.limit(limits, obstacle)) return std::nullopt;
    return group;
  }

  control_group(control_group&&) noexcept = default;
  control_group& operator=(control_group&& other) noexcept {
    remove();
    levels_ = std::move(other.levels_);
    return *this;
  }
  ~control_group() { remove(); }

  /// Returns the descriptors for `spawn_request::control_groups`.
  std::vector<int> members() const {
    std::vector<int> files;
    for (const level& each : levels_) files.push_back(each.members.get());
    return files;
  }

  /// Returns the file with the number of processes that were killed because of the memory limit, and the path at which
  /// programs in the sandbox look for it. Both are empty without a memory limit.
  std::pair<std::filesystem::path, std::string> memory_events() const {
    for (const level& each : levels_) {
      if (!each.has_memory) continue;
      if (each.is_unified) return {each.directory / "memory.events", "/sys/fs/cgroup/memory.events"};
      return {each.directory / "memory.oom_control", "/sys/fs/cgroup/memory/memory.oom_control"};
    }
    return {};
  }

  /// Returns how many processes were killed because of the memory limit; 0 without such a limit.
  std::uint64_t memory_kills() const { return number_after("oom_kill ", text_of(memory_events().first)); }

  /// Returns how often a new process was refused because of the process limit; 0 without such a limit.
  std::uint64_t refused_processes() const {
    for (const level& each : levels_)
      if (each.has_processes) return number_after("max ", text_of(each.directory / "pids.events"));
    return 0;
  }

  /// Returns true if the group limits processes.
  bool limits_processes() const noexcept {
    return std::any_of(levels_.begin(), levels_.end(), [](const level& each) { return each.has_processes; });
  }

  /// Returns true if the group limits memory.
  bool limits_memory() const noexcept { return *memory_mechanism() != '\0'; }

  /// Returns the mechanism that limits the share of the processors, for isolation reports.
  const char* cpu_mechanism() const noexcept {
    for (const level& each : levels_)
      if (each.has_cpu) return each.is_unified ? "control group, cpu.max" : "control group, cpu.cfs_quota_us";
    return "";
  }

  /// Returns the mechanism that limits memory, for isolation reports.
  const char* memory_mechanism() const {
    for (const level& each : levels_) {
      if (!each.has_memory) continue;
      if (each.is_unified) return "control group, memory.max";
      return each.limits_sockets() ? "control group, memory.limit_in_bytes; as much again for sockets"
                                   : "control group, memory.limit_in_bytes; without the memory of sockets";
    }
    return "";
  }

  /// Removes the directories. Does nothing the second time.
  /// \return  false if processes are left in the group.
  bool remove() noexcept {
    bool is_gone = true;
    for (level& each : levels_)
      if (::rmdir(each.directory.c_str()) != 0 && errno == EBUSY) is_gone = false;
    if (is_gone) levels_.clear();
    return is_gone;
  }

 private:
  static constexpr std::string_view prefix = "cofferdam-jail-";

  /// The group in one hierarchy.
  class level {
   public:
    std::filesystem::path directory;
    unique_fd lock;     // has a shared lock (flock(2)), which the kernel releases when this program ends
    unique_fd members;  // cgroup.procs, for writing
    bool is_unified = false;
    bool has_memory = false;
    bool has_processes = false;
    bool has_cpu = false;

    static constexpr const char* socket_limit = "memory.kmem.tcp.limit_in_bytes";  // also for UDP

    /// Returns true if the memory of sockets has a limit here, in a hierarchy of version 1.
    bool limits_sockets() const {
      constexpr std::uint64_t no_limit = std::uint64_t{1} << 62;
      std::ifstream file(directory / socket_limit);
      std::uint64_t value = no_limit;
      return file >> value && value < no_limit;
    }

    bool limit(const control_group_limits& limits, std::string& obstacle) const {
      const auto set = [&](const char* file, std::uint64_t value) {
        return write_to(directory / file, std::to_string(value), obstacle);
      };
      if (has_cpu) {
        constexpr std::uint64_t period = 100'000;  // microseconds
        // The kernel accepts no quota below one millisecond.
        const std::uint64_t quota = std::max<std::uint64_t>(1000, static_cast<std::uint64_t>(*limits.cpus * period));
        if (is_unified) {
          if (!write_to(directory / "cpu.max", std::to_string(quota) + " " + std::to_string(period), obstacle))
            return false;
        } else if (!set("cpu.cfs_period_us", period) || !set("cpu.cfs_quota_us", quota)) {
          return false;
        }
      }
      if (has_memory && !is_unified) {
        // Without this setting, kernels before 5.11 do not count the memory of groups beneath this group.
        write_if_there(directory / "memory.use_hierarchy", "1");
        if (!set("memory.limit_in_bytes", *limits.memory)) return false;
        write_if_there(directory / "memory.memsw.limit_in_bytes", std::to_string(*limits.memory));
        // Version 1 counts the memory of sockets apart, and only if it has a limit.
        write_if_there(directory / socket_limit, std::to_string(*limits.memory));
      }
      if (has_memory && is_unified) {
        if (!set("memory.max", *limits.memory)) return false;
        write_if_there(directory / "memory.swap.max", "0");
      }
      return !has_processes || set("pids.max", *limits.processes);
    }
  };

  control_group() = default;

  /// Makes a group in the hierarchy of a controller, or uses the group that this object has made there for another
  /// controller.
  bool add(const control_group_place& place, std::string_view controller, std::string& obstacle) {
    for (level& each : levels_) {
      if (!each.is_unified || !place.is_unified) continue;
      write_if_there(each.directory.parent_path() / "cgroup.subtree_control", "+" + std::string(controller));
      if (!has_controller(each.directory / "cgroup.controllers", controller)) {
        obstacle = each.directory.string() + " lacks the controller " + std::string(controller);
        return false;
      }
      mark(each, controller);
      return true;
    }
    std::string first_obstacle;
    for (const std::filesystem::path& parent : parents_of(place)) {
      std::string why;
      if (add_below(parent, place.is_unified, controller, why)) return true;
      if (first_obstacle.empty()) first_obstacle = std::move(why);
    }
    obstacle = std::move(first_obstacle);
    return false;
  }

  /// Returns the groups beneath which a new group keeps every limit that this process has.
  static std::vector<std::filesystem::path> parents_of(const control_group_place& place) {
    std::vector<std::filesystem::path> parents = {place.directory};
    if (!place.is_unified) return parents;
    // In version 2, a group with processes cannot pass a controller on, unless it is the root. If the group of this
    // process has no limits, a group beside it is as good as a group beneath it.
    for (const char* file : {"memory.max", "pids.max", "memory.high", "cpu.max"}) {
      const std::string limit = text_of(place.directory / file);
      if (!limit.empty() && !limit.starts_with("max")) return parents;
    }
    if (place.directory.has_parent_path() &&
        ::access((place.directory.parent_path() / "cgroup.procs").c_str(), F_OK) == 0)
      parents.push_back(place.directory.parent_path());
    return parents;
  }

  bool add_below(const std::filesystem::path& parent, bool is_unified, std::string_view controller,
                 std::string& obstacle) {
    if (is_unified) {
      const std::filesystem::path passed_on = parent / "cgroup.subtree_control";
      if (!has_controller(passed_on, controller) && !write_to(passed_on, "+" + std::string(controller), obstacle))
        return false;
      // Needed if the number of processes is limited too; otherwise the group would lack the controller "pids".
      if (!has_controller(passed_on, "pids")) write_if_there(passed_on, "+pids");
    }
    remove_abandoned(parent);
    level made;
    made.is_unified = is_unified;
    mark(made, controller);
    // Until the lock is held, another program may take the new directory for an abandoned one and remove it. Therefore
    // there are three attempts.
    for (int attempt = 0; attempt < 3; ++attempt) {
      made.directory = parent / (std::string(prefix) + random_digits());
      if (::mkdir(made.directory.c_str(), 0755) != 0) {
        obstacle = "a group in " + one_line(parent.string()) + " cannot be made: " + reason(errno);
        return false;
      }
      made.lock.reset(::open(made.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (made.lock) ::flock(made.lock.get(), LOCK_SH | LOCK_NB);
      made.members.reset(::open((made.directory / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
      if (made.members) break;
      obstacle = "a process cannot be moved to a group in " + one_line(parent.string()) + ": " + reason(errno);
      ::rmdir(made.directory.c_str());
    }
    if (!made.members) return false;
    made.members = unique_fd::above_standard(std::move(made.members));
    levels_.push_back(std::move(made));
    return true;
  }

  static void mark(level& in, std::string_view controller) {
    (controller == "memory" ? in.has_memory : controller == "pids" ? in.has_processes : in.has_cpu) = true;
  }

  /// Removes groups that programs left behind when they were killed: nothing holds the lock of such a group. The kernel
  /// refuses to remove a group with processes.
  static void remove_abandoned(const std::filesystem::path& parent) noexcept {
    DIR* const entries = ::opendir(parent.c_str());
    if (entries == nullptr) return;
    while (const dirent* const entry = ::readdir(entries)) {
      if (!std::string_view(entry->d_name).starts_with(prefix)) continue;
      const unique_fd folder(
          ::openat(::dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0)
        ::unlinkat(::dirfd(entries), entry->d_name, AT_REMOVEDIR);
    }
    ::closedir(entries);
  }

  static std::string reason(int number) { return std::error_code(number, std::system_category()).message(); }

  static std::string text_of(const std::filesystem::path& file) { return proc_text(file.string()); }

  static bool has_controller(const std::filesystem::path& file, std::string_view controller) {
    const std::string text = " " + text_of(file);
    for (std::size_t at = text.find(controller); at != std::string::npos; at = text.find(controller, at + 1)) {
      const char after = at + controller.size() < text.size() ? text[at + controller.size()] : '\n';
      if (text[at - 1] == ' ' && (after == ' ' || after == '\n')) return true;
    }
    return false;
  }

  static std::uint64_t number_after(std::string_view key, const std::string& text) {
    std::uint64_t number = 0;
    const std::size_t at = text.find(key);
    if (at != std::string::npos) std::from_chars(text.data() + at + key.size(), text.data() + text.size(), number);
    return number;
  }

  static bool write_to(const std::filesystem::path& file, const std::string& value, std::string& obstacle) {
    const unique_fd target(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (target && ::write(target.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size())) return true;
    obstacle = one_line(file.string()) + " cannot be set to " + value + ": " + reason(errno);
    return false;
  }

  static void write_if_there(const std::filesystem::path& file, const std::string& value) {
    std::string ignored;  // a setting that may be missing; `limit` reports failures of the required settings
    write_to(file, value, ignored);
  }

  std::vector<level> levels_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
