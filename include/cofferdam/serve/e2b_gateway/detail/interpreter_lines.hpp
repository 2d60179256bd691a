// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_result.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>
#include <cofferdam/serve/e2b_gateway/detail/api_objects.hpp>
#include <cofferdam/serve/e2b_gateway/detail/paths.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

// Formats the events of an execution for the protocol of E2B's code interpreter: one JSON object per line. Performs no
// input or output.

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// Converts a JSON value to ASCII text. E2B's JavaScript SDK decodes each received piece separately. So it would lose a
/// character of several bytes that is split between two pieces.
inline std::string ascii_json(const boost::json::value& value) {
  const std::string text = boost::json::serialize(value);
  std::string ascii;
  ascii.reserve(text.size());
  const auto escape = [&ascii](std::uint32_t unit) {
    ascii += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) ascii += "0123456789abcdef"[unit >> shift & 15U];
  };
  for (std::string_view rest = text; !rest.empty();) {
    const cofferdam::detail::utf8_unit decoded = cofferdam::detail::decode_utf8(rest);
    const std::uint32_t point = decoded.code_point();
    rest.remove_prefix(decoded.size());
    if (point < 0x80) {
      ascii += static_cast<char>(point);
    } else if (point < 0x10000) {
      escape(point);
    } else {
      escape(0xD800 + ((point - 0x10000) >> 10U));
      escape(0xDC00 + ((point - 0x10000) & 0x3FFU));
    }
  }
  return ascii;
}

inline std::string interpreter_line(const boost::json::object& object) { return ascii_json(object) + "\n"; }

inline std::string interpreter_line(std::string_view type) {
  boost::json::object object;
  object["type"] = cofferdam::detail::json_view(type);
  return interpreter_line(object);
}

inline std::string interpreter_count_line(std::int64_t count) {
  boost::json::object object;
  object["type"] = "number_of_executions";
  object["execution_count"] = count;
  return interpreter_line(object);
}

/// Makes the line for an exception.
/// \param name,value,traceback  texts from the sandbox or from this library; each is cut after 128 KiB.
inline std::string interpreter_error_line(std::string_view name, std::string_view value, std::string_view traceback) {
  const auto some = [](std::string_view text) {
    constexpr std::size_t max_bytes = std::size_t{128} * 1024;
    return valid_json_text(text.size() > max_bytes ? cofferdam::detail::without_cut_end(text.substr(0, max_bytes))
                                                   : text);
  };
  boost::json::object object;
  object["type"] = "error";
  object["name"] = some(name);
  object["value"] = some(value);
  object["traceback"] = some(traceback);
  return interpreter_line(object);
}

/// Returns the name of the member in a result line for content of a MIME type; an empty text if E2B has no such member.
inline std::string_view interpreter_form(std::string_view mime) noexcept {
  constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"text/plain", "text"},
      {"text/html", "html"},
      {"text/markdown", "markdown"},
      {"image/svg+xml", "svg"},
      {"image/png", "png"},
      {"image/jpeg", "jpeg"},
      {"application/pdf", "pdf"},
      {"text/latex", "latex"},
      {"application/json", "json"},
      {"application/javascript", "javascript"},
      {"e2b/data", "data"},
      {"e2b/chart", "chart"},
      {"application/vnd.e2b.data+json", "data"},
      {"application/vnd.e2b.chart+json", "chart"},
  };
  for (const auto& [type, name] : known)
    if (type == mime) return name;
  return {};
}

/// Makes the result line for one display with all its forms. If the content of a JSON type is not valid JSON, it is
/// sent as text.
inline std::string interpreter_result_line(const display_output& shown) {
  boost::json::object object;
  object["type"] = "result";
  boost::json::object extra;
  for (const auto& [mime, content] : shown.forms()) {
    const std::string_view name = interpreter_form(mime);
    boost::json::value value = valid_json_text(content);
    if (mime.ends_with("json") || mime.starts_with("e2b/")) {
      std::error_code broken;
      boost::json::value parsed = cofferdam::detail::parse_untrusted_json(content, broken);
      if (!broken) value = std::move(parsed);
    }
    const bool is_quoted = name == "text" && content.size() > 1 && content.front() == content.back() &&
                           (content.front() == '\'' || content.front() == '"');
    if (is_quoted) value = valid_json_text(std::string_view(content).substr(1, content.size() - 2));
    if (name.empty())
      extra[valid_json_text(mime)] = std::move(value);
    else
      object[cofferdam::detail::json_view(name)] = std::move(value);
  }
  object["extra"] = std::move(extra);
  object["is_main_result"] = shown.is_value();
  return interpreter_line(object);
}

/// A converter that makes protocol lines from one output stream of an execution. Each line has only complete
/// characters.
class interpreter_output {
 public:
  explicit interpreter_output(std::string_view type) noexcept : type_(type) {}

  /// Adds a piece of output.
  /// \return a line; an empty text if there is no complete character yet.
  std::string take(bytes_view piece) {
    received_ += piece.size();
    held_ += as_text(piece);
    const std::size_t whole = cofferdam::detail::without_cut_end(held_).size();
    std::string result = line(std::string_view(held_).substr(0, whole));
    held_.erase(0, whole);
    return result;
  }
  /// Returns a line with the output that was not sent before.
  /// \param captured  the output of the whole execution; its middle may have been left out.
  std::string finish(const captured_output& captured) {
    const bytes_view head(captured.head());
    held_ += as_text(head.subspan(received_ < head.size() ? received_ : head.size()));
    if (captured.cut() == 0) return line(held_);
    std::string text(cofferdam::detail::without_cut_end(held_));
    text += captured_output::cut_marker(captured.cut(), captured.total());
    text += cofferdam::detail::without_cut_start(as_text(captured.tail()));
    return line(text);
  }

 private:
  std::string line(std::string_view text) const {
    if (text.empty()) return {};
    boost::json::object object;
    object["type"] = cofferdam::detail::json_view(type_);
    object["text"] = valid_json_text(text);
    object["timestamp"] = timestamp(std::chrono::system_clock::now());
    return interpreter_line(object);
  }

  std::string_view type_;
  std::string held_;
  std::size_t received_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
