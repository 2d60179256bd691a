// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/find_daemon.hpp>
#include <cofferdam/backends/docker/detail/host_view.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/detail/mount_table.hpp>
#include <cofferdam/core/error.hpp>

#include <boost/json/object.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// Returns true if the container's runtime makes no mounts of its own, so that its mount table can be checked. Other
/// runtimes use a separate kernel or a separate mount table.
/// \param seen  the daemon's description of the container.
inline bool has_usual_runtime(const boost::json::object& seen) {
  const boost::json::object* const settings = object_at(seen, "HostConfig");
  const std::string_view runtime = settings == nullptr ? std::string_view() : text_at(*settings, "Runtime");
  return runtime.empty() || runtime.find("runc") != std::string_view::npos || runtime == "crun" || runtime == "oci";
}

/// Returns the kernel's mount table of a running container; empty if this process cannot read it.
/// \param id    the container's id.
/// \param seen  the daemon's description of the container after its start.
inline std::string mount_table_here(const engine& api, const host_view& host, const std::string& id,
                                    const boost::json::object& seen) {
  if (api.location().transport() != daemon_transport::unix_socket) return {};
  const boost::json::object* const state = object_at(seen, "State");
  const std::int64_t number = state == nullptr ? 0 : number_at(*state, "Pid").value_or(0);
  if (number <= 0) return {};
  try {
    std::string table = host.read("/proc/" + std::to_string(number) + "/mountinfo").value_or(std::string());
    // The daemon behind the socket may run on another machine, where this process id means another process. Docker's
    // own mounts contain the container's id, so a table without the id belongs to another process.
    return table.find(id) == std::string::npos ? std::string() : table;
  } catch (const error&) {  // this user may not read the file
    return {};
  }
}

/// Throws if a container has a mount that was not requested.
/// \throws error{exec_errc::provider_failed}, whose message lists such mounts.
inline void require_mounts(std::string_view table, const boost::json::object& asked, engine_kind kind) {
  const std::vector<std::string> more = unexpected_mounts(table, asked, kind);
  if (more.empty()) return;
  std::string list;
  for (const std::string& each : more) list += (list.empty() ? "" : ", ") + each;
  throw error(exec_errc::provider_failed,
              "docker: the started container has mounts that were not requested: " + list +
                  ". The container was removed; check which mounts the daemon's runtime adds to containers");
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
