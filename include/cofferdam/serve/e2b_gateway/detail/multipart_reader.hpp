// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// A parser of `multipart/form-data` that performs no input or output. It buffers at most the head of one part, or one
/// delimiter.
///
/// ```
/// body      = [preamble] "--" boundary *blank CRLF part *(delimiter *blank CRLF part) delimiter "--" epilogue
/// part      = *(field CRLF) CRLF content
/// delimiter = CRLF "--" boundary
/// ```
/// \par Source  RFC 2046, 5.1.1; RFC 7578.
class multipart_reader {
 public:
  enum class event {
    more,     ///< `feed` must be called with more input
    part,     ///< a part begins; `name()` and `file_name()` describe it
    content,  ///< `content()` is the next piece of the part
    part_end,
    end,
  };
  static constexpr std::size_t max_head = 16 * 1024;

  /// \param boundary  the boundary of the body: 1 to 70 characters.
  explicit multipart_reader(std::string boundary) : delimiter_("\r\n--" + std::move(boundary)) {}

  /// Returns the boundary in the value of a `Content-Type` field; no value if it is missing or invalid.
  static std::optional<std::string> boundary_of(std::string_view type) {
    const auto value = parameter(type, "boundary");
    if (!value || value->empty() || value->size() > 70 || !cofferdam::detail::is_field_text(*value))
      return std::nullopt;
    return value;
  }

  /// Adds the next piece of the body.
  void feed(std::string_view text) { input_ += text; }

  /// Parses the input up to the next event.
  /// \throws error{exec_errc::io_error} with net_errc::malformed for an invalid body.
  event next() {
    input_.erase(0, std::exchange(done_, 0));
    switch (state_) {
      case state::preamble: return next_delimiter();
      case state::after_delimiter: return next_part();
      case state::head: return next_head();
      case state::content: return next_content();
      case state::end: input_.clear(); return event::end;
    }
    return event::end;
  }

  const std::string& name() const noexcept { return name_; }
  const std::optional<std::string>& file_name() const noexcept { return file_name_; }
  /// Returns a piece of the part; valid until the next call of `feed` or `next`.
  std::string_view content() const noexcept { return std::string_view(input_).substr(0, done_); }
  bool ended() const noexcept { return state_ == state::end; }

  /// Returns a parameter in the value of a field, such as `; name="value"`; no value if it is absent. In quotes, a
  /// backslash escapes a quote or a backslash.
  static std::optional<std::string> parameter(std::string_view value, std::string_view parameter_name) {
    std::size_t at = value.find(';');
    while (at < value.size()) {
      const std::size_t equals = value.find('=', at);
      if (equals == std::string_view::npos) return std::nullopt;
      const std::string_view name = cofferdam::detail::without_blanks(value.substr(at + 1, equals - at - 1));
      std::string text;
      at = equals + 1;
      if (at < value.size() && value[at] == '"') {
        for (++at; at < value.size() && value[at] != '"'; ++at) {
          const bool is_escaped =
              value[at] == '\\' && at + 1 < value.size() && (value[at + 1] == '"' || value[at + 1] == '\\');
          if (is_escaped) ++at;
          text += value[at];
        }
        at = std::min(value.find(';', at), value.size());
      } else {
        const std::size_t end = std::min(value.find(';', at), value.size());
        text = cofferdam::detail::without_blanks(value.substr(at, end - at));
        at = end;
      }
      if (cofferdam::detail::same_ignoring_case(name, parameter_name)) return text;
    }
    return std::nullopt;
  }

 private:
  enum class state { preamble, after_delimiter, head, content, end };

  static error malformed(const std::string& what) {
    return {exec_errc::io_error, "multipart/form-data: " + what, net_errc::malformed};
  }

  /// Finds the first delimiter, which is at the beginning of the body or after a line end.
  event next_delimiter() {
    const std::string_view first = std::string_view(delimiter_).substr(2);
    if (input_.size() < first.size()) return event::more;
    if (std::string_view(input_).starts_with(first)) {
      input_.erase(0, first.size());
      state_ = state::after_delimiter;
      return next_part();
    }
    const std::size_t found = input_.find(delimiter_);
    if (found == std::string::npos) {
      if (input_.size() > max_head) throw malformed("the body does not begin with its boundary");
      return event::more;
    }
    input_.erase(0, found + delimiter_.size());
    state_ = state::after_delimiter;
    return next_part();
  }

  event next_part() {
    if (input_.starts_with("--")) {
      state_ = state::end;
      input_.clear();
      return event::end;
    }
    const std::size_t end = input_.find("\r\n");
    if (end == std::string::npos) {
      if (input_.size() > 256) throw malformed("a boundary is not followed by a line break");
      return event::more;
    }
    if (!cofferdam::detail::without_blanks(std::string_view(input_).substr(0, end)).empty())
      throw malformed("a boundary is not followed by a line break");
    // The line end stays in the input. If the head has no fields, this line end is the first half of the head's end.
    input_.erase(0, end);
    state_ = state::head;
    return next_head();
  }

  event next_head() {
    const std::size_t end = input_.find("\r\n\r\n");
    if (end == std::string::npos || end > max_head) {
      if (input_.size() > max_head) throw malformed("a part's head is longer than 16 KiB");
      return event::more;
    }
    name_.clear();
    file_name_.reset();
    std::string_view head = std::string_view(input_).substr(0, end);
    while (!head.empty()) {
      head.remove_prefix(2);
      const std::string_view line = head.substr(0, head.find("\r\n"));
      head.remove_prefix(line.size());
      const std::size_t colon = line.find(':');
      if (colon == std::string_view::npos) throw malformed("a line of a part's head is not a field");
      if (!cofferdam::detail::same_ignoring_case(line.substr(0, colon), "Content-Disposition")) continue;
      const std::string_view value = line.substr(colon + 1);
      name_ = parameter(value, "name").value_or(std::string());
      file_name_ = parameter(value, "filename");
    }
    input_.erase(0, end + 4);
    state_ = state::content;
    return event::part;
  }

  event next_content() {
    const std::size_t found = input_.find(delimiter_);
    if (found == 0) {
      input_.erase(0, delimiter_.size());
      state_ = state::after_delimiter;
      return event::part_end;
    }
    // Bytes that may be the beginning of a delimiter stay in the buffer.
    const std::size_t kept = delimiter_.size() - 1;
    if (found == std::string::npos && input_.size() <= kept) return event::more;
    done_ = found == std::string::npos ? input_.size() - kept : found;
    return event::content;
  }

  std::string delimiter_;
  std::string input_;
  std::size_t done_ = 0;
  state state_ = state::preamble;
  std::string name_;
  std::optional<std::string> file_name_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
