// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/core/utf8.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// Returns true if a code point must be escaped, because it moves, hides or reorders the text that a terminal or a
/// model reads.
constexpr bool is_misleading(char32_t c) noexcept {
  if (c < 0x20) return c != U'\n' && c != U'\t';
  if (c < 0x7F) return false;
  if (c <= 0x9F) return true;                                 // DEL and the 8-bit controls
  if (c == 0x61C || c == 0x200E || c == 0x200F) return true;  // bidirectional marks
  if (c >= 0x2028 && c <= 0x202E) return true;                // line and paragraph separators, bidirectional overrides
  if (c >= 0x2066 && c <= 0x206F) return true;                // bidirectional isolates, deprecated format controls
  if (c >= 0xFFF9 && c <= 0xFFFB) return true;                // interlinear annotations, whose text is hidden
  // tag characters: invisible to people, but read by models
  return c >= 0xE0000 && c <= 0xE007F;
}

/// The escape sequence of a code point, in the shortest form that fits: `\x1b`, `\u202e` or `\U000e0041`.
class code_point_escape {
 public:
  explicit constexpr code_point_escape(char32_t c) noexcept {
    add('\\');
    if (c < 0x80) {
      add('x');
      add_digits(c, 2);
    } else if (c < 0x10000) {
      add('u');
      add_digits(c, 4);
    } else {
      add('U');
      add_digits(c, 8);
    }
  }

  constexpr std::string_view text() const noexcept { return {text_.data(), size_}; }

 private:
  constexpr void add(char c) noexcept { text_[size_++] = c; }
  constexpr void add_digits(char32_t c, int digits) noexcept {
    while (digits-- > 0) add("0123456789abcdef"[(c >> (4 * digits)) & 0xF]);
  }

  std::array<char, 10> text_{};
  std::size_t size_ = 0;
};

/// A parsed terminal control sequence without its leading `ESC [`: parameters, intermediate bytes and one final byte
/// (ECMA-48, 5.4).
class control_sequence {
 public:
  static constexpr std::size_t longest = 64;

  /// Parses the sequence at the start of `text`.
  /// \param text  the text after `ESC [`.
  explicit constexpr control_sequence(std::string_view text) noexcept {
    const auto take_while = [&](unsigned char from, unsigned char to) {
      const std::size_t start = size_;
      while (size_ < text.size() && size_ < longest && is_between(text[size_], from, to)) ++size_;
      return text.substr(start, size_ - start);
    };
    parameters_ = take_while(0x30, 0x3F);
    intermediates_ = take_while(0x20, 0x2F);
    if (size_ == text.size() || size_ == longest || !is_between(text[size_], 0x40, 0x7E)) return;
    final_ = text[size_++];
  }

  /// Returns the final byte; NUL if the text does not start with a valid control sequence.
  constexpr char final_byte() const noexcept { return final_; }
  constexpr std::size_t size() const noexcept { return size_; }
  /// Returns true if ECMA-48 reserves the sequence for private use by terminal makers.
  constexpr bool is_private() const noexcept {
    return !intermediates_.empty() || (!parameters_.empty() && is_between(parameters_.front(), 0x3C, 0x3F));
  }
  constexpr bool has_intermediates() const noexcept { return !intermediates_.empty(); }
  constexpr std::string_view parameters() const noexcept { return parameters_; }
  /// Returns the first parameter, at most 65535; `fallback` if it is missing.
  constexpr std::size_t number(std::size_t fallback) const noexcept {
    if (parameters_.empty() || !is_between(parameters_.front(), '0', '9')) return fallback;
    std::size_t value = 0;
    for (const char c : parameters_) {
      if (!is_between(c, '0', '9')) break;
      value = std::min<std::size_t>(10 * value + static_cast<std::size_t>(c - '0'), 65535);
    }
    return value;
  }

 private:
  static constexpr bool is_between(char c, unsigned char from, unsigned char to) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return from <= byte && byte <= to;
  }

  std::string_view parameters_;
  std::string_view intermediates_;
  std::size_t size_ = 0;
  char final_ = '\0';
};

/// Returns the length of an escape sequence that begins or ends a hyperlink (OSC 8), without its leading `ESC ]` and
/// including its end; 0 if `text` does not start with such a sequence.
constexpr std::size_t hyperlink_size(std::string_view text) noexcept {
  if (!text.starts_with("8;")) return 0;
  for (std::size_t i = 2; i < text.size(); ++i) {
    if (text[i] == '\a') return i + 1;
    if (text.substr(i).starts_with("\x1b\\")) return i + 2;
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte > 0x7E) return 0;  // an ESC ends the scan, so no byte is scanned twice
  }
  return 0;
}

/// A simulated terminal with one line of unlimited width, for one pass over a text. While the cursor only moves
/// forward, the current line is at the end of `out_`. When the cursor first moves back, the line is moved to `cells_`,
/// where single code points can be overwritten.
class line_screen {
 public:
  explicit line_screen(std::size_t size_hint) { out_.reserve(size_hint); }

