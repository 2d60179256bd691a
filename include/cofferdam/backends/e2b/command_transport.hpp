// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// The way in which commands are started in a sandbox.
///
/// By a warden, a command takes one message, and everything that it has started ends with it. Background processes can
/// be kept. The warden is a process of envd, E2B's daemon in the sandbox. It runs as root if the daemon allows this, so
/// commands cannot end it unless they become root. Its connection is one stream. If the stream breaks, the commands
/// under way are lost, and the next command starts another warden. Without contact for 8 seconds, for example after the
/// death of this program, the warden ends all commands and itself. So this program must not block its executor for that
/// long.
///
/// By the daemon, each command is a process of envd, inside a small script and in a session of its own. A time limit, a
/// cancellation and the destructor of a `process` end all processes of that session, and all processes that have
/// inherited the environment variable with which this library marks the command. When a command ends, the remaining
/// processes of its session are ended. Processes outside the session are ended if they still have the command's output
/// open; otherwise they continue until the sandbox ends. Whole process trees can be ended only if the sandbox has
/// `setsid`. A hostile command can fake its exit code. Death by SIGPIPE is reported as exit code 141. Death by SIGINT
/// is reported as exit code 130, unless ^C was typed on the command's terminal. `background_policy::keep` leads to
/// error{exec_errc::unsupported}. If this program dies, commands run until the sandbox ends.
enum class command_transport {
  automatic,  ///< by a warden if it can run in the sandbox, otherwise by the daemon
  warden,     ///< by a warden; `open()` throws error{exec_errc::unsupported} if that is not possible
  daemon,     ///< each command is a process of the daemon
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
