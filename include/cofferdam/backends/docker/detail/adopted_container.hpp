// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/attached_stream.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/exec_place.hpp>
#include <cofferdam/backends/docker/detail/guest_user.hpp>
#include <cofferdam/backends/docker/detail/images.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/detail/small_archive.hpp>
#include <cofferdam/backends/docker/detail/warden_volume.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/path_advice.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/net/tar_entry.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/warden/image.hpp>
#include <cofferdam/warden/session.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The properties of an adopted container, which this library did not make.
class adopted_container {
 public:
  std::string id;
  std::string name;
  std::string user;     ///< the user that the container is configured with; empty means root
  std::string machine;  ///< the processor architecture; empty if it is not known
  std::vector<std::string> variables;
  bool has_read_only_root = false;
  std::vector<std::string> mounts;  ///< the paths in the container at which something is mounted

  /// Returns true if the daemon's archive calls (which read and write files of a container as tar archives) access the
  /// same files at this path as the processes of the container. Archive calls do not reach files in mounts, and they
  /// cannot write to a read-only root.
  bool reaches(std::string_view path) const {
    return !has_read_only_root && std::none_of(mounts.begin(), mounts.end(), [path](const std::string& target) {
      return cofferdam::detail::is_beneath(path, target);
    });
  }
};

/// Returns the properties of a running container.
/// \throws error{exec_errc::not_found} if the container does not exist; error{exec_errc::provider_failed} if it does
///     not run, or is paused.
inline awaitable<adopted_container> look_at(std::shared_ptr<engine> api, std::string name) {
  static const std::vector<int> absent{404};
  const api_call doing = api->call("inspect the container", name);
  http_request what = api->request("GET", "/containers/" + cofferdam::detail::percent_encoded(name) + "/json");
  http_response answer = co_await api->ask(std::move(what), doing, absent);
  if (answer.status() == 404)
    throw error(exec_errc::not_found, "docker: the daemon at " + api->address() + " has no container \"" +
                                          one_line(name, 120) + "\"; run docker ps to list the running containers");
  const boost::json::object seen = engine::object_of(answer, doing);
  adopted_container found;
  found.id = std::string(text_at(seen, "Id"));
  found.name = std::string(text_at(seen, "Name"));
  if (found.name.starts_with('/')) found.name.erase(0, 1);
  const boost::json::object* const state = object_at(seen, "State");
  if (state == nullptr || !is_true_at(*state, "Running") || is_true_at(*state, "Paused"))
    throw error(exec_errc::provider_failed, "docker: the container \"" + one_line(name, 120) +
                                                "\" is stopped or paused; run docker start or docker unpause first");
  if (const boost::json::object* const config = object_at(seen, "Config")) {
    found.user = std::string(text_at(*config, "User"));
    found.variables = texts_at(*config, "Env");
  }
  if (const boost::json::object* const host = object_at(seen, "HostConfig")) {
    found.has_read_only_root = is_true_at(*host, "ReadonlyRootfs");
    if (const boost::json::object* const tmpfs = object_at(*host, "Tmpfs"))
      for (const auto& each : *tmpfs) found.mounts.emplace_back(each.key().data(), each.key().size());
  }
  if (const boost::json::array* const mounts = array_at(seen, "Mounts"))
    for (const boost::json::value& each : *mounts)
      if (const boost::json::object* const mount_json = each.if_object())
        found.mounts.emplace_back(text_at(*mount_json, "Destination"));
  for (const char* const each : {"/dev", "/proc", "/sys"}) found.mounts.emplace_back(each);
  const std::optional<image> its_image = co_await find_image(api, std::string(text_at(seen, "Image")));
  if (its_image) found.machine = its_image->architecture;
  co_return found;
}

/// Returns the numeric ids of the user that commands run as.
/// \param user  the user from `container_options` or from the container's configuration. Empty means root.
inline awaitable<user_ids> ids_in(std::shared_ptr<engine> api, std::string id, std::string user) {
  if (user.empty()) user = "0:0";
  const std::string passwd = co_await small_file(api, id, "/etc/passwd");
  const std::string group = co_await small_file(api, id, "/etc/group");
  co_return resolve_user(user, passwd, group);
}

/// Makes the workspace if it does not exist. Existing content stays unchanged.
inline awaitable<void> ensure_workspace(std::shared_ptr<exec_place> place, adopted_container there, std::string path,
                                        user_ids ids) {
  constexpr std::int64_t directory_bit = std::int64_t{1} << 31;
  const std::shared_ptr<engine> api = place->api();
  const std::optional<boost::json::object> found = co_await stat_in_container(api, there.id, path);
  if (found) {
    const std::int64_t mode = number_at(*found, "mode").value_or(0);
    const bool is_link = !text_at(*found, "linkTarget").empty();
    if ((mode & directory_bit) == 0 && !is_link)
      throw error(exec_errc::not_a_directory,
                  "docker: \"" + one_line(path, 200) + "\" in the container \"" + there.name +
                      "\" is not a directory; choose another working_directory for the workspace");
    co_return;
  }
  if (there.reaches(path)) {
    co_await give_workspace(api, there.id, path, ids);
    co_return;
  }
  std::vector<std::string> words{"/bin/sh", "-c", "mkdir -p -- \"$1\" && cd -- \"$1\"", "sh", path};
  const bool is_created = co_await exec_place::try_out(place, std::move(words), bytes());
  if (!is_created)
    throw error(exec_errc::not_found, "docker: the container \"" + there.name + "\" has no directory \"" +
                                          one_line(path, 200) +
                                          "\", and it cannot be created; choose another working_directory");
}