  /// Writes text that needs no escape.
  /// \param text  printable ASCII, tabs and newlines.
  void write_plain(std::string_view text) {
    while (going_back_ && !text.empty()) {
      write(static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    }
    out_.append(text);
    const std::size_t newline = text.rfind('\n');
    if (newline != std::string_view::npos) line_start_ = out_.size() - (text.size() - newline - 1);
  }

  void write(char32_t c) {
    if (c == U'\n') return end_line();
    if (is_misleading(c)) {
      const code_point_escape escape(c);
      for (const char shown : escape.text()) put(static_cast<unsigned char>(shown));
    } else {
      put(c);
    }
  }

  void to_column(std::size_t column) {
    if (column == 0 && out_.size() == line_start_ && !going_back_) return;
    start_going_back();
    cursor_ = std::min(column, cells_.size());
  }
  void left(std::size_t count) {
    if (count == 0 || (out_.size() == line_start_ && !going_back_)) return;
    start_going_back();
    cursor_ -= std::min(count, cursor_);
  }
  /// Moves the cursor right. Past the end of the line it adds at most one blank, whatever `count` is, so that a short
  /// input cannot produce a long result.
  void right(std::size_t count) {
    const std::size_t rest = going_back_ ? cells_.size() - cursor_ : 0;
    if (going_back_) cursor_ += std::min(count, rest);
    if (count > rest) put(U' ');
  }
  void erase_to_end() {
    if (going_back_) cells_.resize(cursor_);
  }
  void erase_line() {
    cells_.clear();
    cursor_ = 0;
    out_.resize(line_start_);
  }
  /// Handles a move of the cursor to another line. The simulated terminal has only one line, so the move starts a new
  /// line if the current line is not empty. So text that was written is never lost.
  void leave_line() {
    if (going_back_ ? !cells_.empty() : out_.size() != line_start_) end_line();
  }

  std::string take() {
    flush();
    return std::move(out_);
  }

 private:
  void put(char32_t c) {
    if (!going_back_) return append_utf8(out_, c);
    if (cursor_ < cells_.size()) {
      cells_[cursor_] = c;
    } else {
      cells_.push_back(c);
    }
    ++cursor_;
  }

  void start_going_back() {
    if (going_back_) return;
    cells_.clear();
    for (std::string_view line = std::string_view(out_).substr(line_start_); !line.empty();) {
      const utf8_unit unit = decode_utf8(line);
      cells_.push_back(unit.code_point());
      line.remove_prefix(unit.size());
    }
    out_.resize(line_start_);
    cursor_ = cells_.size();
    going_back_ = true;
  }

  void flush() {
    for (const char32_t c : cells_) append_utf8(out_, c);
    cells_.clear();
    cursor_ = 0;
    going_back_ = false;
  }

  void end_line() {
    flush();
    out_.push_back('\n');
    line_start_ = out_.size();
  }

  std::string out_;
  std::size_t line_start_ = 0;
  bool going_back_ = false;
  std::u32string cells_;  // the code points of the current line, after the cursor moved back
  std::size_t cursor_ = 0;
};

/// Executes a control sequence if it is harmless.
/// \return  true if the sequence was executed or can be dropped, and false if its characters must be shown.
inline bool apply(const control_sequence& sequence, line_screen& screen) {
  const char final_byte = sequence.final_byte();
  if (sequence.is_private()) {  // for example ESC[?25l, which hides the cursor
    return !sequence.has_intermediates() && sequence.parameters().front() == '?' &&
           (final_byte == 'h' || final_byte == 'l');
  }
  // Dropped without effect: colours (m), saving and restoring the cursor (s, u), scrolling (S, T, r), tab stops (g) and
  // modes (h, l). The second list has the moves to another line.
  if (std::string_view("msuSTrghl").find(final_byte) != std::string_view::npos) return true;
  if (std::string_view("ABEFHfd").find(final_byte) != std::string_view::npos) {
    screen.leave_line();
    return true;
  }
  const std::size_t distance = std::max<std::size_t>(sequence.number(1), 1);
  switch (final_byte) {
    case 'C': screen.right(distance); return true;
    case 'D': screen.left(distance); return true;
    case 'G': screen.to_column(distance - 1); return true;
    case 'K':
      if (sequence.number(0) == 0) screen.erase_to_end();
      if (sequence.number(0) == 2) screen.erase_line();
      return true;
    case 'J':
      if (sequence.number(0) == 0) screen.erase_to_end();
      return true;
    default: return false;
  }
}

/// Executes the escape sequence that follows an ESC, if it is harmless. Returns the length of the sequence without the
/// ESC; 0 if the ESC must be shown.
/// \param text  the text after the ESC.
inline std::size_t apply_escape(std::string_view text, line_screen& screen) {
  if (text.empty()) return 0;
  switch (text.front()) {
    case '[': {
      const control_sequence sequence(text.substr(1));
      return sequence.final_byte() != '\0' && apply(sequence, screen) ? 1 + sequence.size() : 0;
    }
    case ']': {
      const std::size_t size = hyperlink_size(text.substr(1));
      return size == 0 ? 0 : 1 + size;
    }
    case '(': return text.size() > 1 && text[1] == 'B' ? 2 : 0;  // `tput sgr0` prints this: select ASCII
    case '7':
    case '8':
    case '=':
    case '>': return 1;  // save and restore the cursor, and keypad modes: dropped
    case 'D':
    case 'E':
    case 'M': screen.leave_line(); return 1;  // the cursor moves down, to the next line, or up
    default: return 0;
  }
}

}  // namespace detail

