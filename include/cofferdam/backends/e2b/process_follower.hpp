// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/detail/envd.hpp>
#include <cofferdam/backends/e2b/process_event.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/net/connect_client.hpp>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0::e2b {

/// Hears what a process says that somebody else has started, from now on: what it said before is gone. Destroying it ends
/// that, and leaves the process running. While it is there and not read, the process waits once its pipe is full.
/// \par Lifetime  not beyond its environment, whose `close()` ends it.
/// \par Threads   the environment's executor only; one `next` at a time.
class process_follower {
 public:
  process_follower() = default;
  process_follower(std::shared_ptr<detail::envd> place, connect_stream stream)
      : place_(std::move(place)), stream_(std::move(stream)) {}

  /// The next piece of its output, or its end; nothing where nothing more comes.
  /// \throws error{errc::not_found} where there is no such process; error{errc::provider_lost} where the sandbox or the
  ///         connection is gone.
  /// \par Cancellation  terminal: ends the following; throws error{errc::cancelled}.
  awaitable<std::optional<process_event>> next() {
    constexpr const char* doing = "follow a process";
    if (!place_)
      throw error(errc::invalid_argument, "e2b: there is nothing to follow (default-constructed or moved from)");
    for (;;) {
      const std::optional<std::string_view> one = co_await detail::envd::next_message(place_, stream_, doing);
      if (!one) co_return std::nullopt;
      std::optional<process_event> event = process_event::parse(*one);
      const bool is_news = event->what != process_event::kind::start && event->what != process_event::kind::other;
      if (is_news) co_return event;
    }
  }

 private:
  std::shared_ptr<detail::envd> place_;
  connect_stream stream_;
};

}  // namespace cofferdam::inline v0::e2b
