// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/serve/mcp/detail/event_stream.hpp>
#include <cofferdam/serve/mcp/detail/session.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// A session over HTTP. In the legacy era (protocol versions up to 2025-11-25) it belongs to one client. In the modern
/// era (2026-07-28) it belongs to a token and a place name (a client's name for an environment), and several clients
/// may share it.
class http_session : public std::enable_shared_from_this<http_session> {
 public:
  http_session(std::shared_ptr<session> served, std::string session_id, std::size_t token)
      : inside(std::move(served)), id(std::move(session_id)), owner(token) {}

  std::shared_ptr<session> inside;
  std::string id;
  std::size_t owner;  // the index of the token; 0 if the server has no tokens
  std::chrono::steady_clock::time_point used = std::chrono::steady_clock::now();
  std::size_t open_streams = 0;
  std::shared_ptr<event_stream> side;

  static std::string new_id() {
    return cofferdam::detail::random_characters(32, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
  }

  /// Opens a stream for the messages of one request. After its end the stream is kept for a client that reconnects,
  /// until `forget_old` removes it.
  std::shared_ptr<event_stream> open_stream() {
    const auto stream =
        std::make_shared<event_stream>(inside->core->executor(), inside->unread, new_id().substr(0, 16), true);
    stream->on_left([of = weak_from_this()] {
      if (const auto self = of.lock()) self->forget_old();
    });
    streams_.push_back(stream);
    return stream;
  }
  /// Finds the stream that contains the event with this id; null if the stream was removed, or if the id is invalid.
  /// \param number  receives the number of the event.
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
    for (const auto& candidate : streams_)
      if (candidate->id() == stream) return candidate;
    return nullptr;
  }

  bool is_idle(std::chrono::steady_clock::time_point since) const {
    return used < since && open_streams == 0 && inside->requests() == 0;
  }

 private:
  static constexpr std::size_t max_ended = 32;
  static constexpr std::size_t max_ended_bytes = std::size_t{4} * 1024 * 1024;

  /// Removes the oldest streams that have ended and are not being sent to a client, until the others are within the
  /// limits.
  void forget_old() noexcept {
    std::size_t count = 0;
    std::size_t size = 0;
    for (auto at = streams_.end(); at != streams_.begin();) {
      --at;
      if (!(*at)->is_done() || (*at)->is_attached()) continue;
      if (count == max_ended || size + (*at)->size() > max_ended_bytes) {
        at = streams_.erase(at);
      } else {
        ++count;
        size += (*at)->size();
      }
    }
  }

  std::list<std::shared_ptr<event_stream>> streams_;
};

/// A scope object that cancels a request in its destructor, if the request is still running.
class cancelling {
 public:
  explicit cancelling(std::shared_ptr<request> of) : of_(std::move(of)) {}
  cancelling(const cancelling&) = delete;
  cancelling& operator=(const cancelling&) = delete;
  ~cancelling() {
    if (of_) session::cancel(of_);
  }

 private:
  std::shared_ptr<request> of_;
};

/// A scope object that marks a session as used, so that it is not ended as idle.
class in_use {
 public:
  explicit in_use(http_session& of) : of_(of) { ++of_.open_streams; }
  in_use(const in_use&) = delete;
  in_use& operator=(const in_use&) = delete;
  ~in_use() {
    --of_.open_streams;
    of_.used = std::chrono::steady_clock::now();
  }

 private:
  http_session& of_;
};

/// A scope object of a coroutine that sends a stream to its client. Attaches to the stream in the constructor, and
/// detaches in the destructor.
class attached {
 public:
  explicit attached(std::shared_ptr<event_stream> of) : of_(std::move(of)), writer_(of_->attach()) {}
  attached(const attached&) = delete;
  attached& operator=(const attached&) = delete;
  ~attached() { of_->detach(writer_); }
  std::uint64_t writer() const noexcept { return writer_; }

 private:
  std::shared_ptr<event_stream> of_;
  std::uint64_t writer_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
