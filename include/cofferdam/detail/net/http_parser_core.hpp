// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// The parts that the parsers of requests and responses share: lines, fields and bodies. Where two HTTP readers could
// interpret a message differently, these parsers refuse it (RFC 9112, 2.2, 5.1, 6.3, 11.2). Lines end in CR LF. Folded
// lines and blanks before the colon are errors. A message has at most one length.

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline error http_violation(net_errc cause, const std::string& what) {
  return error(exec_errc::io_error, "invalid HTTP from the peer: " + what, cause);
}
inline std::string in_quotes(std::string_view text) { return "\"" + one_line(text, 60) + "\""; }

/// A reader that joins pieces of input into lines. It limits the size of one line and of all lines together.
class http_lines {
 public:
  http_lines() = default;
  /// \param longest  maximum bytes of one line, without its CR LF.
  /// \param sum      maximum bytes of all lines, with each CR LF.
  http_lines(std::size_t longest, std::size_t sum) : longest_(longest), left_(sum) {}

  /// Takes bytes from the input, up to the end of the line.
  /// \return the number of bytes taken.
  std::size_t take(std::string_view input) {
    if (whole_) {
      line_.clear();
      whole_ = false;
    }
    const auto feed = input.find('\n');
    const std::size_t count = feed == std::string_view::npos ? input.size() : feed + 1;
    if (count > left_) throw http_violation(net_errc::head_too_large, "the head is longer than the limit");
    if (line_.size() + count > longest_ + 2)
      throw http_violation(net_errc::head_too_large,
                           "a line is longer than the limit of " + std::to_string(longest_) + " bytes");
    left_ -= count;
    line_.append(input.substr(0, count));
    if (feed == std::string_view::npos) return count;
    if (line_.size() < 2 || line_[line_.size() - 2] != '\r')
      throw http_violation(net_errc::malformed, "a line ends in a bare line feed");
    line_.resize(line_.size() - 2);
    if (!is_field_text(line_))
      throw http_violation(net_errc::malformed, "a line contains a control character: " + in_quotes(line_));
    whole_ = true;
    return count;
  }
  bool whole() const noexcept { return whole_; }
  bool begun() const noexcept { return whole_ || !line_.empty(); }
  const std::string& line() const noexcept { return line_; }

 private:
  std::string line_;
  std::size_t longest_ = 0;
  std::size_t left_ = 0;
  bool whole_ = false;
};

inline http_field parse_field(const std::string& line) {
  if (line.front() == ' ' || line.front() == '\t')
    throw http_violation(net_errc::malformed, "a field continues on a second line");
  const auto colon = line.find(':');
  if (colon == std::string::npos || !is_token(std::string_view(line).substr(0, colon)))
    throw http_violation(net_errc::malformed,
                         "a line is not a field: " + in_quotes(std::string_view(line).substr(0, colon)));
  return http_field(line.substr(0, colon), line.substr(colon + 1));
}

inline void add_field(http_fields& fields, const std::string& line, std::size_t max_fields) {
  if (fields.size() == max_fields)
    throw http_violation(net_errc::too_many_fields, "the head has more than " + std::to_string(max_fields) + " fields");
  fields.append(parse_field(line));
}

