// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

// The result of matching a text against a pattern.
enum class match_state {
  none,        // the text does not match, and no longer text that begins with it does
  open,        // the text does not match, but a longer text that begins with it may match
  complete,    // the text matches
  too_costly,  // the result is unknown, because the step limit was reached
};

// The compiled form of a regular expression.
class pattern_program;

// A regular expression: its source text and its compiled form, which copies share.
class command_pattern {
 public:
  /// \param layer  the name of the layer, for error messages.
  explicit command_pattern(std::string source, std::string_view layer = "allow_commands");

  const std::string& source() const noexcept { return source_; }

  // Matches the whole of `text`, or only its start if `as_prefix` is true. `steps` is the remaining step limit, which
  // the match reduces. `open` is returned only if `accept_open` is true.
  match_state match(std::string_view text, bool as_prefix, std::size_t& steps, bool accept_open = false) const;

  // Matches as `match` does, but `.` also matches line breaks, as if the pattern began with (?s).
  match_state match_across_lines(std::string_view text, bool as_prefix, std::size_t& steps) const;

 private:
  std::string source_;
  std::shared_ptr<const pattern_program> program_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/middleware/detail/impl/command_pattern.ipp>
#endif
