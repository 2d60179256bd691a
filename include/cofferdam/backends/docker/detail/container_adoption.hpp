// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/detail/adopted_container.hpp>
#include <cofferdam/backends/docker/detail/base_variables.hpp>
#include <cofferdam/backends/docker/detail/container_session.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/exec_place.hpp>
#include <cofferdam/backends/docker/detail/find_shell.hpp>
#include <cofferdam/backends/docker/detail/guest_user.hpp>
#include <cofferdam/backends/docker/detail/host_view.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/detail/sandbox.hpp>
#include <cofferdam/backends/docker/detail/sandbox_settings.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/warden/image.hpp>
#include <cofferdam/warden/session.hpp>
#include <cofferdam/warden/warden_settings.hpp>

#include <boost/json/object.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// Begins the command session (the object that starts and tracks commands) of an adopted container, and uses a warden
/// (a helper program in the container) to start the commands.
/// \return  false if no warden can be started in the container, and `settings->by` allows Docker execs instead.
inline awaitable<bool> begin_with_warden(std::shared_ptr<sandbox> into,
                                         std::shared_ptr<const sandbox_settings> settings,
                                         std::shared_ptr<exec_place> place, adopted_container there, user_ids ids,
                                         std::vector<std::string> variables) {
  if (!takes_warden(settings->by, there.machine)) co_return false;
  // The creator of the container has determined the other kinds of isolation, and this program does not know them.
  isolation_report isolation;
  isolation.set(isolation_kind::process_tree, "everything the command started");
  isolation.set(isolation_kind::host_death, "everything the commands started");
  warden_settings for_warden = warden_settings_for(into, *settings, std::move(isolation));
  const warden_image warden = warden_image_for(there.machine);
  try {
    warden_session session = co_await bring_warden(place, there, warden, ids, std::move(for_warden));
    begin_session(*into, std::move(session), std::move(variables));
    co_return true;
  } catch (const error& failure) {
    if (failure.code() != exec_errc::unsupported || settings->by != command_transport::automatic) throw;
  }
  co_return false;
}

/// Begins the command session of an adopted container, and starts each command by a Docker exec.
inline void begin_with_execs(sandbox& into, const sandbox_settings& settings, std::shared_ptr<exec_place> place,
                             std::vector<std::string> variables) {
  isolation_report isolation;
  isolation.set(isolation_kind::process_tree, "the command's session, and processes with its variables");
  isolation.set(isolation_kind::host_death, "none");
  begin_session(into, settings, std::move(place), std::move(isolation), std::move(variables));
}

/// Connects `into` to the running container that `settings->adopted` names. The container continues to run when the
/// sandbox is closed.
inline awaitable<void> adopt_container(std::shared_ptr<sandbox> into, std::shared_ptr<const sandbox_settings> settings,
                                       host_view host) {
  const std::shared_ptr<engine> api = into->api();
  adopted_container there = co_await look_at(api, settings->adopted);
  into->adopt(there.id, there.name);
  const std::vector<std::string> variables = base_variables(settings->options, there.variables, host);
  if (there.machine.empty()) {
    const boost::json::object info = co_await api->get("/info", api->call("get information about the daemon"));
    there.machine = std::string(text_at(info, "Architecture"));
  }
  const std::string& chosen_user = settings->options.user();
  const std::string& user = chosen_user.empty() ? there.user : chosen_user;
  const user_ids ids = co_await ids_in(api, there.id, user);
  const auto place = std::make_shared<exec_place>(api, there.id, there.name, chosen_user);
  co_await ensure_workspace(place, there, settings->options.working_directory(), ids);
  const bool has_warden = co_await begin_with_warden(into, settings, place, there, ids, variables);
  if (!has_warden) begin_with_execs(*into, *settings, place, variables);
  std::string shell = co_await find_shell(into, settings, there.id);
  into->shell(std::move(shell));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
