// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/net/untrusted_json.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::detail {

// A JSON object that came from outside. The sentence names it and holds nothing of it: it may be full of secrets.
inline boost::json::object parse_object(std::string_view text, errc code, const std::string& what) {
  std::error_code failure;
  boost::json::value value = parse_untrusted_json(text, failure);
  if (failure) throw error(code, what + " is not valid JSON", failure);
  if (!value.is_object()) throw error(code, what + " is JSON, but not an object");
  return std::move(value.get_object());
}

inline const boost::json::value* member(const boost::json::object& object, std::string_view key) {
  return object.if_contains(boost::json::string_view(key.data(), key.size()));
}

// The object at a key; null where there is none.
inline const boost::json::object* object_at(const boost::json::object& object, std::string_view key) {
  const boost::json::value* const found = member(object, key);
  return found == nullptr ? nullptr : found->if_object();
}

inline const boost::json::array* array_at(const boost::json::object& object, std::string_view key) {
  const boost::json::value* const found = member(object, key);
  return found == nullptr ? nullptr : found->if_array();
}

// The text at a key; empty where there is none.
inline std::string_view text_at(const boost::json::object& object, std::string_view key) {
  const boost::json::value* const found = member(object, key);
  const boost::json::string* const text = found == nullptr ? nullptr : found->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

inline bool is_true_at(const boost::json::object& object, std::string_view key) {
  const boost::json::value* const found = member(object, key);
  return found != nullptr && found->is_bool() && found->get_bool();
}

// The integer at a key, whichever way it was written; nothing where there is none, or it is no 64-bit integer.
inline std::optional<std::int64_t> number_at(const boost::json::object& object, std::string_view key) {
  const boost::json::value* const found = member(object, key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  std::error_code failure;
  const auto number = found->to_number<std::int64_t>(failure);
  if (failure) return std::nullopt;
  return number;
}

// The texts of the array at a key; what is none is left out.
inline std::vector<std::string> texts_at(const boost::json::object& object, std::string_view key) {
  std::vector<std::string> texts;
  if (const boost::json::array* const all = array_at(object, key))
    for (const boost::json::value& each : *all)
      if (const boost::json::string* const text = each.if_string()) texts.emplace_back(text->data(), text->size());
  return texts;
}

inline boost::json::string json_text(std::string_view text) { return boost::json::string(text.data(), text.size()); }

inline boost::json::string_view json_key(std::string_view text) {
  return boost::json::string_view(text.data(), text.size());
}

}  // namespace cofferdam::inline v0::detail
