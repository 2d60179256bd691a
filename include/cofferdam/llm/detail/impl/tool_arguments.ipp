// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/json_events.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>
#include <cofferdam/llm/detail/read_json.hpp>
#include <cofferdam/llm/detail/tool_arguments.hpp>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse_options.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns the position of the first error in JSON text, such as "line 1 column 17", or "the text ends too early". The
/// model gets this text.
COFFERDAM_DECL std::string json_fault(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = 64;
  boost::json::basic_parser<large_object_finder> parser(options, max_members);  // builds no values
  boost::system::error_code failure;
  const std::size_t read = std::min(parser.write_some(true, text.data(), text.size(), failure), text.size());
  const std::vector<bool>& large = parser.handler().large();
  if (!failure && std::find(large.begin(), large.end(), true) != large.end())
    return "an object has more than " + std::to_string(max_members) + " members";
  if (!failure && !parser.done()) return "the text ends too early";
  const std::string_view before = text.substr(0, read);
  const std::size_t line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = start == std::string_view::npos ? read + 1 : read - start;
  return "line " + std::to_string(line) + " column " + std::to_string(column);
}

COFFERDAM_DECL std::optional<boost::json::value> read_tool_arguments(std::string_view text, const std::string& name,
                                                                     std::string& complaint) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto trim = [&](std::string_view padded) {
    const std::size_t from = padded.find_first_not_of(blanks);
    if (from == std::string_view::npos) return std::string_view();
    return padded.substr(from, padded.find_last_not_of(blanks) - from + 1);
  };
  text = trim(text);
  if (text.starts_with("```") && text.ends_with("```") && text.size() >= 6) {
    text = text.substr(3, text.size() - 6);
    if (text.starts_with("json")) text.remove_prefix(4);
    text = trim(text);
  }
  if (text.empty() || text == "null") return boost::json::value(boost::json::object());
  std::optional<boost::json::value> value = read_json(text);
  if (value && value->is_string()) {
    const std::string inner(view_of(value->get_string()));
    std::optional<boost::json::value> unwrapped = read_json(inner);
    if (unwrapped && unwrapped->is_object()) value = std::move(unwrapped);
  }
  if (value && value->is_object()) return value;
  if (value) {
    complaint =
        "Error: the arguments of " + name + " are JSON, but not an object. Send the call again with a JSON object.";
  } else {
    complaint = "Error: the arguments of " + name + " are not valid JSON (" + json_fault(text) +
                "). Send the call again with a complete JSON object.";
  }
  return std::nullopt;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
