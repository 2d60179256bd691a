// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/code/host_function.hpp>
#include <cofferdam/net/readable_json.hpp>

#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns a default value as Python writes it. Only texts, numbers and the three constants differ from JSON at most in
/// their spelling; other values are shown as JSON.
inline std::string python_default(const boost::json::value& value) {
  if (value.is_null()) return "None";
  if (value.is_bool()) return value.get_bool() ? "True" : "False";
  return readable_json(value);
}

/// Returns a description of a function for a model that writes code: `tide(place: str, days: int = 3): Returns ...`,
/// with the first line of the documentation.
inline std::string function_text(const host_function& function) {
  std::string text = function.name() + "(";
  bool is_first = true;
  for (const host_parameter& each : function.parameters()) {
    if (!is_first) text += ", ";
    is_first = false;
    text += each.name();
    if (!each.type().empty()) text += ": " + each.type();
    if (each.default_value()) text += " = " + python_default(*each.default_value());
  }
  text += ")";
  const std::string_view doc = std::string_view(function.doc()).substr(0, function.doc().find('\n'));
  if (!doc.empty()) text += ": " + one_line(doc, 200);
  return text;
}

/// Returns descriptions of functions, one on each line, after a line that introduces them; empty if there are none.
inline std::string function_list(const std::vector<host_function>& functions) {
  std::string text;
  for (const host_function& each : functions) text += "\n- " + function_text(each);
  if (!text.empty()) text.insert(0, "Code can call these global functions:");
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
