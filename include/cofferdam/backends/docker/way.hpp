// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

namespace cofferdam::inline v0::docker {

/// How commands get into a container.
///
/// By execs, with no program of the library's own in the container, a command takes some 60 ms and not 1, and:
/// * A time limit, a cancellation and a `process` that is dropped end *everything* that runs in a container of ours, other
///   commands included: those end with `error_kind::execution_error`, `cause()` std::errc::interrupted, and can be run
///   again. In a container that somebody else made, they end what the command started, unless that has both left its
///   session and cleared its environment.
/// * When a command has ended, what is left of its *session* is ended; what has left it goes on, and can hold up the next
///   commands for some seconds where it still has the command's output open. A hostile command can make it seem that it
///   has ended, which comes to the same. `background_policy::keep` is error{errc::unsupported}.
/// * Death by SIGINT or SIGPIPE looks like exit code 130 or 141. With a terminal, and where the container's /bin/sh is
///   bash, every death by a signal looks like exit code 128 and its number. A file that is no program and has no `#!`
///   line may be run as a script by the container's sh.
/// * The container needs /bin/sh (dash, BusyBox's, or bash), and for files cat, stat, readlink, mv, mkdir, find.
/// * Command lines, not variables, are in the daemon's events; variables whose names are no shell names do not arrive.
/// \par Source  Engine API, "Attach to a container" and "Exec".
enum class way {
  automatic,  ///< by a warden where there is one for the image's machine, else by execs
  warden,     ///< by a warden; error{errc::unsupported} where that cannot be
  attached,   ///< the same, and all goes through the daemon, also where a warden could speak with this program directly
  exec,       ///< each command is an exec of the daemon's
};

}  // namespace cofferdam::inline v0::docker
