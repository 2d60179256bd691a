// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/host_environment.hpp>
#include <cofferdam/backends/jail_policies.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/guest_network.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {
class jail_settings;
template <class>
class basic_jail_place;
}  // namespace detail

template <class = void>
class basic_jail_environment;
/// The open environment of `jail`.
using jail_environment = basic_jail_environment<>;

/// An open `jail` environment: the operations of `host_environment`, and the walls. File operations are carried out
/// inside the walls.
template <class Unused>
class basic_jail_environment : public host_environment<detail::basic_jail_place<Unused>> {
 public:
  using host_environment<detail::basic_jail_place<Unused>>::host_environment;

  /// Returns the walls that were proven when the environment was opened, and the limits that hold.
  const isolation_report& isolation() const;

  /// Returns the loopback network of the jail, with which this program can reach servers that run there. With
  /// `network(network_policy::host)`, it is the loopback network of this machine.
  guest_network network() { return this->own_network(); }
};

template <class = void>
class basic_jail;
/// The name of `basic_jail<>` in programs: `jail().memory(...)`.
using jail = basic_jail<>;

/// Runs commands on this machine behind walls of the kernel, without root, a daemon or a virtual machine:
///
///     auto recipe = jail().mount_read_only("/srv/models").memory(std::size_t{2} << 30).processes(100);
///     co_await with(recipe, [](auto& env) -> awaitable<void> { ... });
///
/// Each environment is one run of bubblewrap (`bwrap`, of the system), with the warden as process 1 of its namespaces.
/// Its commands have
///
/// * user, mount, process, IPC, host name, control group and network namespaces of their own, and cannot make further
///   ones;
/// * no capabilities, no means to gain privileges, and a user id of their own (1000 inside). A program that runs as
///   root gives the jail an unprivileged user: the owner of `workspace()`, or 60991;
/// * a read-only root with /usr, the files of /etc that programs need, and the folders of the host's python3; their own
///   /proc, /dev, /tmp and /dev/shm; the workspace, and what `mount_read_only` and `mount_writable` add. Nothing else
///   of this machine is visible;
/// * no network, unless `network(network_policy::host)`;
/// * a system call filter. It is a **deny list**, detail/os/seccomp_program.hpp: it refuses what reaches other
///   processes, mounts, namespaces, modules, and parts of the kernel with a history of flaws; on x86-64 also calls of
///   the 32-bit and x32 interfaces. It also refuses to set the bits setuid and setgid, of files and folders, because it
///   cannot tell them apart: Git fails in a repository with `core.sharedRepository`, and `tar -p`, `cp -a` and
///   `chmod 755` fail for folders with setgid. `chmod 00755` clears the bit; access lists (setfacl) do without it. A
///   thread can change only its own priority, as `nice` does; `renice` of another process and
///   pthread_setschedparam(3) fail;
/// * where the kernel has Landlock 6 (Linux 6.12), no way to signal processes other than their own descendants.
///
/// `open()` proves these walls from inside before it returns. If one is missing, it throws an error with the name of
/// the wall and the remedy; it never continues with less. Not covered:
///
/// * flaws of the kernel, timing channels, and locks and leases on files that several jails read;
/// * limits of the kernel that all jails of one user share, such as the number of inotify instances, and limits of the
///   whole machine, such as the number of open files: a jail takes at most what its limit of processes allows;
/// * supplementary groups of this program's user, which count for files that are mounted;
/// * pipes (FIFOs) and Unix sockets in a folder that is mounted: a command can write to them and connect to them, also
///   where the mount is read-only;
/// * a `workspace()` or a mounted path inside a folder that another guest can write to, if a part of it is a symbolic
///   link when the option is set. Links that appear later are an error of `open()`.
///
/// Commands end as those of `local` do, and the variables are the same, with HOME and TMPDIR inside the jail. When the
/// environment closes or this program dies, the kernel ends every process in the jail. If this program is killed, a
/// process that it has forked, and that has executed no other program, keeps the jail until that process ends, too.
template <class Unused>
class basic_jail {
 public:
  /// Shows a file or folder of this machine at the same path, read-only, with all that is mounted beneath it.
  /// \param path  absolute. At `open()` it must exist, and be readable for the jail's user. It must not be in the
  ///              workspace, where commands could change it, unless the jail shows the workspace at its own path. If a
  ///              folder that commands can change is around it, they cannot rename that folder.
  basic_jail& mount_read_only(std::filesystem::path path);
  /// Shows a file or folder of this machine at the same path; commands may change it.
  /// \param path  absolute. At `open()` it must exist, and be writable for the jail's user.
  basic_jail& mount_writable(std::filesystem::path path);
  /// Covers a visible file or folder of this machine with an empty one, at each place at which the jail shows it: also
  /// where this machine has mounted a folder above it a second time. `open()` looks at these places from inside.
  /// Another hard link of the file is not covered.
  /// \param path  absolute, as this machine names it, or as the jail names it if it is inside the workspace. If it does
  ///              not exist, nothing is done.
  /// \par Limits  the kernel removes a cover when a program outside the jail renames another file over the path or
  ///              removes it, and moves the cover if the file is moved. The jail then ends: every operation fails with
  ///              error{exec_errc::environment_closed}, which has the path. No command begins, and none gets further
  ///              input, without the cover. A command that runs at that time may see the new file for some
  ///              milliseconds; if the file was moved away and made again, until it ends or wants input. The same holds
  ///              for protected names. Hide the folder in which such a file is, or do not change it while the jail is
  ///              open. A command that renames a folder with a hidden path in it ends the jail, too.
  basic_jail& hide(std::filesystem::path path);
  /// Sets the network of commands. Default: `network_policy::none`.
  basic_jail& network(network_policy policy);

