// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/json_members.hpp>
#include <cofferdam/backends/e2b/detail/envd.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/net/connect_client.hpp>

#include <boost/json/object.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0::e2b {

/// What has happened to a name.
enum class file_change { created, written, removed, renamed, mode_changed, other };

/// What is watched: a folder, or all that is beneath it too.
enum class watch_depth { folder, tree };

/// One thing that has happened in a folder that is watched.
class folder_event {
 public:
  folder_event() = default;
  folder_event(std::string path, file_change what) : path_(std::move(path)), what_(what) {}
  /// Relative to the folder.
  const std::string& path() const noexcept { return path_; }
  file_change what() const noexcept { return what_; }

 private:
  std::string path_;
  file_change what_ = file_change::other;
};

/// Hears what happens in a folder. Destroying it ends that.
/// \par Lifetime  not beyond its environment, whose `close()` ends it.
/// \par Threads   the environment's executor only; one `next` at a time.
class folder_watch {
 public:
  folder_watch() = default;
  folder_watch(std::shared_ptr<detail::envd> place, connect_stream stream)
      : place_(std::move(place)), stream_(std::move(stream)) {}

  /// Waits for what happens next.
  /// \return nothing where the watch has come to its end.
  /// \throws error{errc::provider_lost} where the sandbox or the connection is gone.
  /// \par Cancellation  terminal: ends the watch; throws error{errc::cancelled}.
  awaitable<std::optional<folder_event>> next() {
    constexpr const char* doing = "watch a folder";
    if (!place_) throw error(errc::invalid_argument, "e2b: there is no watch (default-constructed or moved from)");
    for (;;) {
      const std::optional<std::string_view> one = co_await detail::envd::next_message(place_, stream_, doing);
      if (!one) co_return std::nullopt;
      std::optional<folder_event> event = parse(*one);
      if (event) co_return event;
    }
  }

  /// One message of the stream; nothing for what is no event.
  /// \par Source  envd's filesystem.proto.
  static std::optional<folder_event> parse(std::string_view text) {
    const boost::json::object said =
        cofferdam::detail::parse_object(text, errc::io_error, "e2b: a message about a folder");
    const boost::json::object* const event = cofferdam::detail::object_at(said, "filesystem");
    if (event == nullptr) return std::nullopt;
    const std::string_view type = cofferdam::detail::text_at(*event, "type");
    file_change what = file_change::other;
    if (type == "EVENT_TYPE_CREATE") what = file_change::created;
    if (type == "EVENT_TYPE_WRITE") what = file_change::written;
    if (type == "EVENT_TYPE_REMOVE") what = file_change::removed;
    if (type == "EVENT_TYPE_RENAME") what = file_change::renamed;
    if (type == "EVENT_TYPE_CHMOD") what = file_change::mode_changed;
    return folder_event(std::string(cofferdam::detail::text_at(*event, "name")), what);
  }

 private:
  std::shared_ptr<detail::envd> place_;
  connect_stream stream_;
};

}  // namespace cofferdam::inline v0::e2b
