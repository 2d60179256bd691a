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

// Reads foreign JSON by its keys. A member that is missing or has the wrong type gives no value or an empty text. The
// same holds for every member of a missing object.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Converts to the string view type of Boost.JSON.
inline boost::json::string_view json_view(std::string_view text) noexcept { return {text.data(), text.size()}; }
inline boost::json::string json_text(std::string_view text) { return boost::json::string(json_view(text)); }
inline std::string_view view_of(const boost::json::string& text) noexcept { return {text.data(), text.size()}; }

/// A view of a foreign object, or of none.
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

/// Returns the value at a key, of any kind; null if there is none.
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

/// Returns the text of a member, as a view into the object; no value if there is none.
inline std::optional<std::string_view> if_text_at(json_object_view object, std::string_view key) noexcept {
  const boost::json::value* const found = object.find(key);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return view_of(found->get_string());
}

/// Returns the text of a member, as a view into the object; empty if there is none.
inline std::string_view text_at(json_object_view object, std::string_view key) noexcept {
  return if_text_at(object, key).value_or(std::string_view());
}

inline bool is_true_at(json_object_view object, std::string_view key) noexcept {
  const boost::json::value* const found = object.find(key);
  return found != nullptr && found->is_bool() && found->get_bool();
}

/// Returns a 64-bit integer, however it was written.
inline std::optional<std::int64_t> number_at(json_object_view object, std::string_view key) {
  const boost::json::value* const found = object.find(key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  std::error_code failure;
  const auto number = found->to_number<std::int64_t>(failure);
  if (failure) return std::nullopt;
  return number;
}

/// Returns a non-negative integer, however it was written.
inline std::optional<std::uint64_t> count_at(json_object_view object, std::string_view key) {
  const boost::json::value* const found = object.find(key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  std::error_code failure;
  const auto number = found->to_number<std::uint64_t>(failure);
  if (failure) return std::nullopt;
  return number;
}

/// Returns the texts of an array; other elements are left out.
inline std::vector<std::string> texts_at(json_object_view object, std::string_view key) {
  std::vector<std::string> texts;
  if (const boost::json::array* const elements = array_at(object, key))
    for (const boost::json::value& each : *elements)
      if (const boost::json::string* const text = each.if_string()) texts.emplace_back(view_of(*text));
  return texts;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
