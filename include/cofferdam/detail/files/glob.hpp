// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A shell pattern for paths. Matching reads no file.
///
/// ```
/// pattern  = ["/"] segment *("/" segment)          ; a slash at the end is ignored
/// segment  = "**"                                   ; zero or more names; at the end of a pattern one or more
///          / *( "*" / "?" / set / "\" any / any )   ; matches within one name
/// set      = "[" ["!" / "^"] item *item "]"         ; "]" as the first item stands for itself
/// item     = any "-" any / "\" any / any
/// ```
///
/// A dot at the start of a name is matched only by a dot in the pattern, not by `*`, `?`, a set or `**`. `?` and sets
/// match one code point, or one byte if the name is not UTF-8. A `[` without its `]` stands for itself. There is no
/// `{a,b}` and no `[[:alpha:]]`. Matching is case-sensitive.
/// \par Cost    at most the product of the pattern's and the path's length, for any content.
/// \par Source  POSIX.1-2017, XCU 2.13, and bash's globstar.
class glob {
 public:
  /// Compiles a pattern.
  /// \param  pattern  1 to 4095 bytes without NUL.
  /// \throws          error{exec_errc::invalid_argument} for another length or a NUL byte.
  explicit glob(std::string pattern) : pattern_(std::move(pattern)) {
    if (pattern_.empty() || pattern_.find('\0') != std::string::npos || pattern_.size() > max_path)
      throw error(exec_errc::invalid_argument, "the pattern " + detail::shown_path(pattern_) +
                                                   " is empty, contains a NUL byte or is longer than 4095 bytes");
    std::vector<std::string_view> segments = detail::path_components(pattern_);
    std::size_t plain = 0;
    while (plain < segments.size() && !is_pattern(segments[plain])) ++plain;
    if (plain == segments.size() && plain > 0) --plain;  // the last name is matched, not part of the prefix
    prefix_ = pattern_.front() == '/' ? "/" : "";
    for (std::size_t i = 0; i < plain; ++i) {
      if (i > 0) prefix_ += '/';
      prefix_ += unescaped(segments[i]);
    }
    for (std::size_t i = plain; i < segments.size(); ++i) {
      if (segments[i] != "**")
        segments_.push_back(compiled(segments[i]));
      else if (segments_.empty() || !segments_.back().any_depth)
        segments_.push_back(any_depth());
    }
    if (!segments_.empty() && segments_.back().any_depth) segments_.push_back(compiled("*"));
  }

