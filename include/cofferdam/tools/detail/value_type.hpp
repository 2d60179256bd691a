// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/tagged_value.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/net/readable_json.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools::detail {

/// The kind of an argument's value.
enum class value_kind { text, integer, number, boolean, binary, list, object, any };

/// The range of numbers that an argument of the type `number` accepts. JSON has only finite numbers; Python also has
/// nan and infinity.
enum class number_range { finite, all };

/// Describes a JSON value for an error message: `the string "a"`, `2.5`, `an array`.
inline std::string shown_value(const boost::json::value& value) {
  const std::string_view tag = python_type(value);
  if (tag == "int") return "an integer beyond 64 bits";
  if (!tag.empty()) return "a Python " + one_line(tag, 20);
  if (value.is_string()) return "the string \"" + one_line(cofferdam::detail::view_of(value.get_string()), 40) + "\"";
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  if (value.is_double()) return cofferdam::detail::number_text(value.get_double());
  return readable_json(value);
}

/// The type of an argument's value at run time.
class value_type {
 public:
  explicit value_type(value_kind kind) : kind_(kind) {}
  /// Makes the type of a list from the type of its items.
  static value_type list_of(value_type item) {
    value_type result(value_kind::list);
    result.item_.push_back(std::move(item));
    return result;
  }

  value_kind kind() const noexcept { return kind_; }
  /// Returns the type of a list's items. Call it only for a list.
  const value_type& item() const { return item_.front(); }

  /// Returns the JSON schema, without a description.
  boost::json::object schema() const {
    boost::json::object result;
    switch (kind_) {
      case value_kind::text: result["type"] = "string"; break;
      case value_kind::integer: result["type"] = "integer"; break;
      case value_kind::number: result["type"] = "number"; break;
      case value_kind::boolean: result["type"] = "boolean"; break;
      case value_kind::binary:
        result["type"] = "string";
        result["contentEncoding"] = "base64";
        break;
      case value_kind::list:
        result["type"] = "array";
        result["items"] = item().schema();
        break;
      case value_kind::object:
        result["type"] = "object";
        result["additionalProperties"] = true;
        break;
      case value_kind::any: break;
    }
    return result;
  }

  /// Returns the type's name in Python, such as "str"; an empty text for `value_kind::any`.
  const char* python_name() const noexcept {
    switch (kind_) {
      case value_kind::text: return "str";
      case value_kind::integer: return "int";
      case value_kind::number: return "float";
      case value_kind::boolean: return "bool";
      case value_kind::binary: return "bytes";
      case value_kind::list: return "list";
      case value_kind::object: return "dict";
      case value_kind::any: break;
    }
    return "";
  }

  /// Returns the type with its article for an error message, such as "a string" or "an array of integers".
  std::string one() const {
    switch (kind_) {
      case value_kind::text: return "a string";
      case value_kind::integer: return "an integer";
      case value_kind::number: return "a number";
      case value_kind::boolean: return "true or false";
      case value_kind::binary: return "a string in base64";
      case value_kind::list: return "an array of " + item().several();
      case value_kind::object: return "an object";
      case value_kind::any: break;
    }
    return "a value";
  }

  /// Returns a phrase for the part of the value that does not fit the type; an empty text if the whole value fits. A
  /// value such as 2.0 fits an integer.
  std::string misfit(const boost::json::value& value, number_range range) const {
    if (kind_ == value_kind::list && value.is_array()) {
      const boost::json::array& items = value.get_array();
      for (std::size_t i = 0; i < items.size(); ++i) {
        const std::string inside = item().misfit(items[i], range);
        if (!inside.empty()) return "an array whose item " + std::to_string(i) + " is " + inside;
      }
      return {};
    }
    return fits(value, range) ? std::string() : shown_value(value);
  }

 private:
  bool fits(const boost::json::value& value, number_range range) const {
    switch (kind_) {
      case value_kind::text: return value.is_string();
      case value_kind::integer: return is_integer(value);
      case value_kind::number:
        return value.is_number() && (range == number_range::all || std::isfinite(value.to_number<double>()));
      case value_kind::boolean: return value.is_bool();
      case value_kind::binary:
        return value.is_string() &&
               cofferdam::detail::base64_decode(cofferdam::detail::view_of(value.get_string())).has_value();
      case value_kind::list: return false;
      case value_kind::object: return value.is_object();
      case value_kind::any: break;
    }
    return true;
  }

  static bool is_integer(const boost::json::value& value) {
    if (value.is_int64()) return true;
    if (value.is_uint64())
      return value.get_uint64() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return value.is_double() && std::floor(value.get_double()) == value.get_double() &&
           std::abs(value.get_double()) <= 9e15;
  }

  std::string several() const {
    switch (kind_) {
      case value_kind::text: return "strings";
      case value_kind::integer: return "integers";
      case value_kind::number: return "numbers";
      case value_kind::boolean: return "booleans";
      case value_kind::binary: return "strings in base64";
      case value_kind::list: return "arrays of " + item().several();
      case value_kind::object: return "objects";
      case value_kind::any: break;
    }
    return "values";
  }

  value_kind kind_;
  std::vector<value_type> item_;  // the type of the items; empty unless this is a list
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools::detail
