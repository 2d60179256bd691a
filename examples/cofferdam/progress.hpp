// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace program {

/// A bar on standard error that shows a long operation: its name, the size that is done, the total and the rate. It is
/// shown only on a terminal, and disappears when the operation ends.
class progress {
 public:
  /// \param quiet  true: nothing is ever shown.
  explicit progress(bool quiet);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress();

  /// Returns true if a bar can be shown. Otherwise the other functions do nothing.
  bool is_shown() const noexcept { return is_shown_; }

  /// Shows the state of an operation. Another name begins another operation.
  /// \param name   a few words, such as "pulling python:3.12-slim"; escaped, because it may come from elsewhere.
  /// \param done   bytes that are done.
  /// \param total  bytes in total; 0 if it is not known.
  void show(std::string_view name, std::uint64_t done, std::uint64_t total);
  /// Shows a step without a size, such as the last line of a build.
  void show(std::string_view name) { show(name, 0, 0); }
  /// Removes the bar.
  void clear() noexcept;

 private:
  using clock = std::chrono::steady_clock;

  std::string line(std::uint64_t done, std::uint64_t total, clock::time_point now) const;

  bool is_shown_;
  bool has_colour_;
  bool is_visible_ = false;
  std::string name_;
  clock::time_point begin_{};
  clock::time_point drawn_{};
};

/// Removes the bar of the program's `progress`, if there is one.
void hide_progress() noexcept;

/// Returns a size for people: "812 B", "4.2 MB".
std::string size_text(std::uint64_t bytes);

}  // namespace program
