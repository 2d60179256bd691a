// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/serve/mcp/detail/request.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

inline std::string size_text(std::uint64_t count) {
  if (count < 1000) return std::to_string(count) + " B";
  const bool large = count >= 1'000'000;
  const std::uint64_t tenths = count / (large ? 100'000 : 100);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + (large ? " MB" : " kB");
}

/// A report about running work to a client: progress once a second, and output as messages of the client's log.
class live_report {
 public:
  /// Returns true if the client wants any reports.
  static bool is_wanted(const request& of) { return of.wants_progress() || of.wants_log(level); }

  live_report(std::shared_ptr<request> of, std::string logger)
      : of_(std::move(of)),
        logger_(std::move(logger)),
        ended_(of_->executor),
        start_(std::chrono::steady_clock::now()) {}

  void feed(output_stream stream, bytes_view piece) {
    total_ += piece.size();
    const std::string_view text = as_text(piece);
    std::string& pending = pending_[stream == output_stream::err ? 1 : 0];
    const std::size_t fits = std::min(text.size(), max_pending - std::min(max_pending, pending.size()));
    pending += text.substr(0, fits);
    left_out_ += text.size() - fits;
    tail_ += text.substr(text.size() - std::min(text.size(), max_tail));
    if (tail_.size() > 2 * max_tail) tail_.erase(0, tail_.size() - max_tail);
  }

  /// Sends the reports until `end` is called.
  static awaitable<void> run(std::shared_ptr<live_report> self) {
    while (!self->over_) {
      co_await self->ended_.wait(async_event::clock::now() + period);
      if (!self->over_) self->tell();
    }
  }

  /// Sends the rest of the output, and ends the report.
  void end() {
    if (over_) return;
    over_ = true;
    tell_output();
    ended_.notify();
  }

 private:
  static constexpr int level = 1;  // the severity "info"
  static constexpr std::size_t max_pending = 16 * 1024;
  static constexpr std::size_t max_tail = 400;
  static constexpr std::chrono::milliseconds period{250};

  void tell() {
    tell_output();
    const auto passed = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start_);
    if (passed.count() < 1 || !of_->wants_progress()) return;
    std::string words = std::to_string(passed.count()) + " s, " + size_text(total_) + " out";
    const std::string line = last_line();
    if (!line.empty()) words += ": " + line;
    of_->progress(static_cast<double>(passed.count()), std::nullopt, words);
  }

  void tell_output() {
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      std::string& pending = pending_[i];
      if (pending.empty()) continue;
      if (!of_->wants_log(level)) {
        pending.clear();
        continue;
      }
      // An incomplete character at the end waits for the next piece.
      const std::string_view whole = over_ ? std::string_view(pending) : cofferdam::detail::without_cut_end(pending);
      if (whole.empty()) continue;
      std::string text;
      cofferdam::detail::append_repaired_utf8(text, whole);
      boost::json::object data;
      data["stream"] = i == 0 ? "stdout" : "stderr";
      data["text"] = text;
      if (left_out_ != 0) data["bytes_left_out"] = std::exchange(left_out_, 0);
      pending.erase(0, whole.size());
      of_->log(level, logger_, std::move(data));
    }
  }

  std::string last_line() const {
    std::string_view text = tail_;
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
    const std::size_t line = text.rfind('\n');
    if (line != std::string_view::npos) text.remove_prefix(line + 1);
    return one_line(cofferdam::detail::without_cut_start(text), 120);
  }

  std::shared_ptr<request> of_;
  std::string logger_;
  async_event ended_;
  std::chrono::steady_clock::time_point start_;
  std::array<std::string, 2> pending_;
  std::string tail_;
  std::uint64_t total_ = 0;
  std::size_t left_out_ = 0;
  bool over_ = false;
};

/// A scope object that ends a report in its destructor.
class reporting {
 public:
  reporting() = default;
  explicit reporting(std::shared_ptr<live_report> of) noexcept : of_(std::move(of)) {}
  reporting(const reporting&) = delete;
  reporting& operator=(const reporting&) = delete;
  ~reporting() {
    if (of_) of_->end();
  }

 private:
  std::shared_ptr<live_report> of_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
