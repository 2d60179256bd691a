// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/images.hpp>
#include <cofferdam/backends/docker/detail/owner.hpp>
#include <cofferdam/backends/docker/detail/scratch_container.hpp>
#include <cofferdam/backends/docker/detail/small_archive.hpp>
#include <cofferdam/backends/docker/detail/warden_volume.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/net/tar_reader.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The numeric user and group ids of a container's commands.
class user_ids {
 public:
  user_ids(std::uint32_t uid, std::uint32_t gid) : uid_(uid), gid_(gid) {}
  std::uint32_t uid() const noexcept { return uid_; }
  std::uint32_t gid() const noexcept { return gid_; }
  bool is_root() const noexcept { return uid_ == 0; }

 private:
  std::uint32_t uid_;
  std::uint32_t gid_;
};

/// Parses a user or group id. Returns no value if the text is not a number, or is the reserved id 4294967295.
inline std::optional<std::uint32_t> id_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value == 0xffffffffU) return std::nullopt;
  return value;
}

/// Splits a line of /etc/passwd or /etc/group into its fields.
inline std::vector<std::string_view> account_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t colon = line.find(':');
    fields.push_back(line.substr(0, colon));
    if (colon == std::string_view::npos) return fields;
    line.remove_prefix(colon + 1);
  }
}

/// Returns the ids of a user, determined as the daemon determines them. If no group is given, the user's line in
/// /etc/passwd determines the group.
/// \param user    `app`, `app:staff`, `1000` or `1000:1000`.
/// \param passwd  the content of /etc/passwd of the image; empty if the image has none.
/// \param group   the content of /etc/group of the image.
/// \throws error{exec_errc::invalid_argument} if a name does not exist.
/// \par Source  moby `libcontainer/user`: a numeric user needs no line; without a line, the group is 0.
inline user_ids resolve_user(std::string_view user, std::string_view passwd, std::string_view group) {
  const auto missing = [user](const char* what) {
    return error(exec_errc::invalid_argument, "docker: the image has no " + std::string(what) + " for \"" +
                                                  one_line(user, 120) + "\"; use numeric ids, such as 1000:1000");
  };
  const auto find = [](std::string_view file, std::string_view name,
                       std::optional<std::uint32_t> number) -> std::optional<std::vector<std::string_view>> {
    while (!file.empty()) {
      const std::string_view line = file.substr(0, file.find('\n'));
      file.remove_prefix(std::min(line.size() + 1, file.size()));
      std::vector<std::string_view> fields = account_fields(line);
      if (fields.size() < 3) continue;
      if (fields[0] == name || (number && id_number(fields[2]) == number)) return fields;
    }
    return std::nullopt;
  };
  const std::size_t colon = user.find(':');
  const std::string_view name = user.substr(0, colon);
  const std::optional<std::uint32_t> number = id_number(name);
  const auto account = find(passwd, name, number);
  std::optional<std::uint32_t> uid = number;
  if (!uid && account) uid = id_number((*account)[2]);
  if (!uid) throw missing("user");
  std::optional<std::uint32_t> gid = 0;
  if (account && account->size() > 3) gid = id_number((*account)[3]);
  if (colon != std::string_view::npos) {
    const std::string_view group_name = user.substr(colon + 1);
    gid = id_number(group_name);
    if (!gid) {
      const auto found = find(group, group_name, std::nullopt);
      gid = found ? id_number((*found)[2]) : std::nullopt;
    }
  }
  if (!gid) throw missing("group");
  return user_ids(*uid, *gid);
}

/// Reads a small file of a container. Returns an empty text if the file does not exist or is not a regular file.
/// \throws error{exec_errc::io_error} if the archive from the daemon is incomplete or damaged.
inline awaitable<std::string> small_file(std::shared_ptr<engine> api, std::string id, std::string path) {
  constexpr std::size_t max_bytes = 1024 * 1024;
  static const std::vector<int> absent{404};
  http_request what =
      api->request("GET", "/containers/" + id + "/archive?path=" + cofferdam::detail::percent_encoded(path));
  const cofferdam::detail::http_limits limits = cofferdam::detail::http_limits().body(max_bytes + 64 * 1024);
  const api_call doing = api->call("read a file of a container", path);
  http_response answer = co_await api->ask_within(std::move(what), doing, limits, absent);
  std::string content;
  if (answer.status() == 404) co_return content;
  try {
    cofferdam::detail::tar_reader reader;
    reader.feed(answer.body());
    bool is_file = false;
    for (cofferdam::detail::tar_event event = reader.next(); event != cofferdam::detail::tar_event::more;
         event = reader.next()) {
      if (event == cofferdam::detail::tar_event::head)
        is_file = reader.entry().type() == cofferdam::detail::tar_type::regular;
      if (event == cofferdam::detail::tar_event::data && is_file) content += as_text(reader.data());
      if (event == cofferdam::detail::tar_event::end_of_entry && is_file) co_return content;
    }
    // If the daemon fails in the middle of the response, it has already sent status 200. An incomplete archive must not
    // be accepted, because half of a file does not contain all users.
    reader.finish();
  } catch (const error& reason) {
    throw error(static_cast<exec_errc>(reason.code().value()), doing.failed() + ": " + reason.what());
  }
  co_return content;
}

/// Returns the ids of a user of an image. The result is cached in this process for each image and user.
inline awaitable<user_ids> ids_of(std::shared_ptr<engine> api, const image& from, std::string user, owner here) {
  const std::size_t colon = user.find(':');
  if (colon != std::string::npos) {
    const auto uid = id_number(std::string_view(user).substr(0, colon));
    const auto gid = id_number(std::string_view(user).substr(colon + 1));
    if (uid && gid) co_return user_ids(*uid, *gid);
  }
  static std::mutex mutex;
  static std::map<std::string, user_ids> known;
  const std::string key = from.id + " " + user;
  {
    const std::lock_guard lock(mutex);
    const auto found = known.find(key);
    if (found != known.end()) co_return found->second;
  }
  std::string passwd;
  std::string group;
  const auto read = [&](std::string id) -> awaitable<void> {
    passwd = co_await small_file(api, id, "/etc/passwd");
    if (user.find(':') != std::string::npos) group = co_await small_file(api, id, "/etc/group");
  };
  boost::json::object nothing;
  co_await with_scratch_container(api, from.id, here, std::move(nothing), std::ref(read));
  const user_ids found = resolve_user(user, passwd, group);
  const std::lock_guard lock(mutex);
  known.insert_or_assign(key, found);
  co_return found;
}

/// Makes the workspace folder in a container that has not been started. The folder belongs to the commands' user.
inline awaitable<void> give_workspace(std::shared_ptr<engine> api, std::string id, std::string path, user_ids ids) {
  cofferdam::detail::tar_entry folder(path.substr(1), cofferdam::detail::tar_type::directory);
  folder.mode(0755).owner(ids.uid(), ids.gid());
  bytes archive = small_archive().add(std::move(folder)).take();
  co_await put_archive(api, std::move(id), "/", std::move(archive));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