  /// Limits memory, in bytes. At least 16 MiB. Default: no limit.
  ///
  /// If this program may make control groups (it runs as root, or in a group of its own, as by `systemd-run --user
  /// --scope -p Delegate=yes PROGRAM`), all processes of the environment together are limited, with their files in
  /// /tmp, in /dev/shm and in a workspace in memory; a result of `error_kind::out_of_memory` reports a process that the
  /// limit has ended. Otherwise the address space of each process is limited (RLIMIT_AS). Some programs reserve far
  /// more address space than they use, such as Node.js and Java. Shared memory of System V is then not limited; it is
  /// freed at `close()`. `isolation()` has the mechanism.
  basic_jail& memory(std::size_t max_size);
  /// Makes `open()` fail if the limit of `memory` cannot be a limit for all processes together.
  basic_jail& require_total_memory();
  /// Sets if control groups may be used for `memory`, `processes` and `cpus`. Default: true.
  basic_jail& control_groups(bool use);
  /// Limits the processor time of each process. Whole seconds, at least 1. Default: no limit. The result of a command
  /// whose first process it has ended has `error_kind::processor_time_limit`. If it has ended another process, the
  /// result has advice at most: a shell reports that by an exit code, 152 or 137, which any program can use.
  basic_jail& cpu_time(std::chrono::seconds most);
  /// Limits the processor time of all processes of the environment together, in CPUs: `cpus(1.5)` is 1.5 seconds in
  /// each second. Commands that want more are slowed down, not ended. `open()` fails if this program may not make
  /// control groups (see `memory`), because nothing else can limit it.
  /// \param count  from 0.01 to 65536. Default: no limit.
  basic_jail& cpus(double count);
  /// Limits the number of processes and threads in the environment, those of the warden included: 3, and 1 for each
  /// command that runs. At least 8, at most 4,194,304. Default: 1024. If this program may make control groups, the
  /// result of a command that failed because of this limit has `error_kind::process_limit`; not for the default.
  basic_jail& processes(std::uint32_t most);
  /// Limits the size of each file that a command writes, in bytes. Default: no limit. The result of a command whose
  /// first process it has ended has `error_kind::file_too_large`. If it has ended another process, the result has
  /// advice at most: a shell reports that by the exit code 153, which any program can use.
  basic_jail& file_size(std::uint64_t most);
  /// Limits the number of open files of each process. At least 16. Default: 1024, which a process may
  /// raise to 4096.
  basic_jail& open_files(std::uint32_t most);
  /// Limits the workspace, in bytes. It is then kept in memory, and exists only inside the jail. At least 64 KiB.
  /// Default: no limit; the workspace is a folder of this machine. The result of a command that failed when the
  /// workspace, /tmp or /dev/shm was full has `error_kind::disk_full`. The kernel does not count names, links and empty
  /// files, which also need memory; `memory()` limits that if this program may make control groups.
  basic_jail& workspace_size(std::size_t most);
  /// Limits /tmp and /dev/shm, each, in bytes. Both are kept in memory. At least 64 KiB. Default: 256 MiB, but at
  /// most a quarter of `memory`.
  basic_jail& temporary_size(std::size_t most);

