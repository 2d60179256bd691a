// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/detail/core/large_block.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A collector of one output stream. It keeps only the start and the end of the stream, so the output of a command
/// takes a bounded amount of host memory.
///
/// The collector keeps everything until `keep` bytes have arrived. From then on it keeps the first `keep / 2` bytes
/// unchanged, and uses the rest of its memory as a ring buffer for the newest bytes. The memory grows with the stream,
/// up to `keep` bytes. While the memory block is enlarged, and inside `take()`, the old and the new block exist at the
/// same time. A block of one megabyte or more is enlarged eightfold; pages that were not written yet take no memory.
/// \par Threads  one at a time.
/// \par Cost     `append` copies only the bytes that are kept, so a very large chunk costs no more than a chunk of
///               `keep / 2` bytes.
class output_collector {
 public:
  /// Makes an empty collector.
  /// \param keep  the maximum number of bytes to keep, start and end together; default `command::default_kept_output`.
  ///              0 only counts.
  explicit output_collector(std::size_t keep = command::default_kept_output) noexcept
      : head_size_(keep / 2), keep_(keep) {}

  output_collector(const output_collector&) = delete;
  output_collector& operator=(const output_collector&) = delete;
  output_collector(output_collector&& other) noexcept
      : kept_(std::exchange(other.kept_, bytes())),
        head_size_(other.head_size_),
        keep_(other.keep_),
        next_(std::exchange(other.next_, 0)),
        total_(std::exchange(other.total_, 0)) {}
  output_collector& operator=(output_collector&& other) noexcept {
    kept_ = std::exchange(other.kept_, bytes());
    head_size_ = other.head_size_;
    keep_ = other.keep_;
    next_ = std::exchange(other.next_, 0);
    total_ = std::exchange(other.total_, 0);
    return *this;
  }
  ~output_collector() = default;

  /// Adds the next bytes of the stream. If the function throws `std::bad_alloc`, the collector is unchanged.
  void append(bytes_view chunk) {
    const std::size_t fits = std::min(chunk.size(), keep_ - kept_.size());
    make_room(fits);
    total_ += chunk.size();
    kept_.insert(kept_.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(fits));
    append_to_ring(chunk.subspan(fits));
  }

  /// Returns the number of bytes that were added since the construction or the last `take()`.
  std::uint64_t total() const noexcept { return total_; }

  /// Moves the kept bytes out. The collector is then empty, holds no memory and may be used again.
  captured_output take() {
    const std::uint64_t total = total_;
    if (total == kept_.size()) {
      captured_output result(std::exchange(kept_, bytes()), bytes(), total);
      reset();
      return result;
    }
    bytes tail = copy_of_tail();
    kept_.resize(head_size_);
    kept_.shrink_to_fit();
    captured_output result(std::exchange(kept_, bytes()), std::move(tail), total);
    reset();
    return result;
  }

  /// Returns a copy of the result that `take()` would return now.
  captured_output snapshot() const {
    if (total_ == kept_.size()) return captured_output(kept_, bytes(), total_);
    return captured_output(bytes(kept_.begin(), ring_start()), copy_of_tail(), total_);
  }

 private:
  static constexpr std::size_t many_pages = std::size_t{1} << 20U;

  bytes::const_iterator ring_start() const noexcept { return kept_.begin() + static_cast<std::ptrdiff_t>(head_size_); }

  void make_room(std::size_t more) {
    const std::size_t needed = kept_.size() + more;
    if (needed <= kept_.capacity()) return;
    const std::size_t had = kept_.size();
    kept_.reserve(std::max(needed, times(kept_.capacity() < many_pages ? 2 : 8)));
    detail::fill_soon(kept_.data() + had, kept_.capacity() - had);
  }

  std::size_t times(std::size_t factor) const noexcept {
    return kept_.capacity() > keep_ / factor ? keep_ : factor * kept_.capacity();
  }

  // Called only when `kept_` has its full size. The range [0, head_size_) keeps the start of the stream. The range
  // [head_size_, keep_) is the ring buffer; its oldest byte is at head_size_ + next_.
  void append_to_ring(bytes_view chunk) noexcept {
    if (chunk.empty()) return;
    const std::size_t room = keep_ - head_size_;
    if (chunk.size() >= room) {  // also true if the room is 0, and then nothing is copied
      std::copy(chunk.end() - static_cast<std::ptrdiff_t>(room), chunk.end(),
                kept_.end() - static_cast<std::ptrdiff_t>(room));
      next_ = 0;
      return;
    }
    const std::size_t first = std::min(chunk.size(), room - next_);
    const auto ring = kept_.begin() + static_cast<std::ptrdiff_t>(head_size_);
    std::copy_n(chunk.begin(), first, ring + static_cast<std::ptrdiff_t>(next_));
    std::copy_n(chunk.begin() + static_cast<std::ptrdiff_t>(first), chunk.size() - first, ring);
    next_ = (next_ + chunk.size()) % room;
  }

  bytes copy_of_tail() const {
    bytes tail;
    tail.reserve(keep_ - head_size_);
    const auto oldest = ring_start() + static_cast<std::ptrdiff_t>(next_);
    tail.insert(tail.end(), oldest, kept_.end());
    tail.insert(tail.end(), ring_start(), oldest);
    return tail;
  }

  void reset() noexcept {
    next_ = 0;
    total_ = 0;
  }

  bytes kept_;
  std::size_t head_size_;
  std::size_t keep_;
  std::size_t next_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
