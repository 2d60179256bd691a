// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>

#include <asio/any_io_executor.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The receiving side of a server's connection. It reads the stream into a buffer of 32 KiB even while the handler of a
/// request does not read, so that the server detects a client that has disconnected. While the buffer is full, nothing
/// more is read or detected.
class http_input {
 public:
  http_input(const asio::any_io_executor& executor, byte_stream stream)
      : stream_(std::move(stream)), came_(executor), taken_(executor) {}

  byte_stream& stream() noexcept { return stream_; }
  /// Returns the received bytes that were not consumed yet. The view is valid until the calling coroutine waits again.
  bytes_view pending() const noexcept { return bytes_view(room_).subspan(begin_, end_ - begin_); }
  void consume(std::size_t count) noexcept {
    begin_ += count;
    if (count != 0) taken_.notify();
  }
  /// Returns true if no more bytes will arrive: the peer has ended its sending direction, or the connection is lost.
  bool ended() const noexcept { return ended_; }

  /// Reads until the stream ends, then waits until it is closed. At most one call at a time. Does not throw.
  /// \param left  called twice: when no more bytes will arrive, and when the stream was closed.
  awaitable<void> pump(std::function<void()> left) {
    try {
      while (!closed_) {
        make_room();
        if (end_ == room_.size()) {
          co_await taken_.wait();
          continue;
        }
        const std::span<std::byte> space = std::span<std::byte>(room_).subspan(end_);
        const std::size_t count = co_await stream_.read_some(space);
        if (count == 0) break;
        end_ += count;
        came_.notify();
      }
    } catch (const std::system_error&) {  // a failed stream is treated as an ended one
    }
    ended_ = true;
    came_.notify();
    left();
    while (!closed_) co_await taken_.wait();
    left();
  }

  /// Waits until more bytes are pending than before the call, or until the stream has ended.
  /// \return false if `due` was reached first.
  /// \throws error{exec_errc::cancelled} if the coroutine is cancelled.
  awaitable<bool> more(std::chrono::steady_clock::time_point due) {
    const std::size_t before = end_ - begin_;
    while (!ended_ && end_ - begin_ == before) {
      if (std::chrono::steady_clock::now() >= due) co_return false;
      const wait_result ended = co_await came_.wait(due);
      if (ended == wait_result::cancelled)
        throw error(exec_errc::cancelled, "cancelled while waiting for a request's body");
    }
    co_return true;
  }

  awaitable<void> end_sending() { return stream_.shutdown_send(); }

  void close() noexcept {
    closed_ = true;
    stream_.close();
    taken_.notify();
    came_.notify();
  }
  bool closed() const noexcept { return closed_; }

 private:
  void make_room() noexcept {
    if (begin_ == 0) return;
    std::copy(room_.begin() + static_cast<std::ptrdiff_t>(begin_), room_.begin() + static_cast<std::ptrdiff_t>(end_),
              room_.begin());
    end_ -= begin_;
    begin_ = 0;
  }

  byte_stream stream_;
  async_event came_;   // notified when bytes have arrived or the stream has ended
  async_event taken_;  // notified when bytes were consumed or the stream was closed
  std::array<std::byte, 32 * 1024> room_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool ended_ = false;
  bool closed_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
