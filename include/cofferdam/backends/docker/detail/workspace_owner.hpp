// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/guest_user.hpp>
#include <cofferdam/backends/docker/detail/image_volumes.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/detail/owner.hpp>
#include <cofferdam/backends/docker/detail/scratch_container.hpp>
#include <cofferdam/backends/docker/detail/warnings.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/warning.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// Returns the owner of the folder that is mounted as the workspace. This owner is the default user of the commands.
/// Returns no value if no folder is mounted there, or if the folder belongs to root; in the latter case the library
/// warns.
///
/// The owner is looked up in a container, because only the daemon knows the ids that apply inside its containers.
inline awaitable<std::optional<user_ids>> workspace_owner(std::shared_ptr<engine> api, std::string image,
                                                          container_options options, owner here) {
  std::optional<user_ids> ids;
  const std::vector<mount>& mounts = options.mounts();
  const auto at_workspace = [&options](const mount& entry) {
    return entry.is_bind() && entry.target() == options.working_directory();
  };
  const auto found = std::find_if(mounts.begin(), mounts.end(), at_workspace);
  if (found == mounts.end()) co_return ids;
  boost::json::object bind;
  bind["Type"] = "bind";
  bind["Source"] = json_text(found->source());
  bind["Target"] = json_text(found->target());
  bind["ReadOnly"] = true;
  boost::json::array bind_mounts;
  bind_mounts.push_back(std::move(bind));
  boost::json::object host_config;
  host_config["Mounts"] = std::move(bind_mounts);
  volume_folder folder;
  const auto look = [&](std::string id) -> awaitable<void> {
    folder = co_await look_at_folder(api, std::move(id), options.working_directory());
  };
  co_await with_scratch_container(api, std::move(image), here, std::move(host_config), std::ref(look));
  if (folder.uid != 0) {
    ids.emplace(folder.uid, folder.gid != 0 ? folder.gid : folder.uid);
    co_return ids;
  }
  if (!found->is_read_only() && is_first_time("folder of root " + found->source()))
    cofferdam::detail::warn("docker: the workspace is the folder \"" + one_line(found->source(), 120) + "\"" +
                            ", which belongs to root: commands run as another user unless container_options::user sets "
                            "root, and may be unable to write to the folder");
  co_return ids;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
