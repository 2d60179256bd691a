// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/number_text.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/tools/detail/value_type.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools::detail {

/// The rules for the value of one argument, as data: its type, range, choices and default.
class argument_rules {
 public:
  std::string name;
  std::string description;
  value_type type = value_type(value_kind::any);
  bool required = true;
  std::optional<double> minimum;
  std::optional<double> maximum;
  std::vector<std::string> choices;
  std::optional<boost::json::value> fallback;

  boost::json::object schema() const {
    boost::json::object result = type.schema();
    if (!description.empty()) result["description"] = description;
    const bool is_text = type.kind() == value_kind::text;
    if (minimum) limit(result, is_text ? "minLength" : "minimum", *minimum);
    if (maximum) limit(result, is_text ? "maxLength" : "maximum", *maximum);
    if (!choices.empty()) {
      boost::json::array values;
      for (const std::string& each : choices) values.emplace_back(each);
      result["enum"] = std::move(values);
    }
    if (fallback) result["default"] = *fallback;
    return result;
  }

  /// Returns an error message for an invalid value; an empty text if the value is valid.
  std::string complaint(const boost::json::value& value, number_range range) const {
    const std::string requirement = "'" + name + "' must be " + type.one();
    const std::string misfit = type.misfit(value, range);
    if (!misfit.empty()) return requirement + ", not " + misfit;
    if (value.is_string() && type.kind() == value_kind::text)
      return text_complaint(cofferdam::detail::view_of(value.get_string()));
    if (!value.is_number() || (!minimum && !maximum)) return {};
    const auto number = value.to_number<double>();
    const bool is_within = (!minimum || number >= *minimum) && (!maximum || number <= *maximum);
    return is_within ? std::string() : requirement + limits() + ", not " + shown_value(value);
  }

  /// Returns an error message for a missing value.
  std::string missing() const {
    return "'" + name + "' is missing" +
           (type.kind() == value_kind::any ? std::string() : " and must be " + type.one());
  }

 private:
  static std::string shown(double number) {
    if (std::floor(number) == number && std::abs(number) < 9e15)
      return std::to_string(static_cast<std::int64_t>(number));
    return cofferdam::detail::number_text(number);
  }
  static void limit(boost::json::object& schema, const char* key, double number) {
    if (std::floor(number) == number && std::abs(number) < 9e15) {
      schema[key] = static_cast<std::int64_t>(number);
    } else {
      schema[key] = number;
    }
  }
  std::string limits() const {
    std::string words;
    if (minimum) words += " of at least " + shown(*minimum);
    if (maximum) words += std::string(minimum ? " and" : " of") + " at most " + shown(*maximum);
    return words;
  }
  std::string text_complaint(std::string_view given) const {
    const std::string requirement = "'" + name + "' must be ";
    const std::string size = " bytes long, not " + std::to_string(given.size());
    if (minimum && static_cast<double>(given.size()) < *minimum) {
      if (*minimum == 1) return "'" + name + "' must not be empty";
      return requirement + "at least " + shown(*minimum) + size;
    }
    if (maximum && static_cast<double>(given.size()) > *maximum)
      return requirement + "at most " + shown(*maximum) + size;
    if (choices.empty()) return {};
    std::string list;
    for (const std::string& each : choices) {
      if (given == each) return {};
      list += (list.empty() ? "" : ", ") + each;
    }
    return requirement + "one of " + list + ", not \"" + one_line(given, 40) + "\"";
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools::detail