  /// Sets the path of the workspace inside the jail, as in `workspace_path("/home/user")`. Absolute, and not in a
  /// folder of the system. Default: /workspace. With another path, /workspace is a link to it, unless it is mounted or
  /// hidden by another option.
  basic_jail& workspace_path(std::string path);
  /// Keeps commands from changing a file or folder of the workspace, from renaming it, and from making one of its name:
  /// a name that does not exist is an empty file that cannot be written (with a `/` at its end, an empty folder). The
  /// same holds for a folder in its path that is empty or does not exist. For files that programs outside the jail
  /// obey. Where the workspace is a directory of this machine, the stand-ins exist there too, until the last jail that
  /// protects them has closed. If this program is killed, they stay until another jail with the same names closes.
  /// \param name  relative to the workspace, without `..`; at most 24 names. At `open()` no part is a symbolic link.
  basic_jail& protect(std::string name);
  /// Protects the usual files of a project that Git, shells, editors and agents obey: .git/hooks, .git/config,
  /// .git/config.worktree, .git/modules, .git/worktrees, .gitmodules, .envrc, .vscode, .idea, .claude, .cursor and
  /// .mcp.json. Without a folder .git, none can be made. Commands cannot commit in submodules and linked worktrees.
  /// \par Limits  Git outside the jail can still run a command of the guest: through a repository in a subfolder, a
  ///              file `.git/commondir`, or a bare repository (HEAD, objects, refs, config) in the workspace itself.
  ///              Look at such a workspace with another user, or in a jail.
  basic_jail& protect_project_files();
  /// Sets an existing directory as the workspace, instead of a new one, and does not remove it. A program that is
  /// killed while it replaces a file may leave a file `.cofferdam-NUMBER` there.
  basic_jail& workspace(std::filesystem::path folder);
  /// Sets the parent of the private folder; it is made if it is missing. Default: TMPDIR, else /tmp.
  basic_jail& temporary_base(std::filesystem::path folder);
  /// Sets the shell for lines, as an absolute path; it must accept `-c -- LINE`. Default: bash, else /bin/sh.
  basic_jail& shell(std::string path);
  /// Sets the time limit of commands without one. Default: 5 minutes; `no_timeout` for none.
  basic_jail& default_timeout(std::chrono::milliseconds limit);
  /// Sets the time from SIGTERM to SIGKILL. Default: 500 ms; zero or more.
  basic_jail& kill_grace(std::chrono::milliseconds time);
  /// Sets how long a background child may continue to write after the command has ended. Default: 100 ms; zero or more.
  basic_jail& output_grace(std::chrono::milliseconds time);
  /// Sets the path of bubblewrap. Default: the first `bwrap` on this program's PATH that only root can change.
  basic_jail& bubblewrap(std::filesystem::path program);
  /// Uses Landlock as if the kernel had at most this ABI; 0: not at all. For tests.
  basic_jail& landlock(unsigned abi);
  /// Sets a text that `open()` adds to an error about walls that cannot be built: the other choices of this program's
  /// user, one on each line. Default: none.
  basic_jail& alternatives(std::string lines);

  /// \throws error{exec_errc::provider_failed} if bubblewrap is missing, if a wall cannot be built or is not proven, if
  ///     a limit that is required cannot be set, if a mounted path does not exist or was replaced meanwhile, or if
  ///     there is no shell; error{exec_errc::invalid_argument} for options that contradict each other, such as
  ///     `protect` and a `mount_writable` of the same folder, for a mount that another one would cover, and for a link
  ///     to the root of this machine; error{exec_errc::provider_failed} also for a virtual environment in a folder that
  ///     commands can change, unless only root can change its Python, or a mount names it.
  awaitable<jail_environment> open() const;

 private:
  static awaitable<jail_environment> open_with(std::shared_ptr<const detail::jail_settings> settings);

  template <class Change>
  basic_jail& with(Change change);

  static std::shared_ptr<const detail::jail_settings> defaults();

  std::shared_ptr<const detail::jail_settings> settings_ = defaults();
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/impl/jail.ipp>
#endif
