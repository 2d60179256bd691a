// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/detail/api_version.hpp>
#include <cofferdam/backends/docker/detail/container_session.hpp>
#include <cofferdam/backends/docker/detail/create_request.hpp>
#include <cofferdam/backends/docker/detail/daemon_location.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/exec_script.hpp>
#include <cofferdam/backends/docker/detail/guest_user.hpp>
#include <cofferdam/backends/docker/detail/host_link.hpp>
#include <cofferdam/backends/docker/detail/host_view.hpp>
#include <cofferdam/backends/docker/detail/image_volumes.hpp>
#include <cofferdam/backends/docker/detail/images.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/detail/owner.hpp>
#include <cofferdam/backends/docker/detail/sandbox_settings.hpp>
#include <cofferdam/backends/docker/detail/warden_volume.hpp>
#include <cofferdam/backends/docker/detail/workspace_owner.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/warden/image.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// Returns the host name of this machine, or an empty text if it cannot be determined.
inline std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

/// The plan of a container that is to be created: the request to the daemon, and the data that the container's start
/// needs.
class container_plan {
 public:
  image source;  ///< the image of the container
  /// True if the container's first program is a warden (the helper program that starts the commands). False if it is a
  /// shell that runs `lease_script`.
  bool has_warden;
  create_request request;
  user_ids guest;  ///< the user of the commands
  /// The VOLUMEs of the image that are replaced by in-memory file systems.
  std::vector<image_volume> volumes;
};

/// Makes the request to create a container. Sets the container's first program, and what depends on the properties of
/// the daemon.
/// \param info  the response of the daemon to `GET /info`.
inline create_request begin_request(const engine& api, const container_options& options, const image& from,
                                    bool has_warden, const boost::json::object& info, const owner& here) {
  constexpr std::string_view programs_at = "/.cofferdam";
  constexpr std::string_view warden_at = "/.cofferdam/warden";
  std::vector<std::string> first_program{std::string(warden_at), std::string(host_link::socket_at)};
  if (!has_warden) first_program = {"/bin/sh", "-c", std::string(lease_script)};
  create_request request(from.id, "cofferdam-" + cofferdam::detail::random_digits(), std::move(first_program), options);
  request.reaps().image_user(from.user).owned_by(here, host_name());
  if (has_warden) request.programs(warden_volume_name(warden_image_for(from.architecture)), programs_at);
  if (api.location().transport() == daemon_transport::unix_socket)
    request.daemon_socket(api.location().path()).local_daemon();
  if (const std::optional<std::int64_t> count = number_at(info, "NCPU"))
    request.host_cpus(static_cast<unsigned>(std::max<std::int64_t>(*count, 0)));
  return request;
}

/// Makes the plan for a container of an image. To read users and folders of the image, creates temporary containers
/// that are never started.
/// \throws error{exec_errc::invalid_argument} if the options contradict each other, or name a folder that must not be
///     mounted.
inline awaitable<container_plan> plan_container(std::shared_ptr<engine> api,
                                                std::shared_ptr<const sandbox_settings> settings, image from,
                                                host_view host, owner here) {
  const container_options& options = settings->options;
  const bool has_warden = takes_warden(settings->by, from.architecture);
  const boost::json::object info = co_await api->get("/info", api->call("get information about the daemon"));
  create_request request = begin_request(*api, options, from, has_warden, info, here);
  if (options.user().empty()) {
    static_cast<void>(request.body(host));  // throws for a forbidden mount, before its owner is looked up
    const std::optional<user_ids> owner_ids = co_await workspace_owner(api, from.id, options, here);
    if (owner_ids) request.workspace_owner(owner_ids->uid(), owner_ids->gid());
  }
  const std::string user = request.guest_user();
  user_ids ids = co_await ids_of(api, from, user, here);
  // An image may define another name for the user root (id 0). Commands run as root only if the options choose root.
  if (ids.is_root() && options.user().empty()) ids = user_ids(1000, 1000);
  request.guest_ids(ids.uid(), ids.gid());
  if (api->kind() == engine_kind::podman) request.unowned_memory();
  if (!ids.is_root()) request.commands(command_user::set_by_first);
  std::vector<image_volume> volumes = co_await memory_for_volumes(api, from, options, ids, here);
  for (const image_volume& volume : volumes) request.add(volume);
  container_plan plan{std::move(from), has_warden, std::move(request), ids, std::move(volumes)};
  co_return plan;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
