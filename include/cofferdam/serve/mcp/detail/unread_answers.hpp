// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0::mcp::detail {

/// How many bytes of answers are kept for a session: those that its clients have not taken yet, and those that they may
/// come back for.
class unread_answers {
 public:
  /// From here on a request waits for its client to read, and is refused where that does not.
  static constexpr std::size_t most = std::size_t{64} * 1024 * 1024;
  /// What was begun before, or needs no work, is answered up to here.
  static constexpr std::size_t most_begun = 2 * most;
  static constexpr const char* complaint =
      "too many unread answers: more than 64 MiB wait to be read; read those, then ask again";

  std::size_t size() const noexcept { return size_; }
  bool is_full() const noexcept { return size_ >= most; }
  /// Whether the answer to what was begun may be kept. Alone it may have any size.
  bool has_room(std::size_t answer) const noexcept { return size_ == 0 || size_ + answer <= most_begun; }
  /// When a client last took a part of a long one.
  std::chrono::steady_clock::time_point taken() const noexcept { return taken_; }

  void add(std::size_t bytes) noexcept { size_ += bytes; }
  void remove(std::size_t bytes) noexcept { size_ -= bytes; }
  void took_part() noexcept { taken_ = std::chrono::steady_clock::now(); }

 private:
  std::size_t size_ = 0;
  std::chrono::steady_clock::time_point taken_ = std::chrono::steady_clock::now();
};

/// A text for a client, counted for as long as it is there.
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
  /// The client has taken a part of it.
  void took_part() const noexcept { of_->took_part(); }

 private:
  std::shared_ptr<unread_answers> of_;
  std::string text_;
};

}  // namespace cofferdam::inline v0::mcp::detail
