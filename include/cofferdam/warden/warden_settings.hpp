// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/warden/detail/protocol.hpp>
#include <cofferdam/warden/tracing_policy.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// A resource limit of each process of a command, as for setrlimit(2).
using warden_limit = detail::wire::resource_limit;

/// The first message from a warden: its version, architecture, user and capabilities.
using warden_hello = detail::wire::hello;

/// The settings of a session with a warden, the helper program in a sandbox. A guest is code that runs in the sandbox.
class warden_settings {
 public:
  /// The time limits and the isolation of commands.
  command_settings commands;
  /// The isolation that this program adds to that of the warden. Not used if `commands.isolation` is set.
  isolation_report added_isolation;
  /// The maximum time to wait for the warden's first frame. Default 5 s.
  std::chrono::milliseconds greeting_timeout{std::chrono::seconds(5)};
  /// The directory for file operations, as a path in the sandbox. No operation leads out of it. Empty means no file
  /// operations.
  std::string root;
  /// The newest version of Landlock's interface (ABI) to use, if the kernel supports it. Default: the newest. With
  /// version 6 and later (Linux 6.12), guests can signal and trace only their own descendants. With version 2 and later
  /// (Linux 5.19), they can trace only their own descendants, and cannot mount. With 0 or 1, Landlock is not used.
  std::uint32_t landlock = std::numeric_limits<std::uint32_t>::max();
  /// True to prevent guests, by a seccomp filter, from changing the resource limits and the scheduling of other
  /// processes, such as the warden and the host, and from letting the host's core handler run: core(5). If the kernel
  /// has no such filters, guests run without one. Only tests set it to false.
  bool system_call_filter = true;
  /// The permission to trace processes on kernels without Landlock. With `contained` (the default), guests cannot trace
  /// the warden and the host.
  tracing_policy tracing = tracing_policy::contained;
  /// The resource limits of each process of a command, at most 16. If a limit cannot be set, the command is not
  /// started.
  std::vector<warden_limit> limits;
  /// The value of `uid` and `gid` that keeps the user and the group of the warden.
  static constexpr std::uint32_t no_change = detail::wire::keep_id;
  /// The user and the group of commands and file operations. Default: those of the warden. If another user or group is
  /// set, the warden needs the right to change them, and commands have no supplementary groups.
  std::uint32_t uid = no_change;
  /// The group of commands and file operations; see `uid`.
  std::uint32_t gid = no_change;
  /// True if commands may have another user than this program, and the warden's stream carries descriptors. Commands
  /// can then open /dev/stdin, /dev/stdout and /dev/stderr although their pipes belong to this program's user.
  bool commands_are_of_another_user = false;
  /// Called on the session's executor with the result of each command that was not ended by a time limit, a memory
  /// limit or a request of the host. If the function knows another limit that ended the command, it sets the kind,
  /// reason and advice of the result. May be empty.
  std::function<void(command_result&)> explain_end;
  /// Returns how many processes of the commands the kernel has killed because of their memory limit. May be empty: the
  /// warden reads the count of its own control group by itself.
  std::function<std::uint64_t()> memory_kills;
  /// The maximum number of bytes of each output of a command that are on their way and not read yet. More makes output
  /// faster over a slow connection, and takes more memory. At least 1. Default: 256 KiB.
  std::uint32_t output_window = 256 * 1024;
  /// The maximum time without a ping from this program, after which the warden ends everything. This program pings
  /// three times as often. Zero, the default, means no maximum.
  std::chrono::milliseconds lease{0};
  /// The interval between pings of the warden while commands or requests are under way. If nothing has arrived from the
  /// warden when the next ping is due, `silent` is called: the warden may be suspended, or its machine too busy. Zero,
  /// the default, means no pings.
  std::chrono::milliseconds heartbeat{0};
  /// The name of the sandbox for error messages, for example `the container x`. Leave it empty if the errors of the
  /// stream already name the sandbox.
  std::string peer_name;
  /// A function that is called if the warden does not answer pings, on the session's executor. It may call
  /// `warden_session::lose` to end the session. If it does not, pings continue.
  std::function<void()> silent;
  /// Called on the session's executor with the reason when the connection to the warden is lost. Returns the error that
  /// is reported. If the function knows why the warden ended, it adds that to the reason. May be empty.
  std::function<error(const error&)> explain_loss;
  /// The time in which the warden must report the end of a command after the command's time limit, grace period and
  /// linger time. Default 2 s; zero means no limit.
  ///
  /// If the warden is late, this program requests the end of the command and calls `rouse` repeatedly. It continues for
  /// the grace period and `running_command::end_patience`, or three times as long if `rouse` has never returned true.
  /// If the command still has not ended, `end_all` is called and the session is lost. Without `end_all`, the command
  /// fails with error{exec_errc::provider_lost}.
  std::chrono::milliseconds report_timeout{std::chrono::seconds(2)};
  /// A function that resumes the warden if a signal such as SIGSTOP has suspended it. Returns true if the warden was
  /// suspended. Called on the session's executor.
  std::function<bool()> rouse;
  /// A function that returns true while the environment is paused on purpose. The warden then reports nothing, and the
  /// time of `report_timeout` begins when the environment is resumed. Called on the session's executor. May be empty.
  std::function<bool()> is_paused;
  /// A function that kills the warden and everything that the warden has started. Called on the session's executor.
  std::function<void()> end_all;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
