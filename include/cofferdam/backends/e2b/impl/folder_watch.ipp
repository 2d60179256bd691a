// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
#include <cofferdam/backends/e2b/detail/envd.hpp>
#include <cofferdam/backends/e2b/folder_watch.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/net/connect_client.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

#include <boost/json/object.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

COFFERDAM_DECL folder_watch::folder_watch(std::shared_ptr<detail::envd> daemon,
                                          cofferdam::detail::connect_stream stream)
    : daemon_(std::move(daemon)),
      stream_(new cofferdam::detail::connect_stream(std::move(stream)),
              [home = daemon_->home()](cofferdam::detail::connect_stream* dropped) {
                home.run_soon([dropped] { delete dropped; });
              }) {}

COFFERDAM_DECL awaitable<std::optional<folder_event>> folder_watch::next() {
  if (!daemon_)
    throw error(exec_errc::invalid_argument,
                "e2b: folder_watch: not open (default-constructed or moved from); call watch() first");
  return daemon_->home().run([daemon = daemon_, stream = stream_] { return next_of(daemon, stream); });
}

COFFERDAM_DECL awaitable<std::optional<folder_event>> folder_watch::next_of(
    std::shared_ptr<detail::envd> daemon, std::shared_ptr<cofferdam::detail::connect_stream> stream) {
  constexpr const char* doing = "watch a folder";
  for (;;) {
    const std::optional<std::string_view> message = co_await detail::envd::next_message(daemon, *stream, doing);
    if (!message) co_return std::nullopt;
    std::optional<folder_event> event = parse(*message);
    if (event) co_return event;
  }
}

COFFERDAM_DECL std::optional<folder_event> folder_watch::parse(std::string_view text) {
  const boost::json::object message =
      cofferdam::detail::parse_object(text, exec_errc::io_error, "e2b: a message about a folder");
  const boost::json::object* const event = cofferdam::detail::object_at(message, "filesystem");
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

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
