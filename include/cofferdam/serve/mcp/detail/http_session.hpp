// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/os/random_text.hpp>
#include <cofferdam/serve/mcp/detail/event_stream.hpp>
#include <cofferdam/serve/mcp/detail/session.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0::mcp::detail {

/// A session of HTTP: of the legacy era a client's own, of the modern era that of a token.
class http_session : public std::enable_shared_from_this<http_session> {
 public:
  http_session(std::shared_ptr<session> inside, std::string id, std::size_t owner)
      : inside(std::move(inside)), id(std::move(id)), owner(owner) {}

  std::shared_ptr<session> inside;
  std::string id;
  std::size_t owner;  // which token; 0 where there are none
  std::chrono::steady_clock::time_point used = std::chrono::steady_clock::now();
  std::size_t open_streams = 0;
  std::shared_ptr<event_stream> side;

  static std::string new_id() {
    return cofferdam::detail::random_characters(32, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
  }

  /// A stream for a request's messages, which is kept for a while behind its end.
  std::shared_ptr<event_stream> open_stream() {
    const auto made =
        std::make_shared<event_stream>(inside->core->executor(), inside->unread, new_id().substr(0, 16), true);
    made->on_left([of = weak_from_this()] {
      if (const auto self = of.lock()) self->forget_old();
    });
    streams_.push_back(made);
    return made;
  }
  /// The one that an event of this id belongs to, and the event's number; null where there is none any more.
  std::shared_ptr<event_stream> find(std::string_view event_id, std::uint64_t& number) const {
    const std::size_t mark = event_id.rfind('_');
    if (mark == std::string_view::npos || mark + 1 == event_id.size() || event_id.size() - mark > 19) return nullptr;
    number = 0;
    for (const char c : event_id.substr(mark + 1)) {
      if (c < '0' || c > '9') return nullptr;
      number = number * 10 + static_cast<std::uint64_t>(c - '0');
    }
    const std::string_view stream = event_id.substr(0, mark);
    if (side && side->id() == stream) return side;
    for (const auto& one : streams_)
      if (one->id() == stream) return one;
    return nullptr;
  }

  bool is_idle(std::chrono::steady_clock::time_point since) const {
    return used < since && open_streams == 0 && inside->requests() == 0;
  }

 private:
  static constexpr std::size_t most_ended = 32;
  static constexpr std::size_t most_ended_bytes = std::size_t{4} * 1024 * 1024;

  /// Of what has ended and nobody reads the newest stay, within the limits.
  void forget_old() noexcept {
    std::size_t count = 0;
    std::size_t size = 0;
    for (auto at = streams_.end(); at != streams_.begin();) {
      --at;
      if (!(*at)->is_done() || (*at)->is_attached()) continue;
      if (count == most_ended || size + (*at)->size() > most_ended_bytes) {
        at = streams_.erase(at);
      } else {
        ++count;
        size += (*at)->size();
      }
    }
  }

  std::list<std::shared_ptr<event_stream>> streams_;
};

}  // namespace cofferdam::inline v0::mcp::detail
