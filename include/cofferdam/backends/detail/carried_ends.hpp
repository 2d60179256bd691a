// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/os/command_ends.hpp>

#include <asio/any_io_executor.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <system_error>
#include <utility>

#include <sys/types.h>

// This program's side of a command's standard streams, for a backend that transfers the data in messages instead of
// pipes.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The buffer of a command's output. A coroutine of the backend appends the output from received messages.
class carried_output final : public buffered_output {
 public:
  /// Makes an empty buffer.
  /// \param more  notified when bytes were taken out of the buffer.
  carried_output(const asio::any_io_executor& executor, async_event& more) : buffered_output(executor), more_(more) {}

  void close() noexcept override {
    buffered_output::close();
    more_.notify();
  }

 private:
  void on_taken(std::size_t) noexcept override { more_.notify(); }

  async_event& more_;
};

/// The buffer of a command's input. A coroutine of the backend removes bytes from the buffer and sends them in
/// messages.
class carried_input final : public input_end {
 public:
  /// Makes an empty buffer.
  /// \param changed  notified when bytes were added or the input was closed.
  carried_input(async_event& changed, bool open) : changed_(changed), open_(open) {}

  bool is_open() const noexcept override { return open_; }
  ssize_t write(bytes_view data) override {
    if (!open_) return -2;
    const std::size_t count = std::min(data.size(), window - std::min(window, data_.size()));
    if (count == 0) return -1;
    data_.insert(data_.end(), data.begin(), data.begin() + static_cast<std::ptrdiff_t>(count));
    changed_.notify();
    return static_cast<ssize_t>(count);
  }
  void wait(std::shared_ptr<end_listener> listener) override { listener_ = std::move(listener); }
  void close() noexcept override {
    listener_.reset();
    open_ = false;
    changed_.notify();
  }

  /// Removes all buffered bytes and returns them.
  bytes take() {
    bytes taken = std::exchange(data_, bytes());
    if (const auto listener = std::exchange(listener_, nullptr)) listener->input_ready({});
    return taken;
  }
  bool empty() const noexcept { return data_.empty(); }

 private:
  static constexpr std::size_t window = 256 * 1024;

  async_event& changed_;
  bool open_;
  bytes data_;
  std::shared_ptr<end_listener> listener_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
