// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "progress.hpp"

#include <cofferdam/core/printable_text.hpp>

#include "report.hpp"
#include "terminal.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <unistd.h>

namespace program {

namespace {

progress*& current() noexcept {
  static progress* shown = nullptr;
  return shown;
}

constexpr std::size_t bar_columns = 24;
constexpr std::chrono::milliseconds between_drawings{100};
/// An operation that ends earlier shows no bar.
constexpr std::chrono::milliseconds before_first_drawing{100};

}  // namespace

progress::progress(bool quiet) {
  const char* const type = std::getenv("TERM");
  is_shown_ = !quiet && ::isatty(STDERR_FILENO) == 1 && type != nullptr && std::strcmp(type, "dumb") != 0;
  has_colour_ = is_shown_ && has_colour(STDERR_FILENO);
  current() = this;
}

progress::~progress() {
  clear();
  current() = nullptr;
}

void progress::show(std::string_view name, std::uint64_t done, std::uint64_t total) {
  if (!is_shown_) return;
  const clock::time_point now = clock::now();
  std::string escaped = cofferdam::one_line(name, 60);
  if (escaped != name_) {
    // A build changes its name with every line of output; the rate belongs to names with sizes.
    if (name_.empty() || total != 0) begin_ = now;
    name_ = std::move(escaped);
  }
  if (now - begin_ < before_first_drawing || now - drawn_ < between_drawings) return;
  drawn_ = now;
  is_visible_ = true;
  write_to_terminal(STDERR_FILENO, "\r\x1b[K" + line(done, total, now));
}

void progress::clear() noexcept {
  name_.clear();
  if (!is_visible_) return;
  is_visible_ = false;
  write_to_terminal(STDERR_FILENO, "\r\x1b[K");
}

std::string progress::line(std::uint64_t done, std::uint64_t total, clock::time_point now) const {
  std::size_t width = 80;
  if (const auto size = size_of_terminal(STDERR_FILENO)) width = size->columns;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  std::string right;
  if (total != 0) {
    const std::size_t full =
        static_cast<std::size_t>(static_cast<double>(std::min(done, total)) / static_cast<double>(total) * bar_columns);
    right = " [" + std::string(full, '#') + std::string(bar_columns - full, '.') + "] " + size_text(done) + " of " +
            size_text(total);
  } else if (done != 0) {
    right = " " + size_text(done);
  }
  if (done != 0 && seconds > 0)
    right += ", " + size_text(static_cast<std::uint64_t>(static_cast<double>(done) / seconds)) + "/s";
  std::string left = name_;
  if (left.size() + right.size() >= width) {
    // The bar is the first thing to go when the terminal is narrow, then the end of the name.
    right.erase(0, right.find("] ") == std::string::npos ? 0 : right.find("] ") + 1);
    left.resize(std::min(left.size(), width > right.size() + 1 ? width - right.size() - 1 : 0));
    right.resize(std::min(right.size(), width > 0 ? width - 1 : 0));
  }
  if (has_colour_) return "\x1b[36m" + left + "\x1b[0m" + right;
  return left + right;
}

void hide_progress() noexcept {
  if (current() != nullptr) current()->clear();
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> units{"kB", "MB", "GB", "TB", "PB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  double size = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (size >= 999.95 && unit + 1 < units.size()) {
    size /= 1000;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", size, units[unit]);
  return text.data();
}

}  // namespace program
