// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/net/byte_stream.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0::detail {

/// A stream that is read ahead of whoever takes the bytes, into a buffer that does not grow, so that the peer's leaving is
/// noticed while nobody reads. With a full buffer nothing more is read, nor noticed.
class http_input {
 public:
  http_input(const asio::any_io_executor& executor, byte_stream stream)
      : stream_(std::move(stream)), came_(executor), taken_(executor) {}

  byte_stream& stream() noexcept { return stream_; }
  /// What has come and was not consumed; valid until the next wait.
  bytes_view pending() const noexcept { return bytes_view(room_).subspan(begin_, end_ - begin_); }
  void consume(std::size_t count) noexcept {
    begin_ += count;
    if (count != 0) taken_.cancel();
  }
  /// Whether nothing more will come: the peer has ended what it sends, or the connection is gone.
  bool ended() const noexcept { return ended_; }

  /// Reads until the stream ends, and waits until it is closed; at most one at a time. Does not throw.
  /// \param left  called when nothing more will come, and when the stream has been closed.
  awaitable<void> pump(std::function<void()> left) {
    try {
      while (!closed_) {
        make_room();
        if (end_ == room_.size()) {
          co_await wait_for_room();
          continue;
        }
        const std::span<std::byte> space = std::span<std::byte>(room_).subspan(end_);
        const std::size_t count = co_await stream_.read_some(space);
        if (count == 0) break;
        end_ += count;
        came_.cancel();
      }
    } catch (const std::system_error&) {  // however it ended, nothing more comes
    }
    ended_ = true;
    came_.cancel();
    left();
    while (!closed_) co_await wait_for_room();
    left();
  }

  /// Waits until something has come beyond what is pending, or the end. \return false where `due` came first.
  /// \throws error{errc::cancelled}
  awaitable<bool> more(std::chrono::steady_clock::time_point due) {
    const std::size_t before = end_ - begin_;
    while (!ended_ && end_ - begin_ == before) {
      if (std::chrono::steady_clock::now() >= due) co_return false;
      came_.expires_at(due);
      std::error_code woken;
      co_await came_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none)
        throw error(errc::cancelled, "cancelled while waiting for a request's body");
    }
    co_return true;
  }

  awaitable<void> end_sending() { return stream_.shutdown_send(); }

  void close() noexcept {
    closed_ = true;
    stream_.close();
    wake(taken_);
    wake(came_);
  }
  bool closed() const noexcept { return closed_; }

 private:
  /// Until something was consumed, or the stream closed.
  awaitable<void> wait_for_room() {
    taken_.expires_at(std::chrono::steady_clock::time_point::max());
    std::error_code woken;
    co_await taken_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  static void wake(asio::steady_timer& timer) noexcept {
    try {
      timer.cancel();
    } catch (const std::system_error&) {  // a timer that cannot be cancelled has nobody waiting
    }
  }
  void make_room() noexcept {
    if (begin_ == 0) return;
    std::copy(room_.begin() + static_cast<std::ptrdiff_t>(begin_), room_.begin() + static_cast<std::ptrdiff_t>(end_),
              room_.begin());
    end_ -= begin_;
    begin_ = 0;
  }

  byte_stream stream_;
  asio::steady_timer came_;
  asio::steady_timer taken_;
  std::array<std::byte, 32 * 1024> room_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool ended_ = false;
  bool closed_ = false;
};

}  // namespace cofferdam::inline v0::detail
