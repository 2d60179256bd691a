// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/python_class.hpp>
#include <cofferdam/code/tagged_value.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns what a request sets before its code, as the interpreter receives it: prelude, variables and classes.
inline boost::json::object request_values(const code_request& request) {
  boost::json::object values;
  values["prelude"] = request.prelude();
  boost::json::value variables(request.variables());
  mark_special_floats(variables);
  values["variables"] = std::move(variables);
  boost::json::array classes;
  for (const python_class& each : request.classes()) {
    boost::json::object about;
    about["name"] = each.name();
    about["source"] = each.source();
    classes.push_back(std::move(about));
  }
  if (!classes.empty()) values["classes"] = std::move(classes);
  return values;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
