// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command_result.hpp>
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

/// A resource limit of each process of a command, as setrlimit(2) takes it.
using warden_limit = detail::wire::resource_limit;

/// The description that a warden gives of itself and its place.
using warden_hello = detail::wire::hello;

/// The settings that a session sends to its warden.
class warden_settings {
 public:
  command_settings commands;
  /// The maximum wait for the greeting.
  std::chrono::milliseconds greeting_timeout{std::chrono::seconds(5)};
  /// The directory beneath which file operations stay, as the warden sees it; empty: no file operations.
  std::string root;
  /// The newest Landlock ABI to use, if the kernel has it. From 6 on (Linux 6.12), guests can signal and trace only
  /// their own descendants. From 2 on (Linux 5.19), they can trace only their own descendants, and cannot mount. Below
  /// 2, and with 0, Landlock is not used.
  std::uint32_t landlock = std::numeric_limits<std::uint32_t>::max();
  /// Prevents guests from changing the limits of other processes, including the warden and the host, if the kernel can
  /// (seccomp). Only tests switch it off.
  bool system_call_filter = true;
  /// The permission to trace processes if no Landlock domain keeps a guest from tracing the warden and the host.
  tracing_policy tracing = tracing_policy::contained;
  /// The resource limits of each process of a command; at most 16. If one cannot be set, the command is not started.
  std::vector<warden_limit> limits;
  /// The value of `uid` and `gid` that leaves the user and group of the warden.
  static constexpr std::uint32_t no_change = detail::wire::keep_id;
  /// The user and group of commands and file operations.
  std::uint32_t uid = no_change;
  std::uint32_t gid = no_change;
  /// Called on the session's executor with the result of a command that has ended and that no time limit, signal of the
  /// host or memory limit has ended. It may set the kind of the result, with a reason and advice, if it knows the limit
  /// that has ended the command.
  std::function<void(command_result&)> explain_end;
  /// The maximum time without a sign of life from the host, after which the warden ends everything. Zero: no maximum.
  std::chrono::milliseconds lease{0};
  /// The interval between pings of the warden while commands or requests are under way. If there is no answer by the
  /// next ping, `silent` is called: the warden may be stopped, or its machine too busy. Zero: no pings.
  std::chrono::milliseconds heartbeat{0};
  /// The warden's place for error messages: `the container x`. Empty if the stream's own errors name it.
  std::string place;
  /// Called on the session's executor. It may call `warden_session::lose` to give the warden up; otherwise pings
  /// continue.
  std::function<void()> silent;
  /// The time after a command's limit, grace period and linger time by which the warden must have reported the end.
  /// After it, the host requests the end and rouses the warden, for the grace period and
  /// `running_command::end_patience` (three times as long if the warden was never seen stopped). If that does not help,
  /// `end_all` is called and the session is lost; without `end_all` the command fails with
  /// error{exec_errc::provider_lost}.
  /// Zero: no limit.
  std::chrono::milliseconds report_timeout{std::chrono::seconds(2)};
  /// Continues a warden that was stopped by a signal, and returns true if it was stopped. Called on the session's
  /// executor.
  std::function<bool()> rouse;
  /// Kills everything that the warden has started, and the warden. Called on the session's executor.
  std::function<void()> end_all;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
