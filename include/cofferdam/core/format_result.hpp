// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/signal_name.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The options of `format_result`.
class format_options {
 public:
  format_options() = default;

  /// Sets the maximum number of characters (code points) to show of each output stream. If a stream is longer, half of
  /// the shown characters come from its start and half from its end. Characters are counted before escaping; the marker
  /// for missing text is not counted. 0 shows only the marker. The default is `default_limit`.
  format_options& limit(std::size_t characters) noexcept {
    limit_ = characters;
    return *this;
  }
  std::size_t limit() const noexcept { return limit_; }

  /// The default number of characters to show of each output stream.
  static constexpr std::size_t default_limit = 20'000;

 private:
  std::size_t limit_ = default_limit;
};

namespace detail {

/// Returns the number of code points in a text.
/// \param utf8  valid UTF-8.
inline std::size_t count_code_points(std::string_view utf8) noexcept {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// Returns the byte offset of the code point with the index `count` (the first is 0) in valid UTF-8; the size of the
/// text if it has too few code points.
inline std::size_t offset_of_code_point(std::string_view utf8, std::size_t count) noexcept {
  std::size_t offset = 0;
  while (offset < utf8.size()) {
    if ((static_cast<unsigned char>(utf8[offset]) & 0xC0) != 0x80 && count-- == 0) break;
    ++offset;
  }
  return offset;
}

inline void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      default: out += c;
    }
  }
}

/// Adds `<name>value</name>` and a line break. The value is escaped.
inline void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append("<").append(name).append(">");
  append_escaped(out, value);
  out.append("</").append(name).append(">\n");
}

/// The fields of a rendered result. Each field is `<name>text</name>` and a line break. Values are escaped, so that no
/// value can end its field.
class result_fields {
 public:
  explicit result_fields(std::size_t limit) : limit_(limit) {}

  /// Adds a field with a sentence of the library.
  /// \param text  the sentence. It may quote bytes from a command, so it is escaped as well. At most `default_limit`
  ///              characters are shown, whatever the limit for output streams is.
  void add(std::string_view name, std::string_view text) {
    add(name, format_options::default_limit, printable_text(text), {}, text.size(), false);
  }

  void add(std::string_view name, const captured_output& stream) {
    add(name, limit_, printable_text(stream.head_text()), printable_text(stream.tail_text()), stream.total(),
        stream.cut() != 0);
  }

  std::string take() { return "<shell_results>\n" + out_ + "</shell_results>"; }

 private:
  // If `is_cut` is false, `start` is the whole text and `end` is empty. The marker for missing text is a tag. `<` is
  // escaped in all values, so no output can contain this tag.
  void add(std::string_view name, std::size_t limit, std::string_view start, std::string_view end, std::uint64_t total,
           bool is_cut) {
    out_.append("<").append(name).append(">");
    const std::size_t start_length = count_code_points(start);
    const std::size_t end_length = count_code_points(end);
    if (start_length <= limit && end_length <= limit - start_length) {
      append_escaped(out_, start);
      if (is_cut) append_marker(total);
      append_escaped(out_, end);
    } else {
      if (!is_cut) end = start;
      const std::size_t end_count = is_cut ? end_length : start_length;
      const std::size_t shown_end = std::min(end_count, limit - std::min(limit / 2, start_length));
      const std::size_t shown_start = std::min(start_length, limit - shown_end);
      append_escaped(out_, start.substr(0, offset_of_code_point(start, shown_start)));
      append_marker(total);
      append_escaped(out_, end.substr(offset_of_code_point(end, end_count - shown_end)));
    }
    out_.append("</").append(name).append(">\n");
  }

  void append_marker(std::uint64_t total) {
    out_.append("\n<cut>part of the text is left out here; the whole text had ")
        .append(std::to_string(total))
        .append(" bytes</cut>\n");
  }

  std::string out_;
  std::size_t limit_;
};

}  // namespace detail

/// Renders the result of a command as text for a model:
///
/// ```
/// <shell_results>
/// <exit_code>0</exit_code>
/// <stdout>...</stdout>
/// <stderr>...</stderr>
/// </shell_results>
/// ```
///
/// If a signal ended the command, `<signal>SIGKILL</signal>` takes the place of the exit code. `<advice>` follows last
/// if the result has advice.
///
/// If `kind()` is not `error_kind::none`, the text contains `<error_kind>`, `<details>` (the reason), `<advice>` if
/// there is any, and each output stream that is not empty. It then contains no exit code and no signal.
///
/// All values pass through `printable_text`. If text is missing, because it exceeds `options.limit()` or because the
/// result did not keep it, a line such as `<cut>part of the text is left out here; the whole text had 1048576
/// bytes</cut>` takes its place. `&`, `<` and `>` are escaped in all values. So no output can end its field, begin
/// another field or imitate the `<cut>` line.
/// \return      valid UTF-8, without control characters other than line feed and tab. It does not end in a line break.
/// \par Cost    linear in the kept output.
/// \par Source  Stirrup's `format_result`, without its defects.
inline std::string format_result(const command_result& result, format_options options = format_options()) {
  detail::result_fields fields(options.limit());
  if (result.kind() != error_kind::none) {
    fields.add("error_kind", to_string(result.kind()));
    fields.add("details", result.reason());
    if (!result.advice().empty()) fields.add("advice", result.advice());
    if (result.out().total() != 0) fields.add("stdout", result.out());
    if (result.err().total() != 0) fields.add("stderr", result.err());
    return fields.take();
  }
  if (result.term_signal() != 0) {
    fields.add("signal", detail::signal_name(result.term_signal()));
  } else {
    fields.add("exit_code", std::to_string(result.exit_code()));
  }
  fields.add("stdout", result.out());
  fields.add("stderr", result.err());
  if (!result.advice().empty()) fields.add("advice", result.advice());
  return fields.take();
}

}  // namespace cofferdam::inline COFFERDAM_ABI
