// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

namespace cofferdam::inline COFFERDAM_ABI::docker {

/// The way in which commands are started in a container.
///
/// With execs, the container needs no program of this library, but a command takes some 60 ms instead of 1 ms, and:
/// * A time limit, a cancellation and a `process` that is dropped end *everything* that runs in a container of ours,
///   other commands included: those end with `error_kind::execution_error`, `cause()` std::errc::interrupted, and can
///   be run again. In an adopted container, they end the processes of the command, except those that have both left its
///   session and cleared their environment.
/// * When a command has ended, the rest of its *session* is ended. Processes that have left the session continue, and
///   can delay the next commands for some seconds if they still have the command's output open. A hostile command can
///   pretend that it has ended, with the same effect. `background_policy::keep` is error{exec_errc::unsupported}.
/// * Death by SIGINT or SIGPIPE looks like exit code 130 or 141. With a terminal, and if the container's /bin/sh is
///   bash, every death by a signal looks like exit code 128 and its number. A file that is not a program and has no
///   `#!` line may be run as a script by the container's sh.
/// * The container needs /bin/sh (dash, BusyBox's, or bash), and for files cat, stat, readlink, mv, mkdir, find.
/// * Command lines, not variables, are in the daemon's events; variables whose names are no shell names do not arrive.
/// \par Source  Engine API, "Attach to a container" and "Exec".
enum class command_transport {
  automatic,  ///< by a warden if there is one for the image's machine, else by execs
  warden,     ///< by a warden; error{exec_errc::unsupported} if that is not possible
  attached,   ///< by a warden, with all data through the daemon, even if a direct connection is possible
  exec,       ///< each command is an exec of the daemon
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker
