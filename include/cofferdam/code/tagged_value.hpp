// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/base64.hpp>
#include <cofferdam/core/bytes.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

// Values that go into a run and come out of it are JSON. What Python has and JSON has not is an object that says so:
//
//   {"$python": "int", "text": "123456789012345678901234567890"}        beyond 64 bits; "0x..." where it is very long
//   {"$python": "float", "text": "nan"}                                 nan, inf, -inf
//   {"$python": "bytes", "base64": "AAEC"}                              also "bytearray", and "str" with surrogates
//   {"$python": "tuple", "items": [1, 2]}                               also "set", "frozenset"
//   {"$python": "dict", "items": [[1, "one"], ...]}                     a dict with keys that are no text, or begin with $;
//                                                                       or with more than 1,000 of them
//   {"$python": "datetime", "text": "2026-01-31T12:00:00+02:00"}        also "date", "time"; "zone": "CEST" besides where
//                                                                       its timezone has a name of its own
//   {"$python": "timedelta", "days": 1, "seconds": 2, "microseconds": 3}
//   {"$python": "decimal", "text": "1.10"}
//   {"$python": "complex", "real": "1.0", "imag": "-0.0"}
//   {"$python": "text", "type": "__main__.thing", "text": "<thing>"}    nothing of the above: its repr, marked as that;
//                                                                       "why" besides where its type is none of the reasons
//
// All but the last go both ways unchanged. Floats are the same double at both ends. A value of a run that has more than
// 4 MiB in this form, or more than 100 levels, is "text" as a whole, and so is what contains itself where it does.
//
// An object with the key "$python" that is none of these is a ValueError of the run. JSON from elsewhere, which may have
// such keys of its own, goes in as it is by `python_json`.

namespace cofferdam::inline v0 {

/// The kind of a tagged value ("bytes", "tuple", ...); empty for a value that is JSON by itself.
/// \par Lifetime  a view into `value`.
inline std::string_view python_type(const boost::json::value& value) noexcept {
  const boost::json::object* const object = value.if_object();
  const boost::json::value* const kind = object == nullptr ? nullptr : object->if_contains("$python");
  const boost::json::string* const name = kind == nullptr ? nullptr : kind->if_string();
  return name == nullptr ? std::string_view() : std::string_view(name->data(), name->size());
}

/// Raw bytes as a Python `bytes`.
inline boost::json::value python_bytes(bytes_view content) {
  boost::json::object made;
  made["$python"] = "bytes";
  made["base64"] = base64_encode(content);
  return made;
}

/// JSON as it is, for what is not the program's own: "$python" in it, at any depth, is a key like any other.
/// \par Cost  linear; objects with such a key are copied into a list of pairs.
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
  boost::json::object made;
  made["$python"] = "dict";
  made["items"] = std::move(items);
  return made;
}

/// An integer of any length, in decimal or as "0x..."; a text that is none is a ValueError of the run.
/// \par Cost  the run's time: decimal digits in less than quadratic time, as long integers are multiplied; "0x..." in linear.
inline boost::json::value python_int(std::string digits) {
  boost::json::object made;
  made["$python"] = "int";
  made["text"] = std::move(digits);
  return made;
}

/// A Python `tuple`, `set` or `frozenset` of these items.
/// \param kind  one of the three words.
inline boost::json::value python_items(std::string_view kind, boost::json::array items) {
  boost::json::object made;
  made["$python"] = kind;
  made["items"] = std::move(items);
  return made;
}

/// The content of a Python `bytes` or `bytearray` that came out of a run; nothing for any other value.
inline std::optional<bytes> bytes_of(const boost::json::value& value) {
  const std::string_view kind = python_type(value);
  if (kind != "bytes" && kind != "bytearray") return std::nullopt;
  const boost::json::value* const text = value.get_object().if_contains("base64");
  if (text == nullptr || !text->is_string()) return std::nullopt;
  return base64_decode(std::string_view(text->get_string().data(), text->get_string().size()));
}

namespace detail {

inline std::string_view view_of(const boost::json::string& text) noexcept { return {text.data(), text.size()}; }

/// JSON has no nan and no infinity.
inline void mark_special_floats(boost::json::value& value) {
  if (value.is_array()) {
    for (boost::json::value& each : value.get_array()) mark_special_floats(each);
  } else if (value.is_object()) {
    for (auto& each : value.get_object()) mark_special_floats(each.value());
  } else if (value.is_double() && !std::isfinite(value.get_double())) {
    boost::json::object made;
    made["$python"] = "float";
    made["text"] = std::isnan(value.get_double()) ? "nan" : value.get_double() < 0 ? "-inf" : "inf";
    value = std::move(made);
  }
}

/// Floats travel from Python as {"$f": text}, since parsers of JSON do not all read them exactly. False where a text is no
/// float: then a run has tampered with its report.
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
  const std::string_view digits = view_of(text->get_string());
  double number = 0;
  const std::from_chars_result end = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (end.ec != std::errc() || end.ptr != digits.data() + digits.size()) return false;
  value = number;
  mark_special_floats(value);
  return true;
}

}  // namespace detail

}  // namespace cofferdam::inline v0
