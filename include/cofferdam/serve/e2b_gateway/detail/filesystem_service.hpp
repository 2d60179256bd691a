// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/directory_watch.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/serve/e2b_gateway/detail/guest_files.hpp>
#include <cofferdam/serve/e2b_gateway/detail/rpc.hpp>
#include <cofferdam/serve/e2b_gateway/detail/served_sandbox.hpp>
#include <cofferdam/serve/e2b_gateway/detail/watch.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// The service `filesystem.Filesystem` of envd, E2B's daemon in a sandbox: files, directories and watches.
/// \par Source  envd's filesystem.proto.
class filesystem_service {
 public:
  explicit filesystem_service(rpc_call& rpc) noexcept : rpc_(rpc), sandbox_(*rpc.sandbox()), files_(sandbox_) {}

  static bool is_stream(std::string_view method) noexcept { return method == "WatchDir"; }
  static bool is_unary(std::string_view method) noexcept {
    return method == "Stat" || method == "ListDir" || method == "MakeDir" || method == "Move" || method == "Remove" ||
           method == "CreateWatcher" || method == "GetWatcherEvents" || method == "RemoveWatcher";
  }

  awaitable<boost::json::object> unary(std::string method) {
    boost::json::object answer;
    if (method == "Stat") answer = co_await stat();
    if (method == "ListDir") answer = co_await list();
    if (method == "MakeDir") answer = co_await make_directory();
    if (method == "Move") answer = co_await move();
    if (method == "Remove") co_await remove();
    if (method == "CreateWatcher") answer = co_await create_watcher();
    if (method == "GetWatcherEvents") answer = co_await watcher_events();
    if (method == "RemoveWatcher") {
      const std::string id = watcher_id();
      if (sandbox_.watchers().erase(id) == 0) throw no_watcher(id);
    }
    co_return answer;
  }

  awaitable<void> stream(std::string) {
    co_await rpc_.read_only_envelope();
    co_await watch();
  }

 private:
  using milliseconds = std::chrono::milliseconds;

  guest_files& files() noexcept { return files_; }

  static constexpr std::size_t max_listed = 20'000;
  static constexpr std::size_t max_listed_bytes = std::size_t{16} * 1024 * 1024;

  message_fields fields() const noexcept { return message_fields(rpc_.message()); }
  std::string text_of(std::string_view name) const { return fields().text(name).value_or(std::string()); }
  std::string inside(std::string_view path) const { return sandbox_.paths().inside(path); }
  std::string locate(std::string_view path) const { return sandbox_.paths().locate(path); }

  /// Returns the entry at this path; no value if it does not exist.
  awaitable<std::optional<directory_entry>> look(std::string path) {
    std::optional<directory_entry> found;
    try {
      const directory_entry entry = co_await files().stat(std::move(path));
      found = entry;
    } catch (const error& failure) {
      if (failure.code() != exec_errc::not_found && failure.code() != exec_errc::not_a_directory) throw;
    }
    co_return found;
  }
  /// Replaces a symbolic link to a directory by that directory. As envd, this follows a link at the end of the path of
  /// a directory; the environment's own file operations do not.
  /// \param path  the path of `found`; receives the path of the directory.
  awaitable<void> follow(std::string& path, std::optional<directory_entry>& found) {
    if (!found || found->type() != file_type::symlink) co_return;
    std::optional<std::string> target = co_await files().directory_behind(path);
    if (!target) co_return;
    found = co_await look(*target);
    path = std::move(*target);
  }

