// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/core/large_block.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The kept part of one output stream: its start, its end, and its exact length.
class captured_output {
 public:
  captured_output() = default;

  /// \param head   the first bytes of the stream.
  /// \param tail   the last bytes; does not overlap `head`. If no byte is missing between them, the tail is appended to
  ///               the head.
  /// \param total  bytes in the stream. A value below `head.size() + tail.size()` is raised to that sum.
  captured_output(bytes head, bytes tail, std::uint64_t total)
      : head_(std::move(head)),
        tail_(std::move(tail)),
        total_(std::max<std::uint64_t>(total, head_.size() + tail_.size())) {
    if (cut() == 0 && !tail_.empty()) {
      head_.insert(head_.end(), tail_.begin(), tail_.end());
      tail_ = bytes();
    }
  }

  /// Returns the first bytes, unchanged. These are all bytes if `cut()` is 0.
  const bytes& head() const& noexcept { return head_; }
  bytes head() && { return std::move(head_); }
  /// Returns the last bytes, unchanged. Empty if `cut()` is 0.
  const bytes& tail() const& noexcept { return tail_; }
  bytes tail() && { return std::move(tail_); }
  /// Returns the number of bytes in the stream, kept or not.
  std::uint64_t total() const noexcept { return total_; }
  /// Returns the number of bytes that are missing between `head()` and `tail()`.
  std::uint64_t cut() const noexcept { return total_ - head_.size() - tail_.size(); }

  /// Returns the text to show: head, a marker if bytes are missing, tail. The text is valid UTF-8. Each broken sequence
  /// becomes one U+FFFD, as in the WHATWG decoder. A sequence that was broken only by the cut is left out.
  std::string text() const {
    std::string result;
    const std::size_t expected = head_.size() + tail_.size();
    result.reserve(expected);
    detail::fill_soon(result.data(), expected);
    append_text(result);
    return result;
  }

  /// Returns the part of `text()` before the marker; all of it if no byte is missing.
  std::string head_text() const {
    std::string result;
    append_head_text(result);
    return result;
  }

  /// Returns the part of `text()` after the marker; empty if no byte is missing.
  std::string tail_text() const {
    std::string result;
    append_tail_text(result);
    return result;
  }

  /// Returns the number of broken sequences that `text()` replaces.
  std::size_t repairs() const {
    std::string scratch;
    return append_text(scratch);
  }

  /// Returns the marker that `text()` puts between head and tail. A guest can print the same words. So test `cut()`
  /// instead of the text; `format_result` shows the cut in a form that no output can imitate.
  static std::string cut_marker(std::uint64_t cut, std::uint64_t total) {
    return "\n[... " + std::to_string(cut) + " of " + std::to_string(total) + " bytes left out ...]\n";
  }

 private:
  std::size_t append_head_text(std::string& out) const {
    return detail::append_repaired_utf8(out, cut() == 0 ? as_text(head_) : detail::without_cut_end(as_text(head_)));
  }

  std::size_t append_tail_text(std::string& out) const {
    return detail::append_repaired_utf8(out, detail::without_cut_start(as_text(tail_)));
  }

  std::size_t append_text(std::string& out) const {
    std::size_t repairs = append_head_text(out);
    if (cut() == 0) return repairs;
    out += cut_marker(cut(), total_);
    repairs += append_tail_text(out);
    return repairs;
  }

  bytes head_;
  bytes tail_;
  std::uint64_t total_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
