// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A stream with some bytes in front of it: bytes that were read from the stream before and belong to its next reader.
class prefixed_stream final : public byte_stream::implementation {
 public:
  prefixed_stream(bytes first, byte_stream rest) : first_(std::move(first)), rest_(std::move(rest)) {}

  awaitable<std::size_t> read_some(std::span<std::byte> into) override {
    if (taken_ == first_.size()) return rest_.read_some(into);
    return read_first(into);
  }
  awaitable<void> write(bytes_view data) override { return rest_.write(data); }
  awaitable<void> shutdown_send() override { return rest_.shutdown_send(); }
  void close() noexcept override {
    first_.clear();
    taken_ = 0;
    rest_.close();
  }
  bool is_quiet() noexcept override { return taken_ == first_.size() && rest_.is_quiet(); }

 private:
  awaitable<std::size_t> read_first(std::span<std::byte> into) {
    const std::size_t count = std::min(into.size(), first_.size() - taken_);
    const auto from = first_.begin() + static_cast<std::ptrdiff_t>(taken_);
    std::copy(from, from + static_cast<std::ptrdiff_t>(count), into.begin());
    taken_ += count;
    if (taken_ == first_.size()) {
      first_ = bytes();
      taken_ = 0;
    }
    co_return count;
  }

  bytes first_;
  std::size_t taken_ = 0;
  byte_stream rest_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
