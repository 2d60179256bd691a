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

// The ends of a command's streams if their data arrives and leaves in messages.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Output that a coroutine delivers.
class carried_output final : public buffered_output {
 public:
  /// \param more  notified when there is room again.
  carried_output(const asio::any_io_executor& executor, async_event& more) : buffered_output(executor), more_(more) {}

  void close() noexcept override {
    buffered_output::close();
    more_.notify();
  }

 private:
  void on_taken(std::size_t) noexcept override { more_.notify(); }

  async_event& more_;
};

/// Input that a coroutine takes and sends.
class carried_input final : public input_end {
 public:
  /// \param changed  notified of every change.
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

  /// Returns the next bytes to write.
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
