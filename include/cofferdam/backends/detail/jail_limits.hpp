// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/process_limits.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/control_group.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/warden/warden_settings.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/types.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The limits of a jail, or of `local`.
class jail_limits {
 public:
  jail_limits() = default;
  /// Makes the limits of `local`. Its commands share the counters of the kernel with all processes of this program's
  /// user, so the number of processes is limited by a control group only. Nothing is limited by default.
  explicit jail_limits(const process_limits& limits)
      : of_jail(false),
        memory(limits.memory()),
        processes(limits.processes()),
        file_size(limits.file_size()),
        open_files(limits.open_files()) {
    if (limits.cpu_time()) cpu_seconds = static_cast<std::uint64_t>(limits.cpu_time()->count());
  }

  bool of_jail = true;
  std::optional<std::uint64_t> memory;  ///< bytes
  bool uses_control_groups = true;
  bool requires_total_memory = false;  ///< open() fails if `memory` cannot be limited in total
  std::optional<std::uint64_t> cpu_seconds;
  std::optional<double> cpus;
  std::optional<std::uint32_t> processes;
  static constexpr std::uint32_t default_processes = 1024;
  std::optional<std::uint64_t> file_size;  ///< bytes
  std::optional<std::uint32_t> open_files;
  static constexpr std::uint32_t usual_open_files = 1024;
  static constexpr std::uint32_t default_open_files = 4096;
  std::optional<std::size_t> workspace_size;  ///< bytes
  std::optional<std::size_t> temporary_size;  ///< bytes

  /// Returns the size of /tmp and of /dev/shm. The default leaves room for processes, because the memory limit counts
  /// the files too: with a full /tmp, every further command would be ended.
  std::size_t max_temporary_size() const noexcept {
    constexpr std::size_t usual = std::size_t{256} << 20;
    return temporary_size.value_or(memory ? std::min<std::size_t>(usual, *memory / 4) : usual);
  }

  std::uint32_t max_processes() const noexcept { return processes.value_or(default_processes); }

  /// Returns the limits that the warden sets for each process. A lower limit of this program stays.
  /// \param group  the control group of the jail, or null. What it limits in total is not limited for each process.
  std::vector<warden_limit> for_each_process(const control_group* group) const {
    std::vector<warden_limit> limits;
    const auto set = [&limits](int resource, std::uint64_t soft, std::uint64_t hard) {
      rlimit present{};
      if (::getrlimit(resource, &present) == 0) {
        soft = std::min<std::uint64_t>(soft, present.rlim_max);
        hard = std::min<std::uint64_t>(hard, present.rlim_max);
      }
      limits.emplace_back(resource, soft, hard);
    };
    // The address space is limited only for want of something better: Node.js and Java reserve far more than they use.
    if (memory && (group == nullptr || !group->limits_memory())) set(RLIMIT_AS, *memory, *memory);
    if (cpu_seconds) set(RLIMIT_CPU, *cpu_seconds, *cpu_seconds + 1);  // SIGXCPU, and SIGKILL a second later
    // With a group, the group's own limit is reached first, because the kernel counts refusals only there.
    const std::uint32_t room = group != nullptr && group->limits_processes() ? 8 : 0;
    if (of_jail) set(RLIMIT_NPROC, max_processes() + room, max_processes() + room);
    if (file_size) set(RLIMIT_FSIZE, *file_size, *file_size);
    // Descriptors that wait in Unix sockets count for the user, and a process may add some while they are fewer than
    // its own limit. So the limit of commands is lower than the warden's, which passes descriptors too.
    if (of_jail || open_files)
      set(RLIMIT_NOFILE, open_files.value_or(usual_open_files), open_files.value_or(default_open_files));
    return limits;
  }

