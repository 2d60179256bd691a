// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/core/number_text.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// Converts Python values to JSON and back. Values that go into a run or come out of it are JSON. A Python value that
// JSON cannot represent is an object with the key "$python". It has one of these forms; the right column lists further
// uses of the form:
//
//   {"$python": "int", "text": "123456789012345678901234567890"}        beyond 64 bits; "0x..." if it is very long
//   {"$python": "float", "text": "nan"}                                 nan, inf, -inf
//   {"$python": "bytes", "base64": "AAEC"}                              also "bytearray", and "str" with surrogates
//   {"$python": "tuple", "items": [1, 2]}                               also "set", "frozenset"
//   {"$python": "dict", "items": [[1, "one"], ...]}                     a dict with more than 1,000 keys, or with keys
//                                                                       that are not texts or begin with $
//   {"$python": "datetime", "text": "2026-01-31T12:00:00+02:00"}        also "date", "time"; with "zone": "CEST" if its
//                                                                       timezone has a name
//   {"$python": "timedelta", "days": 1, "seconds": 2, "microseconds": 3}
//   {"$python": "decimal", "text": "1.10"}
//   {"$python": "complex", "real": "1.0", "imag": "-0.0"}
//   {"$python": "object", "class": "shapely.Point", "json": [1, 2]}     a class that the request describes; see
//                                                                       `python_class`
//   {"$python": "table", "index": [], "columns": [...]}                 a pandas.DataFrame; see `data_table`
//   {"$python": "text", "type": "__main__.thing", "text": "<thing>"}    any other value: its repr; with "why" if the
//                                                                       type is not the reason
//
// All of these values except the last kind keep their value in both directions. Floats have the same 64 bits on both
// sides. If a value from a run has more than 4 MiB in this form, or more than 100 levels, the whole value becomes
// "text". A reference of a value to itself becomes "text" too.
//
// If the host passes an object with the key "$python" that has none of these forms, the run fails with a ValueError.
// JSON from other programs may contain such a key, so pass it through `python_json`.

namespace cofferdam::inline COFFERDAM_ABI {

/// Returns the kind of a tagged value ("bytes", "tuple" and so on); empty for plain JSON.
/// \par Lifetime  the result is a view into `value`.
inline std::string_view python_type(const boost::json::value& value) noexcept {
  return detail::text_at(value.if_object(), "$python");
}

/// Makes a Python `bytes` object.
inline boost::json::value python_bytes(bytes_view content) {
  boost::json::object tagged;
  tagged["$python"] = "bytes";
  tagged["base64"] = detail::base64_encode(content);
  return tagged;
}

/// Makes a value from JSON that other programs have made. In this JSON, at any depth, "$python" is an ordinary key.
/// \par Cost  linear. Objects that contain the key are copied into a list of pairs.
inline boost::json::value python_json(boost::json::value plain) {
  if (plain.is_array())
    for (boost::json::value& each : plain.get_array()) each = python_json(std::move(each));
  if (!plain.is_object()) return plain;
  for (auto& each : plain.get_object()) each.value() = python_json(std::move(each.value()));
  if (!plain.get_object().contains("$python")) return plain;
  boost::json::array items;
  for (auto& each : plain.get_object()) {
    boost::json::array pair;
    pair.emplace_back(each.key());
    pair.push_back(std::move(each.value()));
    items.push_back(std::move(pair));
  }
  boost::json::object tagged;
  tagged["$python"] = "dict";
  tagged["items"] = std::move(items);
  return tagged;
}

/// Makes a Python `int` of any length.
/// \param digits  decimal digits or "0x...". With any other text the run fails with a ValueError.
/// \par Cost  in the run, "0x..." takes linear time, and decimal digits take more, but less than quadratic time.
inline boost::json::value python_int(std::string digits) {
  boost::json::object tagged;
  tagged["$python"] = "int";
  tagged["text"] = std::move(digits);
  return tagged;
}

/// Makes a Python `tuple`, `set` or `frozenset` of these items.
/// \param kind  "tuple", "set" or "frozenset".
/// \param items  the items, in order.
inline boost::json::value python_items(std::string_view kind, boost::json::array items) {
  boost::json::object tagged;
  tagged["$python"] = kind;
  tagged["items"] = std::move(items);
  return tagged;
}

/// Returns the content of a Python `bytes` or `bytearray` that a run has returned; no value for any other value.
inline std::optional<bytes> bytes_of(const boost::json::value& value) {
  const std::string_view kind = python_type(value);
  if (kind != "bytes" && kind != "bytearray") return std::nullopt;
  const boost::json::value* const text = value.get_object().if_contains("base64");
  if (text == nullptr || !text->is_string()) return std::nullopt;
  return detail::base64_decode(std::string_view(text->get_string().data(), text->get_string().size()));
}

namespace detail {

/// Replaces nan and infinity, which JSON does not have, with tagged objects.
inline void mark_special_floats(boost::json::value& value) {
  if (value.is_array()) {
    for (boost::json::value& each : value.get_array()) mark_special_floats(each);
  } else if (value.is_object()) {
    for (auto& each : value.get_object()) mark_special_floats(each.value());
  } else if (value.is_double() && !std::isfinite(value.get_double())) {
    boost::json::object tagged;
    tagged["$python"] = "float";
    tagged["text"] = std::isnan(value.get_double()) ? "nan" : value.get_double() < 0 ? "-inf" : "inf";
    value = std::move(tagged);
  }
}

/// Replaces each {"$f": text} with the float in the text. The driver (the Python program that runs the code) sends
/// floats in this form, because some JSON parsers read them inexactly. Returns false if a text is not a float. In this
/// case the run has tampered with its report.
inline bool read_floats(boost::json::value& value) {
  if (value.is_array()) {
    for (boost::json::value& each : value.get_array())
      if (!read_floats(each)) return false;
    return true;
  }
  if (!value.is_object()) return true;
  boost::json::object& object = value.get_object();
  const boost::json::value* const text = object.size() == 1 ? object.if_contains("$f") : nullptr;
  if (text == nullptr) {
    for (auto& each : object)
      if (!read_floats(each.value())) return false;
    return true;
  }
  if (!text->is_string()) return false;
  const std::optional<double> number = number_from(view_of(text->get_string()));
  if (!number) return false;
  value = *number;
  mark_special_floats(value);
  return true;
}

}  // namespace detail

}  // namespace cofferdam::inline COFFERDAM_ABI