  /// Changes the descriptions of symbolic links, as envd describes them: with the type of the target. A link without a
  /// target has no type and no mode, and its own path as the target. Links keep their own type if the command that
  /// follows them fails.
  /// \param entries  the descriptions of the entries.
  /// \param paths    their paths, as `locate` returns them.
  awaitable<void> follow_types(std::vector<boost::json::object>& entries, const std::vector<std::string>& paths) {
    std::vector<std::size_t> links;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (cofferdam::detail::text_at(entries[i], "type") != "FILE_TYPE_SYMLINK") continue;
      links.push_back(i);
      names.push_back(paths[i]);
    }
    if (links.empty()) co_return;
    const std::string kinds = co_await files().kinds_behind(std::move(names));
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      boost::json::object& entry = entries[links[i]];
      entry.erase("type");
      if (kinds[i] == 'd') entry["type"] = "FILE_TYPE_DIRECTORY";
      if (kinds[i] == 'f') entry["type"] = "FILE_TYPE_FILE";
      if (kinds[i] != '-') continue;
      entry.erase("mode");
      entry["symlinkTarget"] = entry.at("path");
    }
  }

  /// Returns the description of an entry, as envd gives it.
  awaitable<boost::json::object> described(directory_entry found, std::string path) {
    const metadata_store::values metadata = co_await files().metadata_of(path);
    std::vector<boost::json::object> entries{sandbox_.describe(found, path, metadata)};
    const std::vector<std::string> paths{std::move(path)};
    co_await follow_types(entries, paths);
    co_return std::move(entries.front());
  }
  awaitable<boost::json::object> entry_answer(directory_entry found, std::string path) {
    co_await served_sandbox::learn_names(sandbox_, found);
    boost::json::object answer;
    boost::json::object entry = co_await described(std::move(found), std::move(path));
    answer["entry"] = std::move(entry);
    co_return answer;
  }

  awaitable<boost::json::object> stat() {
    const std::string given = text_of("path");
    const std::string path = locate(given);
    std::optional<directory_entry> found = co_await look(path);
    if (!found)
      throw rpc_failure(
          cofferdam::detail::connect_code::not_found,
          "file not found: lstat " + shown(sandbox_.paths().outside(path)) + ": no such file or directory");
    boost::json::object answer = co_await entry_answer(std::move(*found), path);
    co_return answer;
  }

  awaitable<boost::json::object> list() {
    const std::string path = locate(text_of("path"));
    const std::uint32_t asked = fields().number("depth").value_or(1);
    const std::uint32_t depth = asked == 0 ? 1 : asked;
    std::optional<directory_entry> found = co_await look(path);
    std::string place = path;
    co_await follow(place, found);
    check_directory(found, path, "path not found: path ", "path is not a directory: ");
    co_await rpc_.take_listing();
    const list_options options = list_options().depth(depth).entries(max_listed);
    const std::vector<directory_entry> listing = co_await listed(
        place, options,
        "more than " + std::to_string(max_listed) + " entries; list a directory below it, or fewer levels");
    if (!listing.empty()) co_await served_sandbox::learn_names(sandbox_, listing.front());
    guest_files::metadata_map metadata = co_await files().metadata_below(place, depth);
    std::vector<boost::json::object> entries;
    std::vector<std::string> paths;
    for (const directory_entry& entry : listing) {
      paths.push_back(below(path, entry.path()));
      entries.push_back(sandbox_.describe(entry, paths.back(), metadata[entry.path()]));
    }
    co_await follow_types(entries, paths);
    boost::json::object answer;
    if (!entries.empty())
      answer["entries"] =
          boost::json::array(std::make_move_iterator(entries.begin()), std::make_move_iterator(entries.end()));
    co_return answer;
  }

  awaitable<boost::json::object> make_directory() {
    const std::string path = locate(text_of("path"));
    std::optional<directory_entry> found = co_await look(path);
    std::string place = path;
    co_await follow(place, found);
    if (found && found->is_directory())
      throw rpc_failure(cofferdam::detail::connect_code::already_exists,
                        "directory already exists: " + shown(sandbox_.paths().outside(path)));
    if (found)
      throw rpc_failure(cofferdam::detail::connect_code::invalid_argument,
                        "path already exists but it is not a directory: " + shown(sandbox_.paths().outside(path)));
    co_await files().make_directory(path);
    found = co_await look(path);
    if (!found) throw error(exec_errc::not_found, "make directory: the directory was removed again");
    boost::json::object answer = co_await entry_answer(std::move(*found), path);
    co_return answer;
  }

  awaitable<boost::json::object> move() {
    const std::string from = locate(text_of("source"));
    const std::string to = locate(text_of("destination"));
    if (is_root(from) || is_root(to))
      throw rpc_failure(cofferdam::detail::connect_code::invalid_argument,
                        "the home directory itself cannot be moved or replaced");
    std::optional<directory_entry> found = co_await look(from);
    if (!found)
      throw rpc_failure(cofferdam::detail::connect_code::not_found,
                        "source file not found: rename " + shown(sandbox_.paths().outside(from)) + " " +
                            shown(sandbox_.paths().outside(to)) + ": no such file or directory");
    const std::size_t slash = to.rfind('/');
    if (slash != std::string::npos && slash != 0) co_await files().make_directory(to.substr(0, slash));
    co_await files().rename(from, to);
    found = co_await look(to);
    if (!found) throw error(exec_errc::not_found, "move: the file was removed again");
    boost::json::object answer = co_await entry_answer(std::move(*found), to);
    co_return answer;
  }

  awaitable<void> remove() {
    const std::string path = locate(text_of("path"));
    if (is_root(path))
      throw rpc_failure(cofferdam::detail::connect_code::invalid_argument,
                        "the home directory itself cannot be removed");
    try {
      co_await files().remove(path);
    } catch (const error& failure) {
      if (failure.code() != exec_errc::not_found && failure.code() != exec_errc::not_a_directory) throw;
    }
  }

  // ---- watching directories ----
  class watching {
   public:
    watching(served_sandbox& sandbox, std::size_t max_watchers) : sandbox_(sandbox) {
      if (sandbox.watching + sandbox.watchers().size() >= max_watchers)
        throw rpc_failure(cofferdam::detail::connect_code::resource_exhausted,
                          "the sandbox has the maximum number of watchers of this gateway");
      ++sandbox_.watching;
    }
    watching(const watching&) = delete;
    watching& operator=(const watching&) = delete;
    ~watching() { --sandbox_.watching; }

   private:
    served_sandbox& sandbox_;
  };

  awaitable<std::shared_ptr<served_watch>> begin_watch() {
    const std::string path = inside(text_of("path"));
    std::optional<directory_entry> found = co_await look(path);
    std::string place = path;
    co_await follow(place, found);
    check_directory(found, path, "path ", "path is not a directory: ");
    place = inside(place);
    const watch_options options = watch_options()
                                      .recursive(fields().boolean("recursive").value_or(false))
                                      .interval(rpc_.core()->options().watch_interval());
    const bool with_entries =
        fields().boolean("includeEntry").value_or(fields().boolean("include_entry").value_or(false));
    rpc_.forget();
    co_await sandbox_.looks().acquire(1, "watch");
    const cofferdam::detail::held_permits turn(sandbox_.looks(), 1);
    if (with_entries) co_await served_sandbox::learn_names(sandbox_, *found);
    directory_watch watch = co_await sandbox_.environment().files().watch(place, options);
    co_return std::make_shared<served_watch>(path, with_entries, std::move(watch));
  }

  /// Lists a directory.
  /// \param sentence  the error message if there are more entries than `options` allows.
  awaitable<std::vector<directory_entry>> listed(std::string path, list_options options, std::string sentence) {
    options.path_bytes(max_listed_bytes);
    bool is_too_much = false;
    std::vector<directory_entry> entries;
    try {
      entries = co_await files().list(path, options);
    } catch (const error& failure) {
      if (failure.code() != exec_errc::too_large) throw;
      is_too_much = true;
    }
    if (is_too_much) throw rpc_failure(cofferdam::detail::connect_code::invalid_argument, sentence);
    co_return entries;
  }

  /// Returns the events of a watch as JSON. The entries are those that exist now.
  awaitable<std::vector<boost::json::object>> event_objects(std::shared_ptr<served_watch> watch,
                                                            std::vector<file_event> events) {
    std::vector<boost::json::object> objects;
    objects.reserve(events.size());
    std::map<std::string, std::optional<boost::json::object>, std::less<>> entries;
    for (const file_event& event : events) {
      boost::json::object object;
      object["name"] = valid_json_text(event.name());
      const std::string_view type = event.type();
      object["type"] = type;
      const bool has_entry = watch->with_entries() && type != "EVENT_TYPE_REMOVE" && type != "EVENT_TYPE_RENAME";
      if (has_entry) {
        const std::string path = cofferdam::detail::joined_path(watch->path(), event.name());
        auto known = entries.find(path);
        if (known == entries.end()) {
          std::optional<boost::json::object> entry;
          std::optional<directory_entry> found = co_await look(path);
          if (found) entry = co_await described(std::move(*found), path);
          known = entries.emplace(path, std::move(entry)).first;
        }
        if (known->second) object["entry"] = *known->second;
      }
      objects.push_back(std::move(object));
    }
    co_return objects;
  }

  /// Returns the events of a watch so far. If there are none, waits for some, at most for `limit`.
  awaitable<std::vector<boost::json::object>> changes(std::shared_ptr<served_watch> watch, milliseconds limit) {
    // A watch that lists waits here, without a permit.
    const milliseconds wait = watch->lists() ? milliseconds(0) : limit;
    if (watch->lists() && limit.count() > 0)
      co_await served_watch::pause(std::min(limit, rpc_.core()->options().watch_interval()));
    std::vector<file_event> events;
    std::optional<error> failure;
    try {
      if (wait.count() == 0) {
        co_await sandbox_.looks().acquire(1, "watch");
        const cofferdam::detail::held_permits turn(sandbox_.looks(), 1);
        events = co_await watch->next(wait);
      } else {
        events = co_await watch->next(wait);
      }
    } catch (const error& reason) {
      if (reason.code() != exec_errc::too_large) throw;
      failure = reason;
    }
    if (failure)
      throw rpc_failure(cofferdam::detail::connect_code::internal, std::string("watcher error: ") + failure->what());
    std::vector<boost::json::object> objects = co_await event_objects(std::move(watch), std::move(events));
    co_return objects;
  }

  awaitable<void> watch() {
    const watching mine(sandbox_, rpc_.core()->options().watchers());
    const std::shared_ptr<served_watch> watch = co_await begin_watch();
    http_call& call = rpc_.call();
    co_await rpc_.begin_stream();
    const std::string begun = cofferdam::detail::connect_message(R"({"start":{}})");
    co_await call.write(begun);
    const std::string alive = cofferdam::detail::connect_message(R"({"keepalive":{}})");
    steady_clock::time_point ping = steady_clock::now() + rpc_.keepalive();
    for (;;) {
      const steady_clock::time_point until = rpc_.due() ? std::min(ping, *rpc_.due()) : ping;
      const auto wait = std::chrono::ceil<milliseconds>(until - steady_clock::now());
      // A watch of a directory that has ended does not report the end of the sandbox.
      std::vector<boost::json::object> events =
          co_await changes(watch, std::clamp(wait, milliseconds(1), milliseconds(1000)));
      if (sandbox_.now() == served_sandbox::state::ended)
        throw error(exec_errc::environment_closed, "the sandbox has ended");
      for (boost::json::object& event : events) {
        boost::json::object object;
        object["filesystem"] = std::move(event);
        const std::string text = cofferdam::detail::connect_message(boost::json::serialize(object));
        co_await call.write(text);
        ping = steady_clock::now() + rpc_.keepalive();
      }
      if (rpc_.due() && steady_clock::now() >= *rpc_.due()) {
        co_await rpc_.end_stream(cofferdam::detail::connect_code::deadline_exceeded, "context deadline exceeded");
        co_return;
      }
      if (steady_clock::now() >= ping) {
        co_await call.write(alive);
        ping = steady_clock::now() + rpc_.keepalive();
      }
    }
  }

  awaitable<boost::json::object> create_watcher() {
    const watching mine(sandbox_, rpc_.core()->options().watchers());
    const std::shared_ptr<served_watch> created = co_await begin_watch();
    const std::string id = "w" + cofferdam::detail::random_characters(20, "abcdefghijklmnopqrstuvwxyz0123456789");
    if (sandbox_.now() != served_sandbox::state::ended) sandbox_.watchers().emplace(id, created);
    boost::json::object answer;
    answer["watcherId"] = id;
    co_return answer;
  }

  awaitable<boost::json::object> watcher_events() {
    const std::string id = watcher_id();
    const auto found = sandbox_.watchers().find(id);
    if (found == sandbox_.watchers().end()) throw no_watcher(id);
    const std::shared_ptr<served_watch> watch = found->second;
    co_await rpc_.take_listing();
    std::vector<boost::json::object> happened = co_await changes(watch, milliseconds(0));
    boost::json::array events;
    for (boost::json::object& event : happened) events.push_back(std::move(event));
    boost::json::object answer;
    if (!events.empty()) answer["events"] = std::move(events);
    co_return answer;
  }

  /// Returns the path of an entry in a directory, in the form of `locate`.
  static std::string below(const std::string& directory, const std::string& name) {
    return directory == "/" ? "/" + name : cofferdam::detail::joined_path(directory, name);
  }
  /// Returns true for the home and for the root directory, which clients cannot move or remove.
  static bool is_root(std::string_view path) noexcept { return path == "." || path == "/"; }
  std::string watcher_id() const {
    return fields().text("watcherId").value_or(fields().text("watcher_id").value_or(std::string()));
  }
  static rpc_failure no_watcher(std::string_view id) {
    return {cofferdam::detail::connect_code::not_found, "watcher with id " + one_line(id.substr(0, 64)) + " not found"};
  }
  static std::string shown(std::string_view path) {
    std::string text;
    cofferdam::detail::append_repaired_utf8(text, path);
    return text;
  }
  void check_directory(const std::optional<directory_entry>& found, std::string_view path, std::string_view missing,
                       std::string_view no_directory) const {
    const std::string name = shown(sandbox_.paths().outside(path));
    if (!found)
      throw rpc_failure(cofferdam::detail::connect_code::not_found,
                        std::string(missing) + name + " not found: lstat " + name + ": no such file or directory");
    if (!found->is_directory())
      throw rpc_failure(cofferdam::detail::connect_code::invalid_argument, std::string(no_directory) + name);
  }

  rpc_call& rpc_;
  served_sandbox& sandbox_;
  guest_files files_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
