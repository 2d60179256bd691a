// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <span>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The result of waiting for bytes.
enum class arrival { bytes, end, too_late, full };

/// A stream with one buffer of 64 KiB for received bytes that were not consumed yet.
template <class = void>
class basic_buffered_stream {
 public:
  using clock = std::chrono::steady_clock;

  basic_buffered_stream() = default;
  explicit basic_buffered_stream(byte_stream stream) : stream_(std::move(stream)) {}

  byte_stream& stream() noexcept { return stream_; }
  explicit operator bool() const noexcept { return static_cast<bool>(stream_); }
  /// Returns the received bytes that were not consumed yet. The view is valid until the next call of `more`.
  bytes_view pending() const noexcept { return bytes_view(room_).subspan(begin_, end_ - begin_); }
  void consume(std::size_t count) noexcept { begin_ += count; }
  /// Returns the pending bytes and forgets them.
  bytes take() {
    const bytes_view view = pending();
    bytes result(view.begin(), view.end());
    begin_ = end_;
    return result;
  }
  /// Replaces the stream by another one, which has its own bytes.
  byte_stream exchange(byte_stream stream) noexcept {
    begin_ = end_ = 0;
    return std::exchange(stream_, std::move(stream));
  }

  /// Waits for more bytes.
  /// \param due  the time at which the wait ends at the latest. The stream stays usable.
  awaitable<arrival> more(clock::time_point due = clock::time_point::max()) {
    make_room();
    if (end_ == room_.size()) co_return arrival::full;
    const std::span<std::byte> into = std::span<std::byte>(room_).subspan(end_);
    std::size_t count = 0;
    if (due == clock::time_point::max()) {
      count = co_await stream_.read_some(into);
    } else {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      asio::steady_timer timer(executor, due);
      auto both = asio::experimental::make_parallel_group(
          asio::co_spawn(executor, stream_.read_some(into), detail::deferred), timer.async_wait(detail::deferred));
      auto result = co_await both.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
      const auto& [order, failure, received, woken] = result;
      if (failure && order[0] == 1 && !woken) co_return arrival::too_late;
      if (failure) std::rethrow_exception(failure);
      count = received;
    }
    if (count == 0) co_return arrival::end;
    end_ += count;
    co_return arrival::bytes;
  }

 private:
  static constexpr std::size_t size = std::size_t{64} * 1024;

  void make_room() {
    if (room_.empty()) room_.resize(size);
    if (begin_ == 0) return;
    std::copy(room_.begin() + static_cast<std::ptrdiff_t>(begin_), room_.begin() + static_cast<std::ptrdiff_t>(end_),
              room_.begin());
    end_ -= begin_;
    begin_ = 0;
  }

  byte_stream stream_;
  bytes room_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};
using buffered_stream = basic_buffered_stream<>;

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