  /// Returns true if a text has an unescaped `*`, `?` or `[`.
  static bool is_pattern(std::string_view text) noexcept {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '*' || text[i] == '?' || text[i] == '[')
        return true;
    }
    return false;
  }

  const std::string& pattern() const noexcept { return pattern_; }

  /// Returns the folders before the first segment that contains pattern characters, without escapes: `logs` for
  /// `logs/**/*.txt`. Returns an empty text if there are none. Paths are matched relative to this folder.
  const std::string& prefix() const noexcept { return prefix_; }

  /// Returns true if the pattern ends in `**` or in `**/*`, which means the same. Such a pattern matches all contents
  /// of a directory one by one, so that a matching directory need not be added as a whole.
  bool matches_whole_trees() const noexcept {
    if (segments_.size() < 2 || !segments_[segments_.size() - 2].any_depth) return false;
    const std::vector<token>& last = segments_.back().tokens;
    return last.size() == 1 && last.front().what == token::star;
  }

  /// Returns true if the pattern matches a path.
  /// \param path  relative to `prefix()`, without `.` and `..`.
  bool matches(std::string_view path) const {
    const std::vector<std::string_view> names = detail::path_components(path);
    // If a segment does not match a name, the last `**` takes one more name, and matching continues behind it. An
    // earlier `**` need not be extended: that would only move the following segments to later names, and a hidden name
    // that stops the last `**` would stop the earlier one too.
    std::size_t at = 0;
    std::size_t name = 0;
    std::size_t after_any = npos;  // index of the segment after the last `**`
    std::size_t any_until = 0;     // index of the first name of the path that the last `**` does not match
    while (name < names.size() || at < segments_.size()) {
      if (at < segments_.size() && segments_[at].any_depth) {
        after_any = ++at;
        any_until = name;
      } else if (at < segments_.size() && name < names.size() && matches_name(segments_[at], names[name])) {
        ++at;
        ++name;
      } else {
        if (after_any == npos || any_until >= names.size() || is_hidden(names[any_until])) return false;
        name = ++any_until;
        at = after_any;
      }
    }
    return true;
  }

  /// Returns true if the pattern could match a path beneath this directory. If it could not, the caller need not list
  /// the directory.
  /// \param path  relative to `prefix()`.
  bool may_match_beneath(std::string_view path) const {
    const std::vector<std::string_view> names = detail::path_components(path);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i >= segments_.size()) return false;
      if (segments_[i].any_depth) {
        if (std::any_of(segments_.begin(), segments_.end(), has_leading_dot)) return true;
        return std::none_of(names.begin() + static_cast<std::ptrdiff_t>(i), names.end(), is_hidden);
      }
      if (!matches_name(segments_[i], names[i])) return false;
    }
    return names.size() < segments_.size();
  }

 private:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  static constexpr char32_t raw_byte = 0x110000;  // added to a byte that is not UTF-8; larger than every code point

  // One element of a segment: `*`, `?`, or a set of characters. A literal character is a set with one member.
  struct token {
    enum kind { star, any, set };
    kind what = any;
    bool negated = false;
    bool literal = false;
    std::vector<std::pair<char32_t, char32_t>> ranges;
  };
  struct segment {
    bool any_depth = false;
    std::vector<token> tokens;
  };

  static bool is_hidden(std::string_view name) noexcept { return !name.empty() && name.front() == '.'; }

  static bool has_leading_dot(const segment& part) noexcept {
    return !part.tokens.empty() && part.tokens.front().literal && part.tokens.front().ranges.front().first == U'.';
  }

  static std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      plain += text[i];
    }
    return plain;
  }

  // Returns the character at `at`, and moves `at` behind it.
  static char32_t take(std::string_view text, std::size_t& at) {
    const utf8_unit unit = decode_utf8(text.substr(at));
    if (!unit.valid()) return raw_byte + static_cast<unsigned char>(text[at++]);
    at += unit.size();
    return unit.code_point();
  }

  static char32_t take_escaped(std::string_view text, std::size_t& at) {
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    return take(text, at);
  }

  static segment any_depth() {
    segment result;
    result.any_depth = true;
    return result;
  }

  static segment compiled(std::string_view text) {
    segment result;
    for (std::size_t at = 0; at < text.size();) {
      token next;
      if (text[at] == '*') {
        next.what = token::star;
        ++at;
        if (!result.tokens.empty() && result.tokens.back().what == token::star) continue;
      } else if (text[at] == '?') {
        next.what = token::any;
        ++at;
      } else {
        next.what = token::set;
        const std::size_t close = text[at] == '[' ? closing_bracket(text, at) : npos;
        if (close != npos) {
          add_ranges(next, text.substr(at + 1, close - at - 1));
          at = close + 1;
        } else {
          const char32_t character = take_escaped(text, at);
          next.ranges.emplace_back(character, character);
          next.literal = true;
        }
      }
      result.tokens.push_back(std::move(next));
    }
    return result;
  }

  static std::size_t closing_bracket(std::string_view text, std::size_t open) noexcept {
    std::size_t at = open + 1;
    if (at < text.size() && (text[at] == '!' || text[at] == '^')) ++at;
    for (bool first = true; at < text.size(); ++at, first = false) {
      if (text[at] == ']' && !first) return at;
      if (text[at] == '\\') ++at;
    }
    return npos;
  }

  static void add_ranges(token& set, std::string_view items) {
    set.negated = items.front() == '!' || items.front() == '^';
    for (std::size_t at = set.negated ? 1 : 0; at < items.size();) {
      const char32_t low = take_escaped(items, at);
      char32_t high = low;
      if (at + 1 < items.size() && items[at] == '-') {
        ++at;
        high = take_escaped(items, at);
      }
      set.ranges.emplace_back(low, high);
    }
  }

  static bool matches_name(const segment& pattern, std::string_view name) {
    if (is_hidden(name) && !has_leading_dot(pattern)) return false;
    const std::vector<token>& tokens = pattern.tokens;
    std::size_t at = 0;
    std::size_t in = 0;
    std::size_t after_star = npos;
    std::size_t star_until = 0;
    while (in < name.size() || at < tokens.size()) {
      if (at < tokens.size() && tokens[at].what == token::star) {
        after_star = ++at;
        star_until = in;
        if (at == tokens.size()) return true;
        continue;
      }
      if (at < tokens.size() && in < name.size()) {
        std::size_t behind = in;
        if (accepts(tokens[at], take(name, behind))) {
          in = behind;
          ++at;
          continue;
        }
      }
      if (after_star == npos || star_until >= name.size()) return false;
      take(name, star_until);
      in = star_until;
      at = after_star;
    }
    return true;
  }

  static bool accepts(const token& element, char32_t character) noexcept {
    if (element.what == token::any) return true;
    for (const auto& [low, high] : element.ranges)
      if (low <= character && character <= high) return !element.negated;
    return element.negated;
  }

  std::string pattern_;
  std::string prefix_;
  std::vector<segment> segments_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
