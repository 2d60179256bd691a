// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/serve/mcp/detail/json_rpc.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

// Checks arguments against a JSON schema before a user's handler runs. Only a part of JSON Schema is checked:
// `required`, the `type` of the properties at the top level, and `additionalProperties: false`. MCP, "Tools".

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

inline bool has_json_type(const boost::json::value& value, std::string_view type) {
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  // An integer may be written as 2.0.
  if (type == "integer")
    return value.is_int64() || value.is_uint64() ||
           (value.is_double() && std::floor(value.get_double()) == value.get_double());
  return true;
}

/// Returns true if the `type` in the schema of a property allows a value.
inline bool allows_type(const boost::json::value& property, const boost::json::value& value) {
  const boost::json::value* const type = cofferdam::detail::member(property.if_object(), "type");
  if (type == nullptr) return true;
  if (type->is_string()) return has_json_type(value, view_of(type->get_string()));
  if (!type->is_array()) return true;
  for (const boost::json::value& each : type->get_array())
    if (!each.is_string() || has_json_type(value, view_of(each.get_string()))) return true;
  return false;
}

/// Returns the required type as a phrase, such as " must be a string" or " must be an integer or null"; an empty text
/// if every type is allowed.
inline std::string expected_type(const boost::json::value& property) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> words{{{"string", "a string"},
                                                                                {"boolean", "true or false"},
                                                                                {"array", "an array"},
                                                                                {"object", "an object"},
                                                                                {"null", "null"},
                                                                                {"number", "a number"},
                                                                                {"integer", "an integer"}}};
  std::string result;
  const auto add = [&](const boost::json::value& type) {
    for (const auto& [name, text] : words)
      if (type.is_string() && view_of(type.get_string()) == name)
        result += (result.empty() ? " must be " : " or ") + std::string(text);
  };
  const boost::json::value* const type = cofferdam::detail::member(property.if_object(), "type");
  if (type == nullptr) return result;
  add(*type);
  if (type->is_array())
    for (const boost::json::value& each : type->get_array()) add(each);
  return result;
}

/// Checks a client's arguments against an input schema. A null that the schema does not allow counts as a missing
/// argument, and is removed.
/// \param schema  a schema that `tools::definition::input` has accepted.
/// \return        an empty text if the arguments are valid; otherwise one sentence for the model with all errors.
inline std::string argument_complaint(const boost::json::object& schema, boost::json::object& arguments) {
  std::string complaints;
  const auto complain = [&complaints](const std::string& complaint) {
    complaints += (complaints.empty() ? "" : "; ") + complaint;
  };
  const auto quoted = [](boost::json::string_view name) {
    return "'" + one_line(std::string_view(name.data(), name.size()), 60) + "'";
  };
  const boost::json::object none;
  const boost::json::object* const described = object_at(schema, "properties");
  const boost::json::object& properties = described == nullptr ? none : *described;
  for (const auto& each : properties) {
    const boost::json::value* const given = arguments.if_contains(each.key());
    if (given == nullptr || allows_type(each.value(), *given)) continue;
    if (given->is_null()) {
      arguments.erase(each.key());
    } else {
      complain(quoted(each.key()) + expected_type(each.value()));
    }
  }
  if (const boost::json::value* const required = schema.if_contains("required"))
    for (const boost::json::value& each : required->get_array()) {
      if (arguments.contains(each.get_string())) continue;
      const boost::json::value* const property = properties.if_contains(each.get_string());
      const std::string expected = property == nullptr ? "" : expected_type(*property);
      complain(quoted(each.get_string()) + " is missing" + (expected.empty() ? "" : " and" + expected));
    }
  const boost::json::value* const others = schema.if_contains("additionalProperties");
  if (others != nullptr && others->is_bool() && !others->get_bool() && !schema.contains("patternProperties")) {
    std::size_t unknown = 0;
    for (const auto& each : arguments)
      if (!properties.contains(each.key()) && ++unknown <= 5) complain("unknown argument " + quoted(each.key()));
  }
  return complaints.empty() ? complaints : "Wrong arguments: " + complaints + ".";
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
