// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/detail/owner.hpp>
#include <cofferdam/backends/docker/detail/scratch_container.hpp>
#include <cofferdam/backends/docker/detail/shared_round.hpp>
#include <cofferdam/backends/docker/detail/small_archive.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/net/tar_entry.hpp>
#include <cofferdam/warden/image.hpp>

#include <boost/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// Returns the name of the daemon's volume that contains one version of the warden program (the helper program that
/// starts the commands in a container). The name is derived from the program's content, so that any process may fill
/// the volume.
inline std::string warden_volume_name(const warden_image& warden) {
  return "cofferdam-warden-" + std::string(warden.sha256().substr(0, 16));
}

/// Returns the daemon's description of the file at a path in a container, or no value if the path does not exist.
inline awaitable<std::optional<boost::json::object>> stat_in_container(std::shared_ptr<engine> api, std::string id,
                                                                       std::string path) {
  static const std::vector<int> absent{404};
  const api_call doing = api->call("inspect a file in a container", path);
  http_request what =
      api->request("HEAD", "/containers/" + id + "/archive?path=" + cofferdam::detail::percent_encoded(path));
  http_response answer = co_await api->ask(std::move(what), doing, absent);
  std::optional<boost::json::object> found;
  if (answer.status() == 404) co_return found;
  const std::optional<std::string_view> field = answer.field("X-Docker-Container-Path-Stat");
  const std::optional<bytes> text = field ? cofferdam::detail::base64_decode(*field) : std::nullopt;
  if (!text)
    throw error(exec_errc::provider_failed, doing.failed() + ": the daemon's answer does not describe the file");
  found = parse_object(as_text(*text), exec_errc::provider_failed, doing.failed() + ": the daemon's answer");
  co_return found;
}

/// Unpacks a tar archive into a folder of a container.
inline awaitable<void> put_archive(std::shared_ptr<engine> api, std::string id, std::string path, bytes archive) {
  http_request what = api->request(
      "PUT", "/containers/" + id + "/archive?noOverwriteDirNonDir=1&path=" + cofferdam::detail::percent_encoded(path));
  what.field("Content-Type", "application/x-tar").body(http_body(std::move(archive)));
  co_await api->ask(std::move(what), api->call("put files into a container", path));
}

/// Returns true if the warden's volume, which is mounted in the container `id`, contains the complete warden program.
inline awaitable<bool> holds_warden(std::shared_ptr<engine> api, std::string id, warden_image warden) {
  const std::optional<boost::json::object> found = co_await stat_in_container(api, id, "/.cofferdam/warden");
  // The size is compared because an interrupted copy leaves a shorter file.
  co_return found&& number_at(*found, "size") == static_cast<std::int64_t>(warden.program().size());
}

/// Copies the warden program into its volume if the volume does not contain it yet. The daemon makes the volume if it
/// is missing.
/// \param id     a container in which the volume is mounted at /.cofferdam, read-only.
/// \param image  any image of the daemon. The copying needs a container, because a volume is only accessible through a
///               container.
inline awaitable<void> ensure_warden(std::shared_ptr<engine> api, std::string id, warden_image warden,
                                     std::string image, owner here) {
  const std::string name = warden_volume_name(warden);
  for (;;) {
    const bool is_there = co_await holds_warden(api, id, warden);
    if (is_there) co_return;
    shared_round::turn turn = co_await shared_round::join("fill " + api->address() + " " + name, "filling a volume");
    if (!turn.is_mine()) continue;
    boost::json::object mount;
    mount["Type"] = "volume";
    mount["Source"] = json_text(name);
    mount["Target"] = "/.cofferdam";
    boost::json::object options;
    options["NoCopy"] = true;
    mount["VolumeOptions"] = std::move(options);
    boost::json::array mounts;
    mounts.push_back(std::move(mount));
    boost::json::object host_config;
    host_config["Mounts"] = std::move(mounts);
    const auto fill = [api, warden](std::string scratch) -> awaitable<void> {
      const std::span<const unsigned char> program = warden.program();
      const bytes_view content(reinterpret_cast<const std::byte*>(program.data()), program.size());
      bytes archive =
          small_archive()
              .add(cofferdam::detail::tar_entry("warden", cofferdam::detail::tar_type::regular).mode(0755), content)
              .take();
      co_await put_archive(api, std::move(scratch), "/.cofferdam", std::move(archive));
    };
    std::optional<error> failure;
    try {
      co_await with_scratch_container(api, image, here, std::move(host_config), std::ref(fill));
    } catch (const error& reason) {
      failure = reason;
    }
    if (failure) {
      turn.failed(*failure);
      throw *failure;
    }
    const bool is_filled = co_await holds_warden(api, id, warden);
    if (!is_filled)
      throw error(exec_errc::provider_failed,
                  "docker: the volume \"" + name + "\" does not retain the files that are written to it");
    turn.done();
    co_return;
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
