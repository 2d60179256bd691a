// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/detail/envd.hpp>
#include <cofferdam/backends/e2b/process_event.hpp>
#include <cofferdam/backends/e2b/process_follower.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/net/connect_client.hpp>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

COFFERDAM_DECL process_follower::process_follower(std::shared_ptr<detail::envd> daemon,
                                                  cofferdam::detail::connect_stream stream)
    : daemon_(std::move(daemon)),
      stream_(new cofferdam::detail::connect_stream(std::move(stream)),
              [home = daemon_->home()](cofferdam::detail::connect_stream* dropped) {
                home.run_soon([dropped] { delete dropped; });
              }) {}

COFFERDAM_DECL awaitable<std::optional<process_event>> process_follower::next() {
  if (!daemon_)
    throw error(exec_errc::invalid_argument,
                "e2b: process_follower: not open (default-constructed or moved from); call follow() first");
  return daemon_->home().run([daemon = daemon_, stream = stream_] { return next_of(daemon, stream); });
}

COFFERDAM_DECL awaitable<std::optional<process_event>> process_follower::next_of(
    std::shared_ptr<detail::envd> daemon, std::shared_ptr<cofferdam::detail::connect_stream> stream) {
  constexpr const char* doing = "follow a process";
  for (;;) {
    const std::optional<std::string_view> message = co_await detail::envd::next_message(daemon, *stream, doing);
    if (!message) co_return std::nullopt;
    std::optional<process_event> event = process_event::parse(*message);
    const bool is_news = event->what != process_event::kind::start && event->what != process_event::kind::other;
    if (is_news) co_return event;
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
