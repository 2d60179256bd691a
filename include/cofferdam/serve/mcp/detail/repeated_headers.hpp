// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/readable_json.hpp>
#include <cofferdam/serve/mcp/remote.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// The HTTP fields that repeat parts of a client's requests in the modern era, so that proxies need not read the body.
/// MCP 2026-07-28, "Streamable HTTP", "Headers".
class repeated_headers {
 public:
  using list = std::vector<std::pair<std::string, std::string>>;

  /// Learns which parameters of a tool are repeated. Returns false if the tool's schema marks them wrongly.
  bool learn(const remote_tool& tool) {
    std::optional<list> marked = marked_parameters(tool.input_schema());
    if (!marked) return false;
    parameters_[tool.name()] = std::move(*marked);
    return true;
  }

  /// Returns the fields of a request: their names and values.
  list fields_of(const std::string& method, const boost::json::object& params) const {
    using cofferdam::detail::text_at;
    list fields;
    if (method == "tools/call" || method == "prompts/get")
      fields.emplace_back("Mcp-Name", wrapped(text_at(params, "name")));
    if (method == "resources/read") fields.emplace_back("Mcp-Name", wrapped(text_at(params, "uri")));
    if (method != "tools/call") return fields;
    const auto marked = parameters_.find(std::string(text_at(params, "name")));
    if (marked == parameters_.end()) return fields;
    const boost::json::object* const arguments = cofferdam::detail::object_at(params, "arguments");
    for (const auto& [parameter, header] : marked->second) {
      const boost::json::value* const value = cofferdam::detail::member(arguments, parameter);
      if (value == nullptr || value->is_null()) continue;
      const boost::json::string* const text = value->if_string();
      fields.emplace_back("Mcp-Param-" + header,
                          wrapped(text != nullptr ? cofferdam::detail::view_of(*text) : readable_json(*value)));
    }
    return fields;
  }

 private:
  /// Returns the parameters that are repeated, with the ends of the fields' names; no value if the schema marks them
  /// wrongly.
  static std::optional<list> marked_parameters(const boost::json::object& schema) {
    list marked;
    const boost::json::object* const properties = cofferdam::detail::object_at(schema, "properties");
    if (properties == nullptr) return marked;
    for (const auto& [name, rules] : *properties) {
      const boost::json::value* const mark = cofferdam::detail::member(rules.if_object(), "x-mcp-header");
      if (mark == nullptr) continue;
      const std::string_view header =
          mark->is_string() ? cofferdam::detail::view_of(mark->get_string()) : std::string_view();
      const std::string_view type = cofferdam::detail::text_at(rules.if_object(), "type");
      const bool is_primitive = type == "string" || type == "integer" || type == "boolean";
      const bool is_known = std::any_of(marked.begin(), marked.end(), [&](const auto& other) {
        return cofferdam::detail::same_ignoring_case(other.second, header);
      });
      if (!cofferdam::detail::is_token(header) || !is_primitive || is_known) return std::nullopt;
      marked.emplace_back(std::string(name.data(), name.size()), header);
    }
    return marked;
  }

  /// Returns a value of an HTTP field, in base64 if it is not plain.
  static std::string wrapped(std::string_view value) {
    const bool is_plain = std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c < 0x7F; }) &&
                          value == cofferdam::detail::without_blanks(value) && !value.empty() &&
                          !(value.starts_with("=?base64?") && value.ends_with("?="));
    if (is_plain) return std::string(value);
    return "=?base64?" + cofferdam::detail::base64_encode(as_bytes(value)) + "?=";
  }

  std::map<std::string, list> parameters_;  // by the name of the tool
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