/// Returns the value of `Content-Length`; no value if the field is absent. More than one field is an error, even if the
/// values are equal.
inline std::optional<std::uint64_t> content_length(const http_fields& fields) {
  const std::size_t count = fields.count("Content-Length");
  if (count == 0) return std::nullopt;
  if (count > 1) throw http_violation(net_errc::ambiguous_length, "more than one Content-Length");
  const std::string_view text = *fields.find("Content-Length");
  if (text.empty() || text.size() > 18 ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    throw http_violation(net_errc::ambiguous_length, "invalid Content-Length " + in_quotes(text));
  std::uint64_t value = 0;
  for (const char c : text) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  return value;
}

/// Returns true if the body is chunked, and false if the message has no `Transfer-Encoding`.
/// \throws error for any other transfer coding, for a transfer coding in HTTP/1.0, and for a transfer coding together
///     with a Content-Length.
inline bool is_chunked(const http_fields& fields, int minor_version) {
  const std::size_t count = fields.count("Transfer-Encoding");
  if (count == 0) return false;
  if (fields.count("Content-Length") != 0)
    throw http_violation(net_errc::ambiguous_length, "both Content-Length and Transfer-Encoding");
  const std::string_view coding = *fields.find("Transfer-Encoding");
  if (minor_version == 0 || count > 1)
    throw http_violation(net_errc::ambiguous_length, "Transfer-Encoding twice or in HTTP/1.0");
  if (!same_ignoring_case(coding, "chunked"))
    throw http_violation(net_errc::unsupported_coding, "the transfer coding is " + in_quotes(coding) + ", not chunked");
  return true;
}

enum class body_kind { none, length, chunked, until_close };

/// The result of `http_body_reader::next`.
struct body_step {
  bool end = false;
  std::size_t consumed = 0;
  std::string_view data;
};

/// A parser for the body of a message.
class http_body_reader {
 public:
  http_body_reader() = default;
  http_body_reader(body_kind kind, std::uint64_t length, http_lines trailer_lines, std::size_t max_fields)
      : kind_(kind), left_(length), lines_(std::move(trailer_lines)), max_fields_(max_fields) {}

  body_kind kind() const noexcept { return kind_; }
  const http_fields& trailers() const noexcept { return trailers_; }
  /// Returns the number of following bytes that are certain to be bytes of the body.
  std::uint64_t certain_data() const noexcept {
    const bool inside = kind_ == body_kind::length || (kind_ == body_kind::chunked && part_ == part::data);
    return inside ? left_ : 0;
  }

  /// Parses the input up to the next data or the end. If the result has neither data nor the end, all of `input` was
  /// consumed.
  body_step next(std::string_view input) {
    switch (kind_) {
      case body_kind::none: return {true, 0, {}};
      case body_kind::length:
        if (left_ == 0) return {true, 0, {}};
        return data(input);
      case body_kind::until_close: return {false, input.size(), input};
      case body_kind::chunked: break;
    }
    std::size_t used = 0;
    while (part_ != part::end) {
      const std::string_view rest = input.substr(used);
      if (rest.empty()) return {false, used, {}};
      if (part_ == part::data) {
        body_step step = data(rest);
        if (left_ == 0) part_ = part::carriage_return;
        step.consumed += used;
        return step;
      }
      used += take(rest);
    }
    return {true, used, {}};
  }

 private:
  enum class part { size, data, carriage_return, line_feed, trailers, end };
  static constexpr std::size_t max_size_line = 1024;

  body_step data(std::string_view input) {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size()));
    left_ -= count;
    return {false, count, input.substr(0, count)};
  }

  std::size_t take(std::string_view input) {
    switch (part_) {
      case part::size: {
        const std::size_t count = size_line_.take(input);
        if (!size_line_.whole()) return count;
        left_ = chunk_size(size_line_.line());
        size_line_ = fresh_size_line();
        part_ = left_ == 0 ? part::trailers : part::data;
        return count;
      }
      case part::carriage_return:
      case part::line_feed:
        if (input.front() != (part_ == part::carriage_return ? '\r' : '\n'))
          throw http_violation(net_errc::malformed, "a chunk is longer than its declared size");
        part_ = part_ == part::carriage_return ? part::line_feed : part::size;
        return 1;
      case part::trailers: {
        const std::size_t count = lines_.take(input);
        if (!lines_.whole()) return count;
        if (lines_.line().empty()) {
          part_ = part::end;
        } else {
          add_field(trailers_, lines_.line(), max_fields_);
        }
        return count;
      }
      case part::data:
      case part::end: break;
    }
    return 0;
  }

  static http_lines fresh_size_line() { return {max_size_line, max_size_line + 2}; }

  static std::uint64_t chunk_size(std::string_view line) {
    std::uint64_t value = 0;
    std::size_t digits = 0;
    for (; digits < line.size(); ++digits) {
      const char c = lowered(line[digits]);
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
      if (digit < 0) break;
      if (digits == 16 || value > (std::numeric_limits<std::uint64_t>::max() >> 5))
        throw http_violation(net_errc::ambiguous_length, "invalid chunk size " + in_quotes(line));
      value = value * 16 + static_cast<std::uint64_t>(digit);
    }
    std::string_view extension = line.substr(digits);
    if (digits == 0 ||
        (!extension.empty() && (without_blanks(extension).empty() || without_blanks(extension)[0] != ';')))
      throw http_violation(net_errc::ambiguous_length, "invalid chunk size " + in_quotes(line));
    return value;
  }

  body_kind kind_ = body_kind::none;
  part part_ = part::size;
  std::uint64_t left_ = 0;
  http_lines size_line_ = fresh_size_line();
  http_lines lines_;
  std::size_t max_fields_ = 0;
  http_fields trailers_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
