// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/host_environment.hpp>
#include <cofferdam/backends/local_policies.hpp>
#include <cofferdam/backends/process_limits.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/warden/tracing_policy.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {
class local_settings;
template <class>
class basic_local_place;
}  // namespace detail

template <class = void>
class basic_local_environment;
/// The open environment of `local`.
using local_environment = basic_local_environment<>;

/// An open `local` environment: the operations of `host_environment`, and the folder. A file system that a command of
/// root has mounted in the folder is never emptied: `close()` reports the mount.
template <class Unused>
class basic_local_environment : public host_environment<detail::basic_local_place<Unused>> {
 public:
  using host_environment<detail::basic_local_place<Unused>>::host_environment;

  /// Returns the workspace's folder on this machine.
  const std::filesystem::path& workspace() const;
};

template <class = void>
class basic_local;
/// The name of `basic_local<>` in programs: `local()`.
using local = basic_local<>;

/// Runs commands on this machine, as the user of the program, in a private temporary folder. **No isolation**: only for
/// code that you trust. Warns about this once in each program.
///
/// Commands are started by a warden, a small program of this library. The end of a command, its time limit,
/// cancellation, `close()` and the death of this program end all processes that the command has started, even if they
/// try to escape. Commands can gain no privileges (no `sudo`, no `su`, no `ping` with file capabilities), and a filter
/// (seccomp) keeps them from changing the limits and the priority of other processes, which would disarm the warden.
/// Drawbacks: `prlimit --pid N`, `renice`, pthread_setschedparam(3) and new threads with a policy of their own fail
/// with EPERM, also for a command's own number (`ulimit` and `nice` work), and container runtimes inside a command may
/// not start. Commands of root can still slow the warden down, by a real-time priority of their own.
///
/// Commands run as the same user as this program. Their access to this program depends on the kernel's Landlock. From
/// Linux 6.12 on a command can signal and trace only its own descendants. From 5.19 on it can trace only its own
/// descendants, and cannot mount file systems, but it may kill this program, the warden and other commands. The only
/// guarantee is then: all processes of a command are ended, unless the command kills this program first. Before 5.19 it
/// can also read this program's memory and environment, including API keys, from /proc: `isolation()` then has
/// "readable" for `isolation_kind::secrets`. `undumpable()` helps there; debuggers do not work in commands there unless
/// `tracing(tracing_policy::allowed)`. Commands that run as root can read this program's environment (from Linux 6.13
/// on also past Landlock), and much else that no kernel keeps from root.
///
/// When memory is short, the kernel ends commands first: they start with an `oom_score_adj` of 500, or with this
/// program's if that is higher. This is a default and not enforced: a command may lower its own score, to the lowest
/// score that a privileged process has set for this program (usually 0). It may also raise the score of this program,
/// so that the kernel ends this program first; `undumpable()` prevents that. With both `undumpable()` and
/// `warden_policy::never`, commands start with this program's score.
///
/// Only processes that descend from a command end with it. A process that an outside helper starts for a command is not
/// covered: a tmux or screen server of yours that runs already, cron, at, `systemd-run`, a Docker or Podman daemon, an
/// SSH server. Landlock does not keep commands from sockets that have a path. For code that may use such helpers take
/// `docker`, or run this program as a user without access to them.
///
/// SIGKILL does not end a process that waits in the kernel for a file system without an answer. A command can make such
/// a process: in a user namespace of its own it may mount a FUSE file system, whose server then waits for that same
/// file system. A dead NFS server has the same effect. `run_command` then waits on past the time limit of the command;
/// cancelled, it throws `error{exec_errc::provider_lost}` after the grace and 3 s. `close()` throws
/// `error{exec_errc::provider_lost}`, which lists the process, after the grace and 5 s. The process stays until an
/// administrator aborts the file system's connection, for FUSE as root in /sys/fs/fuse/connections. Kernels without
/// user namespaces for ordinary users, and Landlock domains of Linux 5.19 to 6.11, refuse the mount.
///
/// A program that forks without exec keeps the warden alive with it. A command's environment is built from nothing:
/// PATH (the system folders), HOME (the workspace), SHELL, LANG, TERM, TMPDIR, and what the command adds; standard
/// input is /dev/null; descriptors, signal state and umask of the program do not leak into it.
///
/// A command is finished when it ends: its remaining processes delay the result by at most `output_grace`, and are then
/// killed.
template <class Unused>
class basic_local {
 public:
  /// Sets the parent of the private folder; it is made if it is missing. Default: TMPDIR, else /tmp.
  basic_local& temporary_base(std::filesystem::path folder);
  /// Sets an existing directory as the workspace, instead of a new one, and does not remove it. A program that is
  /// killed while it replaces a file may leave a file `.cofferdam-NUMBER` there.
  basic_local& workspace(std::filesystem::path folder);
  /// Sets the shell for lines, as an absolute path; it must accept `-c -- LINE`. Default: bash, else /bin/sh.
  basic_local& shell(std::string path);
  /// Sets the time limit of commands without one. Default: 5 minutes; `no_timeout` for none.
  basic_local& default_timeout(std::chrono::milliseconds limit);
  /// Sets the time from SIGTERM to SIGKILL. Default: 500 ms; zero or more.
  basic_local& kill_grace(std::chrono::milliseconds time);
  /// Sets how long a background child may continue to write after the command has ended. Default: 100 ms; zero or more.
  basic_local& output_grace(std::chrono::milliseconds time);
  /// Sets limits of what commands may use. Default: none. They are limits for errors and accidents, and no wall: a
  /// command has the rights of this program's user. `isolation()` of a result has the mechanism of each limit, and a
  /// command that a limit has ended has the kind of the limit, as in `jail`. Limits need a warden: `open()` fails if it
  /// cannot start one. `open()` throws error{exec_errc::unsupported} for a limit of processes if this program may not
  /// make control groups, because the kernel would count all processes of the user, and with `warden_policy::never`.
  basic_local& limits(process_limits most);
  /// Sets the treatment of a command that seems to name files outside the workspace, in a shell line or in the
  /// arguments of a program. Default: `path_policy::advise`. It is a guess about text, to help a model, and no
  /// protection.
  basic_local& paths(path_policy policy);
  /// Selects the program that starts the commands. Default: `warden_policy::automatic`.
  basic_local& warden(warden_policy policy);
  /// Sets the path of another warden program, instead of the one in the library.
  basic_local& warden_program(std::filesystem::path program);
  /// Sets which processes commands may trace. Default: `tracing_policy::contained`.
  basic_local& tracing(tracing_policy policy);
  /// Uses Landlock as if the kernel had at most this ABI; 0: not at all. For commands that mount file systems before
  /// Linux 6.12, and for tests.
  basic_local& landlock(unsigned abi);
  /// Makes this program undumpable (PR_SET_DUMPABLE 0) when an environment opens, for good: no process of your user can
  /// read its memory, environment and descriptors any more, or raise its `oom_score_adj`. Root still can. Costs its
  /// core dumps, and debuggers and profilers that you attach to it.
  basic_local& undumpable();
  /// Switches off the warning about missing isolation.
  basic_local& without_warning();

  /// \throws error{exec_errc::unsupported} if one of the `limits` cannot hold.
  /// \throws error{exec_errc::provider_failed} if a folder cannot be made, if there is no shell, or if the program
  ///     ignores SIGCHLD (the status of commands would then be lost).
  awaitable<local_environment> open() const;

 private:
  static awaitable<local_environment> open_with(std::shared_ptr<const detail::local_settings> settings);

  static void warn_once();

  static void require_not_negative(std::chrono::milliseconds time, const char* name);

  template <class Change>
  basic_local& with(Change change);

  static std::shared_ptr<const detail::local_settings> defaults();

  std::shared_ptr<const detail::local_settings> settings_ = defaults();
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/impl/local.ipp>
#endif
