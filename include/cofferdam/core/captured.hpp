// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/large_block.hpp>
#include <cofferdam/core/utf8.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace cofferdam::inline v0 {

/// What was kept of one output stream: its start, its end, and exactly how much there was.
class captured {
 public:
  captured() = default;

  /// \param head   the first bytes of the stream.
  /// \param tail   the last bytes; does not overlap `head`. Where nothing lies between them it is joined to `head`.
  /// \param total  how many bytes the stream had; at least `head.size() + tail.size()`, and raised to that.
  captured(bytes head, bytes tail, std::uint64_t total)
      : head_(std::move(head)),
        tail_(std::move(tail)),
        total_(std::max<std::uint64_t>(total, head_.size() + tail_.size())) {
    if (cut() == 0 && !tail_.empty()) {
      head_.insert(head_.end(), tail_.begin(), tail_.end());
      tail_ = bytes();
    }
  }

  /// The first bytes, exactly as they came: all of them where `cut()` is 0.
  const bytes& head() const noexcept { return head_; }
  /// The last bytes, exactly as they came. Empty where nothing was cut.
  const bytes& tail() const noexcept { return tail_; }
  /// How many bytes the stream had, kept or not.
  std::uint64_t total() const noexcept { return total_; }
  /// How many bytes between `head()` and `tail()` were not kept.
  std::uint64_t cut() const noexcept { return total_ - head_.size() - tail_.size(); }

  /// The text to show: head, a marker where something was cut, tail. Always valid UTF-8: each broken sequence is one
  /// U+FFFD, as the WHATWG decoder has it, and a sequence that only the cut broke is left out instead.
  std::string text() const {
    std::string result;
    const std::size_t expected = head_.size() + tail_.size();
    result.reserve(expected);
    detail::fill_soon(result.data(), expected);
    append_text(result);
    return result;
  }

  /// The part of `text()` before the marker: everything where nothing was cut.
  std::string head_text() const {
    std::string result;
    append_head_text(result);
    return result;
  }

  /// The part of `text()` after the marker: empty where nothing was cut.
  std::string tail_text() const {
    std::string result;
    append_tail_text(result);
    return result;
  }

  /// How many broken sequences `text()` replaces.
  std::size_t repairs() const {
    std::string scratch;
    return append_text(scratch);
  }

  /// The marker that `text()` puts between head and tail for this many missing bytes. A guest can print the same words:
  /// `cut()` is what to ask, and `format_result` shows it in a form that no output can imitate.
  static std::string cut_marker(std::uint64_t cut, std::uint64_t total) {
    return "\n[... " + std::to_string(cut) + " of " + std::to_string(total) + " bytes left out ...]\n";
  }

 private:
  std::size_t append_head_text(std::string& out) const {
    return append_repaired_utf8(out, cut() == 0 ? as_text(head_) : without_cut_end(as_text(head_)));
  }

  std::size_t append_tail_text(std::string& out) const {
    return append_repaired_utf8(out, without_cut_start(as_text(tail_)));
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

}  // namespace cofferdam::inline v0