/// Returns the text that a terminal would show, without anything that could mislead a terminal or a model.
///
/// * Each line has its final state. `\r` and backspace move the cursor back, and later text overwrites earlier text. So
///   only the last state of a progress bar remains. `\r\n` ends a line. Each code point counts as one column, even a
///   tab.
/// * Removed: colours, cursor shapes, modes (`ESC[?25l`), and the marks of OSC 8 hyperlinks, whose text stays.
/// * Executed: cursor moves and erasures within the line. A move to another line starts a new line, so no text is lost.
///   Erasing the screen has no effect. After a whole line is erased, text continues at the start of that line.
/// * Escaped as `\x1b`, `\u009b` or `\U000e0041`: all other sequences (such as titles, clipboard writes and DCS), all
///   other control characters, DEL, 8-bit controls, bidirectional controls, U+2028, U+2029 and invisible tag
///   characters.
///
/// The original bytes cannot be recovered from the result, because a command can print a backslash itself.
/// `captured_output` contains the original bytes.
/// \param utf8  the text; invalid sequences become U+FFFD.
/// \return      valid UTF-8, at most four times as long as `utf8`.
/// \par Cost    linear time; besides the result, memory for one line with four bytes a code point.
/// \par Source  ECMA-48, 5th edition (control functions); Unicode UAX 9 (bidirectional controls).
inline std::string printable_text(std::string_view utf8) {
  detail::line_screen screen(utf8.size());
  while (!utf8.empty()) {
    const auto is_plain = [](char c) { return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\t'; };
    const auto plain = static_cast<std::size_t>(std::find_if_not(utf8.begin(), utf8.end(), is_plain) - utf8.begin());
    screen.write_plain(utf8.substr(0, plain));
    utf8.remove_prefix(plain);
    if (utf8.empty()) break;
    const detail::utf8_unit unit = detail::decode_utf8(utf8);
    utf8.remove_prefix(unit.size());
    switch (unit.code_point()) {
      case U'\r':
        if (!utf8.starts_with('\n')) screen.to_column(0);
        break;
      case U'\b': screen.left(1); break;
      case U'\x1b': {
        const std::size_t done = detail::apply_escape(utf8, screen);
        if (done == 0) screen.write(U'\x1b');
        utf8.remove_prefix(done);
        break;
      }
      default: screen.write(unit.code_point());
    }
  }
  return screen.take();
}

/// Returns text from an untrusted source in a form for one line of a log or an error message. All invisible characters
/// are escaped.
///
/// The escapes are those of `printable_text`, and also `\n`, `\r`, `\t`, `\\`, `\"`, and `\xff` for a byte that is not
/// valid UTF-8. Backslashes and double quotes are escaped, so the result cannot end a quotation around it, and the text
/// cannot imitate an escape.
/// \param text            any bytes.
/// \param max_characters  the maximum length of the result in characters, at least 3; default 200. A longer text is cut
///                        and ends in `...`; the cut is never inside an escape.
/// \return                valid UTF-8 without control characters.
/// \par Cost              linear in `max_characters`, however long `text` is.
inline std::string one_line(std::string_view text, std::size_t max_characters = 200) {
  max_characters = std::max<std::size_t>(max_characters, 3);
  std::string result;
  std::size_t characters = 0;
  std::size_t room_for_dots = 0;  // the size of the longest start of `result` that leaves room for the dots
  while (!text.empty()) {
    const detail::utf8_unit unit = detail::decode_utf8(text);
    const char32_t c = unit.code_point();
    std::size_t added = 1;
    if (!unit.valid()) {
      for (const char byte : text.substr(0, unit.size())) {
        result += "\\x";
        result += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
        result += "0123456789abcdef"[static_cast<unsigned char>(byte) & 0xF];
      }
      added = 4 * unit.size();
    } else if (c == U'\n' || c == U'\r' || c == U'\t' || c == U'\\' || c == U'"') {
      result += '\\';
      result += c == U'\n' ? 'n' : c == U'\r' ? 'r' : c == U'\t' ? 't' : static_cast<char>(c);
      added = 2;
    } else if (detail::is_misleading(c)) {
      const detail::code_point_escape escape(c);
      result += escape.text();
      added = escape.text().size();
    } else {
      detail::append_utf8(result, c);
    }
    if (characters + added > max_characters) {
      result.resize(room_for_dots);
      result += "...";
      return result;
    }
    characters += added;
    if (characters + 3 <= max_characters) room_for_dots = result.size();
    text.remove_prefix(unit.size());
  }
  return result;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