  /// Describes the limits of memory, processor time, files and open files. Without a limit, adds nothing.
  void describe(isolation_report& report, const control_group* group) const {
    const auto bytes_of = [](std::uint64_t most) { return std::to_string(most) + " bytes"; };
    if (memory)
      report.set(isolation_kind::memory,
                 bytes_of(*memory) + (group != nullptr && group->limits_memory()
                                          ? std::string(" in all (") + group->memory_mechanism() + ")"
                                          : std::string(" per process (RLIMIT_AS), no total")));
    if (cpu_seconds)
      report.set(isolation_kind::processor_time,
                 std::to_string(*cpu_seconds) + " s per process (RLIMIT_CPU), no total");
    if (file_size) report.set(isolation_kind::disk, bytes_of(*file_size) + " per file (RLIMIT_FSIZE)");
    if (open_files)
      report.set(isolation_kind::open_files, std::to_string(*open_files) + " per process (RLIMIT_NOFILE)");
    if (group != nullptr && group->limits_processes())
      report.set(isolation_kind::process_count,
                 std::to_string(max_processes()) + " in all, with the warden's (control group, pids.max)");
  }
};

/// Makes the control group of a jail, if memory, processes or CPUs are limited and this machine allows it; otherwise
/// null.
/// \param obstacle  receives the reason why something could not be limited; unchanged otherwise.
/// \throws error{exec_errc::provider_failed} if a required total memory limit, or the limit of CPUs, cannot be set;
///     error{exec_errc::invalid_argument} for options that contradict each other.
inline std::shared_ptr<control_group> group_for(const jail_limits& limits, std::string& obstacle) {
  if (limits.requires_total_memory && !limits.memory)
    throw error(exec_errc::invalid_argument, "jail: require_total_memory() needs a limit: memory(BYTES)");
  if (limits.requires_total_memory && !limits.uses_control_groups)
    throw error(exec_errc::invalid_argument,
                "jail: require_total_memory() and control_groups(false) exclude each other");
  if (limits.cpus && !limits.uses_control_groups)
    throw error(exec_errc::invalid_argument, "jail: cpus() and control_groups(false) exclude each other");
  if (!limits.uses_control_groups || (!limits.memory && !limits.processes && !limits.cpus)) return nullptr;
  control_group_limits in_total;
  in_total.memory = limits.memory;
  // bubblewrap itself waits outside of the jail, as one more process of the group.
  if (limits.of_jail || limits.processes) in_total.processes = limits.max_processes() + (limits.of_jail ? 1 : 0);
  in_total.cpus = limits.cpus;
  std::optional<control_group> group = control_group::make(in_total, obstacle);
  if (!group && (limits.memory || limits.cpus)) {  // perhaps only the limit of processes is impossible
    in_total.processes.reset();
    std::string ignored;
    group = control_group::make(in_total, ignored);
  }
  if (!group && limits.cpus && limits.memory && !limits.requires_total_memory) {  // perhaps only that of memory is
    in_total.memory.reset();
    group = control_group::make(in_total, obstacle);
  }
  if (group) return std::make_shared<control_group>(std::move(*group));
  if (limits.cpus)
    throw error(exec_errc::provider_failed,
                "jail: cpus(): " + obstacle +
                    "; run this program as root, or in a control group of its own (systemd-run --user --scope -p "
                    "Delegate=yes PROGRAM), or leave out cpus()");
  if (limits.requires_total_memory)
    throw error(exec_errc::provider_failed,
                "jail: require_total_memory(): " + obstacle +
                    "; run this program as root, or in a control group of its own (systemd-run --user --scope -p "
                    "Delegate=yes PROGRAM), or leave out require_total_memory() and limit each process");
  return nullptr;
}

/// Sets the kind of a result if one of the jail's limits has ended the command. Explains the loss of the warden.
class jail_limit_watch {
 public:
  /// \param group  the control group of the jail, or null.
  jail_limit_watch(jail_limits limits, std::shared_ptr<const control_group> group)
      : limits_(std::move(limits)), group_(std::move(group)), refused_(refused_processes()) {}

