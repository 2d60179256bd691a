// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/python_class.hpp>
#include <cofferdam/code/tagged_value.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>

#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns what a request sets before its code, as the interpreter receives it: prelude, variables and classes. Empty
/// ones are left out.
/// \param memory  where the values are stored.
inline boost::json::object request_values(const code_request& request, const boost::json::storage_ptr& memory = {}) {
  boost::json::object values(memory);
  values.reserve(16);  // this function and the callers add fewer members
  if (!request.prelude().empty()) values["prelude"] = request.prelude();
  if (!request.variables().empty()) mark_special_floats(values["variables"] = request.variables());
  boost::json::array classes(memory);
  for (const python_class& each : request.classes()) {
    boost::json::object about(memory);
    about["name"] = each.name();
    about["source"] = each.source();
    classes.push_back(std::move(about));
  }
  if (!classes.empty()) values["classes"] = std::move(classes);
  return values;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
