// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/detail/exec_place.hpp>
#include <cofferdam/backends/docker/detail/exec_session.hpp>
#include <cofferdam/backends/docker/detail/sandbox.hpp>
#include <cofferdam/backends/docker/detail/sandbox_settings.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/os/session_files.hpp>
#include <cofferdam/warden/image.hpp>
#include <cofferdam/warden/session.hpp>
#include <cofferdam/warden/warden_settings.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

// The start of the command session of a container that was created or adopted. A session starts commands by a warden (a
// helper program in the container), or by execs (processes that the daemon starts in the container, as `docker exec`
// does).

/// Returns true if a warden is to start the commands, and false if each command is to be an exec.
/// \param machine  the container's processor architecture, as the daemon names it.
/// \throws error{exec_errc::unsupported} if `by` requires a warden, and there is no warden for this architecture.
inline bool takes_warden(command_transport by, std::string_view machine) {
  if (by == command_transport::exec) return false;
  const bool there_is_one = !warden_image_for(machine).program().empty();
  if (by != command_transport::automatic && !there_is_one)
    throw error(exec_errc::unsupported, "docker: the container's architecture is \"" + one_line(machine, 40) +
                                            "\", but wardens exist only for amd64 and arm64");
  return there_is_one;
}

/// Returns the settings of a warden in a sandbox's container. If the warden does not answer,
/// `sandbox::on_silent_warden` is called.
/// \param isolation  the isolation that results of commands report.
inline warden_settings warden_settings_for(const std::shared_ptr<sandbox>& in, const sandbox_settings& settings,
                                           isolation_report isolation) {
  warden_settings result;
  result.commands = settings.commands;
  result.commands.isolation = std::make_shared<const isolation_report>(std::move(isolation));
  result.greeting_timeout = std::chrono::seconds(30);
  result.heartbeat = std::chrono::milliseconds(500);
  result.lease = settings.lease;
  // a weak pointer, because the sandbox owns the session, and the session owns these settings
  result.silent = [kept = std::weak_ptr<sandbox>(in)] {
    if (const std::shared_ptr<sandbox> self = kept.lock()) self->on_silent_warden();
  };
  result.is_paused = [kept = std::weak_ptr<sandbox>(in)] {
    const std::shared_ptr<sandbox> self = kept.lock();
    return self && self->is_frozen();
  };
  result.root = settings.options.working_directory();
  return result;
}

/// Begins the session of a sandbox with a warden.
inline void begin_session(sandbox& in, warden_session session, std::vector<std::string> variables) {
  std::shared_ptr<session_files> files = session.files();
  in.begin(std::move(session), std::move(files), std::move(variables));
  in.has_warden();
}

/// Begins the session of a sandbox whose commands are execs.
/// \param isolation  the isolation that results of commands report.
inline void begin_session(sandbox& in, const sandbox_settings& settings, std::shared_ptr<exec_place> place,
                          isolation_report isolation, std::vector<std::string> variables) {
  command_settings commands = settings.commands;
  commands.isolation = std::make_shared<const isolation_report>(std::move(isolation));
  exec_session session(std::move(place), std::move(commands));
  std::shared_ptr<session_files> files = session.files(settings.options.working_directory(), variables);
  in.begin(std::move(session), std::move(files), std::move(variables));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
