// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/detail/create_request.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/guest_user.hpp>
#include <cofferdam/backends/docker/detail/images.hpp>
#include <cofferdam/backends/docker/detail/owner.hpp>
#include <cofferdam/backends/docker/detail/scratch_container.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/net/tar_reader.hpp>
#include <cofferdam/net/http_message.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The properties of a VOLUME's folder in an image. The in-memory file system that replaces the VOLUME gets the same
/// properties.
class volume_folder {
 public:
  unsigned mode = 0755;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool has_content = false;
};

/// Returns the path in the container of a `VOLUME` of an image.
/// \throws error{exec_errc::unsupported} for a path at which nothing may be mounted, such as /proc.
inline std::string volume_path(const std::string& declared) {
  try {
    return guest_path(declared.starts_with('/') ? declared : "/" + declared, "a VOLUME of the image,");
  } catch (const error& reason) {
    throw error(exec_errc::unsupported, std::string(reason.what()) + "; build an image without it");
  }
}

/// Returns the paths of the VOLUMEs of an image for which the options contain no mount. The daemon would mount folders
/// of its own disk at these paths.
inline std::vector<std::string> uncovered_volumes(const image& from, const container_options& options) {
  std::vector<std::string> paths;
  for (const std::string& declared : from.volumes) {
    std::string path = volume_path(declared);
    const bool is_memory = options.has_read_only_root() && (path == options.working_directory() || path == "/tmp");
    if (!is_memory && !options.has_at(path) && std::find(paths.begin(), paths.end(), path) == paths.end())
      paths.push_back(std::move(path));
  }
  return paths;
}

/// Begins to read a folder of a container as a tar archive, with names relative to the folder.
inline awaitable<cofferdam::detail::http_exchange> read_folder(std::shared_ptr<engine> api, std::string id,
                                                               std::string path) {
  http_request what =
      api->request("GET", "/containers/" + id + "/archive?path=" + cofferdam::detail::percent_encoded(path + "/."));
  cofferdam::detail::http_exchange answer =
      co_await api->stream(std::move(what), api->call("read a VOLUME of the image", path), patient());
  co_return answer;
}

/// Returns the properties of a folder of a container that was never started.
inline awaitable<volume_folder> look_at_folder(std::shared_ptr<engine> api, std::string id, std::string path) {
  cofferdam::detail::http_exchange answer = co_await read_folder(api, id, path);
  volume_folder found;
  cofferdam::detail::tar_reader reader;
  std::array<std::byte, 4096> piece;
  int entries = 0;
  while (entries < 2) {
    const std::size_t got = co_await answer.read_some(piece);
    if (got == 0) {
      // Throws for an incomplete archive: a daemon that fails in the middle of the response has already sent status
      // 200.
      reader.finish();
      break;
    }
    reader.feed(bytes_view(piece.data(), got));
    for (cofferdam::detail::tar_event event = reader.next(); event != cofferdam::detail::tar_event::more && entries < 2;
         event = reader.next()) {
      if (event == cofferdam::detail::tar_event::end_of_archive) co_return found;
      if (event != cofferdam::detail::tar_event::head) continue;
      if (++entries > 1) break;
      found.mode = reader.entry().mode();
      found.uid = static_cast<std::uint32_t>(reader.entry().uid());
      found.gid = static_cast<std::uint32_t>(reader.entry().gid());
    }
  }
  found.has_content = entries > 1;
  co_return found;
}

/// Returns the in-memory file systems that replace the VOLUMEs of an image for which the options contain no mount. Each
/// has the properties of the VOLUME's folder in the image. The properties are cached in this process for each image.
inline awaitable<std::vector<image_volume>> memory_for_volumes(std::shared_ptr<engine> api, image from,
                                                               container_options options, user_ids ids, owner here) {
  const std::vector<std::string> paths = uncovered_volumes(from, options);
  std::vector<image_volume> volumes;
  if (paths.empty()) co_return volumes;
  static std::mutex mutex;
  static std::map<std::string, volume_folder> known;
  std::vector<std::string> unknown;
  {
    const std::lock_guard lock(mutex);
    for (const std::string& path : paths)
      if (!known.contains(from.id + " " + path)) unknown.push_back(path);
  }
  if (!unknown.empty()) {
    const auto look = [&](std::string id) -> awaitable<void> {
      for (const std::string& path : unknown) {
        const volume_folder folder = co_await look_at_folder(api, id, path);
        const std::lock_guard lock(mutex);
        known.insert_or_assign(from.id + " " + path, folder);
      }
    };
    boost::json::object nothing;
    co_await with_scratch_container(api, from.id, here, std::move(nothing), std::ref(look));
  }
  const std::uint64_t each = std::max<std::uint64_t>(options.volume_size() / paths.size() / 4096, 1) * 4096;
  const std::lock_guard lock(mutex);
  for (const std::string& path : paths) {
    volume_folder folder = known.at(from.id + " " + path);
    std::uint64_t size = each;
    if (path == options.working_directory()) {
      // The workspace belongs to the commands' user, whatever its owner is in the image.
      folder.uid = ids.uid();
      folder.gid = ids.gid();
      folder.has_content = false;  // a new workspace is empty
      size = options.workspace_size();
    }
    volumes.emplace_back(path, size, folder.mode, folder.uid, folder.gid, folder.has_content);
  }
  co_return volumes;
}

/// Copies the image's content of its VOLUMEs into the memory that replaces them.
/// \param id  a container that has been started and in which no command has run.
/// \throws    error{exec_errc::too_large} if the content does not fit into the memory.
inline awaitable<void> fill_volumes(std::shared_ptr<engine> api, std::string id, std::string image,
                                    std::vector<image_volume> volumes, owner here) {
  std::erase_if(volumes, [](const image_volume& volume) { return !volume.has_content(); });
  if (volumes.empty()) co_return;
  const auto copy = [&](std::string scratch) -> awaitable<void> {
    for (const image_volume& volume : volumes) {
      auto content = std::make_shared<cofferdam::detail::http_exchange>();
      *content = co_await read_folder(api, scratch, volume.target());
      http_body::source pieces = [content]() -> awaitable<bytes> {
        bytes piece(std::size_t{64} * 1024);
        const std::size_t got = co_await content->read_some(piece);
        piece.resize(got);
        co_return piece;
      };
      http_request what = api->request(
          "PUT", "/containers/" + id + "/archive?path=" + cofferdam::detail::percent_encoded(volume.target()));
      what.field("Content-Type", "application/x-tar").body(http_body(std::move(pieces)));
      std::optional<error> failure;
      try {
        co_await api->ask(std::move(what), api->call("copy the image's VOLUME", volume.target()));
      } catch (const error& reason) {
        failure = reason;
      }
      if (!failure) continue;
      if (std::string_view(failure->what()).find("no space left") == std::string_view::npos) throw *failure;
      const std::string name = "(\"" + volume.target() + "\")";
      throw error(exec_errc::too_large,
                  "docker: the image's VOLUME " + detail::quoted(volume.target()) + " contains more than the " +
                      std::to_string(volume.bytes()) +
                      " bytes of the tmpfs that replaces it; in container_options, add .tmpfs" + name +
                      " for an empty tmpfs or .volume" + name +
                      " for unlimited space on the daemon's disk, or raise .memory()",
                  failure->cause());
    }
  };
  boost::json::object nothing;
  co_await with_scratch_container(api, std::move(image), here, std::move(nothing), std::ref(copy));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
