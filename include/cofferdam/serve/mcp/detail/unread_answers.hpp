// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/async_event.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// A counter for the bytes in memory of the answers of one session (the work for one client, or for clients that share
/// a token): unread answers, and answers that a client may fetch after it has reconnected.
class unread_answers {
 public:
  /// The limit in bytes at which a new request has to wait until its client has read earlier answers. If the client
  /// does not read, the request is refused.
  static constexpr std::size_t max_bytes = std::size_t{64} * 1024 * 1024;
  /// The limit in bytes for the answers to requests that have already begun, or that need no waiting.
  static constexpr std::size_t max_begun = 2 * max_bytes;
  static constexpr const char* complaint =
      "too many unread answers: more than 64 MiB wait to be read; read them, then send the request again";

  explicit unread_answers(asio::any_io_executor executor) noexcept : removed_(std::move(executor)) {}

  std::size_t size() const noexcept { return size_; }
  bool is_full() const noexcept { return size_ >= max_bytes; }
  /// Returns true if an answer of this size may be stored for a request that has already begun. A single answer may
  /// have any size.
  bool has_room(std::size_t answer) const noexcept { return size_ == 0 || size_ + answer <= max_begun; }
  /// Returns the last time at which a client has read a part of a long answer.
  std::chrono::steady_clock::time_point taken() const noexcept { return taken_; }

  void add(std::size_t bytes) noexcept { size_ += bytes; }
  void remove(std::size_t bytes) noexcept {
    size_ -= bytes;
    removed_.notify();
  }
  void took_part() noexcept { taken_ = std::chrono::steady_clock::now(); }

  /// Waits until an answer was removed. See `async_event::wait`.
  awaitable<cofferdam::detail::wait_result> wait(std::chrono::steady_clock::time_point until) {
    return removed_.wait(until);
  }

 private:
  cofferdam::detail::async_event removed_;
  std::size_t size_ = 0;
  std::chrono::steady_clock::time_point taken_ = std::chrono::steady_clock::now();
};

/// A text for a client. Its bytes count as unread as long as the object exists.
class unread_text {
 public:
  unread_text(std::shared_ptr<unread_answers> of, std::string text) : of_(std::move(of)), text_(std::move(text)) {
    of_->add(text_.size());
  }
  unread_text(const unread_text&) = delete;
  unread_text& operator=(const unread_text&) = delete;
  ~unread_text() { of_->remove(text_.size()); }

  std::string_view view() const noexcept { return text_; }
  std::size_t size() const noexcept { return text_.size(); }
  /// Records that the client has read a part of the text.
  void took_part() const noexcept { of_->took_part(); }

 private:
  std::shared_ptr<unread_answers> of_;
  std::string text_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
