// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/net/untrusted_json.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse_options.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0::detail {

inline boost::json::string_view as_json_text(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view text_view(const boost::json::string& text) { return {text.data(), text.size()}; }

/// JSON from outside: deeper than usual, not endlessly. Nothing where it is none; `offset`: where reading stopped.
inline std::optional<boost::json::value> read_json(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = 64;
  std::error_code failure;
  boost::json::value value = parse_untrusted_json(text, failure, options);
  if (failure) return std::nullopt;
  return value;
}

inline std::string json_text(const boost::json::value& value) { return boost::json::serialize(value); }
inline std::string json_text(const boost::json::object& value) { return boost::json::serialize(value); }

inline const boost::json::value* field(const boost::json::object& object, std::string_view key) {
  return object.if_contains(as_json_text(key));
}
inline const boost::json::object* object_field(const boost::json::object& object, std::string_view key) {
  const boost::json::value* const found = field(object, key);
  return found == nullptr ? nullptr : found->if_object();
}
inline const boost::json::array* array_field(const boost::json::object& object, std::string_view key) {
  const boost::json::value* const found = field(object, key);
  return found == nullptr ? nullptr : found->if_array();
}
/// The text at a key; empty where there is none.
inline std::string_view text_field(const boost::json::object& object, std::string_view key) {
  const boost::json::value* const found = field(object, key);
  const boost::json::string* const text = found == nullptr ? nullptr : found->if_string();
  return text == nullptr ? std::string_view() : text_view(*text);
}
/// A whole number that is not negative, however it is written; nothing for everything else.
inline std::optional<std::uint64_t> count_field(const boost::json::object& object, std::string_view key) {
  const boost::json::value* const found = field(object, key);
  if (found == nullptr) return std::nullopt;
  if (found->is_uint64()) return found->get_uint64();
  if (found->is_int64() && found->get_int64() >= 0) return static_cast<std::uint64_t>(found->get_int64());
  if (found->is_double()) {
    const double number = found->get_double();
    if (number >= 0 && number < 9e15 && std::floor(number) == number) return static_cast<std::uint64_t>(number);
  }
  return std::nullopt;
}

}  // namespace cofferdam::inline v0::detail
