// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

// Functions that read members of JSON objects from other programs. If a member is absent or has the wrong type, they
// return no value or an empty text. They accept a null pointer in place of an object, and then treat every member as
// absent.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Converts a string view to the string view type of Boost.JSON.
inline boost::json::string_view json_view(std::string_view text) noexcept { return {text.data(), text.size()}; }
inline boost::json::string json_text(std::string_view text) { return boost::json::string(json_view(text)); }
inline std::string_view view_of(const boost::json::string& text) noexcept { return {text.data(), text.size()}; }

/// A view of a JSON object, or of no object, in which every member is absent.
class json_object_view {
 public:
  json_object_view(const boost::json::object& object) noexcept : object_(&object) {}
  json_object_view(const boost::json::object* object) noexcept : object_(object) {}

  const boost::json::value* find(std::string_view key) const noexcept {
    return object_ == nullptr ? nullptr : object_->if_contains(json_view(key));
  }

 private:
  const boost::json::object* object_;
};

/// Returns the member with this key, of any type; null if it is absent.
inline const boost::json::value* member(json_object_view object, std::string_view key) noexcept {
  return object.find(key);
}

inline const boost::json::object* object_at(json_object_view object, std::string_view key) noexcept {
  const boost::json::value* const found = object.find(key);
  return found == nullptr ? nullptr : found->if_object();
}

inline const boost::json::array* array_at(json_object_view object, std::string_view key) noexcept {
  const boost::json::value* const found = object.find(key);
  return found == nullptr ? nullptr : found->if_array();
}

/// Returns the text of a member, as a view into the object; no value if the member is absent or not a string.
inline std::optional<std::string_view> if_text_at(json_object_view object, std::string_view key) noexcept {
  const boost::json::value* const found = object.find(key);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return view_of(found->get_string());
}

/// Returns the text of a member, as a view into the object; empty if the member is absent or not a string.
inline std::string_view text_at(json_object_view object, std::string_view key) noexcept {
  return if_text_at(object, key).value_or(std::string_view());
}

inline bool is_true_at(json_object_view object, std::string_view key) noexcept {
  const boost::json::value* const found = object.find(key);
  return found != nullptr && found->is_bool() && found->get_bool();
}

/// Returns a member as a 64-bit integer, also if it is written like `1.0` or `1e3`; no value if it is not such a
/// number.
inline std::optional<std::int64_t> number_at(json_object_view object, std::string_view key) {
  const boost::json::value* const found = object.find(key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  std::error_code failure;
  const auto number = found->to_number<std::int64_t>(failure);
  if (failure) return std::nullopt;
  return number;
}

/// Returns a member as a non-negative integer, also if it is written like `1.0` or `1e3`; no value if it is not such a
/// number.
inline std::optional<std::uint64_t> count_at(json_object_view object, std::string_view key) {
  const boost::json::value* const found = object.find(key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  std::error_code failure;
  const auto number = found->to_number<std::uint64_t>(failure);
  if (failure) return std::nullopt;
  return number;
}

/// Returns the strings in an array member, without its other elements; empty if the member is not an array.
inline std::vector<std::string> texts_at(json_object_view object, std::string_view key) {
  std::vector<std::string> texts;
  if (const boost::json::array* const elements = array_at(object, key))
    for (const boost::json::value& each : *elements)
      if (const boost::json::string* const text = each.if_string()) texts.emplace_back(view_of(*text));
  return texts;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