/// Copies the warden program (the helper program that starts the commands) into a new private folder of the container.
/// \param above       the folder in which the new folder is made.
/// \param folder      the name of the new folder.
/// \param by_archive  true to use the daemon's archive call, false to use an exec (a process that the daemon starts in
///                    the container, as `docker exec` does).
/// \return  true on success; false if the folder cannot be used.
inline awaitable<bool> put_warden(std::shared_ptr<exec_place> place, adopted_container there, warden_image warden,
                                  user_ids ids, std::string above, std::string folder, bool by_archive) {
  const auto* const data = reinterpret_cast<const std::byte*>(warden.program().data());
  const bytes_view program(data, warden.program().size());
  if (!by_archive) {
    std::vector<std::string> words{"/bin/sh", "-c",
                                   "umask 077; mkdir -- \"$1\" && cat >\"$1/warden\" && chmod 700 \"$1/warden\"", "sh",
                                   above + "/" + folder};
    const bool done = co_await exec_place::try_out(place, std::move(words), bytes(program.begin(), program.end()));
    co_return done;
  }
  const std::optional<boost::json::object> found = co_await stat_in_container(place->api(), there.id, above);
  if (!found) co_return false;
  cofferdam::detail::tar_entry directory(folder, cofferdam::detail::tar_type::directory);
  directory.mode(0700).owner(ids.uid(), ids.gid());
  cofferdam::detail::tar_entry file(folder + "/warden", cofferdam::detail::tar_type::regular);
  file.mode(0700).owner(ids.uid(), ids.gid());
  bytes archive = small_archive().add(std::move(directory)).add(std::move(file), program).take();
  co_await put_archive(place->api(), there.id, above, std::move(archive));
  co_return true;
}

/// Starts a warden program in an adopted container by an exec, and connects to it.
inline awaitable<warden_session> start_adopted(std::shared_ptr<exec_place> place, std::string program,
                                               warden_settings settings) {
  std::vector<std::string> words{std::move(program)};
  std::string exec = co_await exec_place::create(place, std::move(words), std::vector<std::string>(), true, false);
  byte_stream raw = co_await exec_place::start(place, std::move(exec), false);
  attached_stream stream(std::move(raw), place->api()->container(place->name()));
  warden_session met = co_await warden_session::open(place->api()->executor(), std::move(stream), std::move(settings));
  co_return met;
}

/// Removes the warden's file and folder. A second warden, started from the same file, removes them, because the
/// container may have no program that removes files. The running warden does not need its file any more.
inline awaitable<void> take_away(std::shared_ptr<exec_place> place, std::string above, std::string folder) {
  std::optional<error> failure;
  try {
    warden_settings settings;
    settings.root = above;
    warden_session second = co_await start_adopted(place, above + "/" + folder + "/warden", std::move(settings));
    const std::shared_ptr<session_files> files = second.files();
    co_await files->remove(folder);
    co_await second.close();
    co_return;
  } catch (const error& reason) {
    failure = reason;
  }
  if (failure->code() == exec_errc::cancelled) throw *failure;
  try {
    std::vector<std::string> words{"rm", "-rf", "--", above + "/" + folder};
    co_await exec_place::do_quietly(place, std::move(words));
  } catch (const error& reason) {  // the removal failed, so a file of about 20 KiB stays in the container
    if (reason.code() == exec_errc::cancelled) throw;
  }
}

/// Copies a warden into the first folder of the container that allows writing and executing, and starts it.
/// \throws error{exec_errc::unsupported} if no folder is suitable.
inline awaitable<warden_session> bring_warden(std::shared_ptr<exec_place> place, adopted_container there,
                                              warden_image warden, user_ids ids, warden_settings settings) {
  std::optional<error> last;
  const std::vector<std::string> folders{"/tmp", "/var/tmp", settings.root, "/dev/shm", "/run"};
  for (const bool by_archive : {true, false}) {
    for (const std::string& above : folders) {
      if (by_archive && !there.reaches(above)) continue;
      const std::string folder = ".cofferdam-" + cofferdam::detail::random_digits();
      bool is_there = false;
      try {
        is_there = co_await put_warden(place, there, warden, ids, above, folder, by_archive);
        if (!is_there) continue;
        warden_session met = co_await start_adopted(place, above + "/" + folder + "/warden", settings);
        co_await take_away(place, above, folder);
        co_return met;
      } catch (const error& failure) {
        if (failure.code() == exec_errc::cancelled || failure.code() == exec_errc::not_found) throw;
        last = failure;
      }
      if (is_there) co_await take_away(place, above, folder);
    }
  }
  throw error(exec_errc::unsupported,
              "docker: cannot install the warden in the container \"" + there.name + "\": " +
                  (last ? std::string(last->what())
                        : "the container has no directory that allows both writing and executing files"));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