  /// Adds the folders of the jail that are kept in memory. Before this call, `disk_full` is not found.
  /// \param inside          a process of the jail, by the host's number.
  /// \param workspace_path  the path of the workspace inside.
  void add_folders(pid_t inside, const std::string& workspace_path) {
    std::vector<std::string> names = {"/tmp", "/dev/shm"};
    if (limits_.workspace_size) names.push_back(workspace_path);
    for (std::string& name : names) {
      const std::string path = "/proc/" + std::to_string(inside) + "/root" + name;
      unique_fd fd = unique_fd::above_standard(unique_fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
      if (fd) folders_.emplace_back(std::move(name), std::move(fd));
    }
  }

  /// Closes the folders: an open one keeps the memory of its files. `disk_full` is not found any more.
  void forget_folders() noexcept { folders_.clear(); }

  /// See `warden_settings::explain_loss`. A command can make itself as unlikely a victim as the warden when the memory
  /// of the jail runs out.
  error explain_loss(const error& reason) const {
    if (!group_ || group_->memory_kills() == 0) return reason;
    return error(exec_errc::provider_lost,
                 std::string(limits_.of_jail ? "jail: " : "local: ") + reason.what() +
                     "; the kernel has killed processes of the environment because its memory limit was reached; "
                     "process less data at a time, or raise the limit by memory()",
                 make_error_code(std::errc::not_enough_memory));
  }

  /// See `warden_settings::explain_end`.
  void explain(command_result& result) {
    const std::uint64_t refused = refused_processes();
    const bool was_refused = refused > refused_;
    refused_ = refused;
    if (result.ok()) return;
    if (limits_.file_size && result.term_signal() == SIGXFSZ) {
      result.kind(error_kind::file_too_large);
      result.reason("The command was ended because it made a file larger than " + max_file() + " (RLIMIT_FSIZE)");
      result.advice(less_writing);
    } else if (limits_.cpu_seconds && (result.term_signal() == SIGXCPU || result.term_signal() == SIGKILL) &&
               has_used_its_time(result)) {
      result.kind(error_kind::processor_time_limit);
      result.reason("The command was ended because a process had used its " + max_time() + " (RLIMIT_CPU)");
      result.advice(less_work);
    } else if (was_refused) {
      result.kind(error_kind::process_limit);
      result.reason("The command failed, and a new process was refused while it ran: there may be " +
                    std::to_string(limits_.max_processes()) + " processes and threads (control group, pids.max)");
      result.advice("Start fewer processes at once, or end those in the background.");
    } else if (const std::string* const folder = full_folder(); folder != nullptr && result.exit_code() > 0) {
      result.kind(error_kind::disk_full);
      result.reason("The command failed, and " + *folder + " is full (tmpfs)");
      result.advice("Remove files in " + *folder + ", or write less.");
    } else if (limits_.file_size && result.exit_code() == 128 + SIGXFSZ) {
      // A shell reports the signal of a child so, and any program can exit with the same code. So there is no kind.
      result.advice("Exit code 153 usually means that a process made a file larger than " + max_file() +
                    " (RLIMIT_FSIZE). " + less_writing);
    } else if (limits_.cpu_seconds && (result.exit_code() == 128 + SIGXCPU || result.exit_code() == 128 + SIGKILL) &&
               has_used_its_time(result)) {
      result.advice("Exit code " + std::to_string(result.exit_code()) + " usually means that a process had used its " +
                    max_time() + " (RLIMIT_CPU). " + less_work);
    }
  }

 private:
  static constexpr const char* less_writing = "Write less, or several smaller files.";
  static constexpr const char* less_work = "Do less work in one command.";

  std::string max_file() const { return std::to_string(*limits_.file_size) + " bytes"; }
  std::string max_time() const { return std::to_string(*limits_.cpu_seconds) + " s of processor time"; }

  /// The kernel compares another clock with the limit than the one it reports, so half of the limit is enough.
  bool has_used_its_time(const command_result& result) const {
    const std::chrono::milliseconds limit = std::chrono::seconds(*limits_.cpu_seconds);
    return result.cpu_time() && *result.cpu_time() >= limit / 2;
  }

  std::uint64_t refused_processes() const { return group_ ? group_->refused_processes() : 0; }

  /// Returns the name of a folder without free space, or null.
  const std::string* full_folder() const {
    for (const auto& [name, fd] : folders_) {
      struct statvfs state {};
      if (::fstatvfs(fd.get(), &state) == 0 && state.f_blocks != 0 && state.f_bavail == 0) return &name;
    }
    return nullptr;
  }

  jail_limits limits_;
  std::shared_ptr<const control_group> group_;
  std::vector<std::pair<std::string, unique_fd>> folders_;
  std::uint64_t refused_;  // processes, until the last result
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
