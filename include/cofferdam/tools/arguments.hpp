// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/number_text.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools {

/// The type of an argument's value.
enum class argument_kind { text, integer, number, boolean, texts, object };

/// One argument of a tool: `argument("limit", argument_kind::integer, "Most lines.").between(1,
/// 10000).otherwise(2000)`.
class argument {
 public:
  argument(std::string name, argument_kind kind, std::string description)
      : name_(std::move(name)), kind_(kind), description_(std::move(description)) {}

  /// Makes the argument mandatory.
  argument& required() {
    required_ = true;
    return *this;
  }
  /// Sets the range of an integer or a number, or the length range of a text in bytes.
  argument& between(double least, double most) {
    least_ = least;
    most_ = most;
    return *this;
  }
  /// Sets the allowed values of a text.
  argument& one_of(std::vector<std::string> choices) {
    choices_ = std::move(choices);
    return *this;
  }
  /// Sets the default value.
  argument& otherwise(boost::json::value value) {
    default_ = std::move(value);
    return *this;
  }

  const std::string& name() const noexcept { return name_; }
  bool is_required() const noexcept { return required_; }
  const std::optional<boost::json::value>& fallback() const noexcept { return default_; }

  boost::json::object schema() const {
    boost::json::object made;
    switch (kind_) {
      case argument_kind::text: made["type"] = "string"; break;
      case argument_kind::integer: made["type"] = "integer"; break;
      case argument_kind::number: made["type"] = "number"; break;
      case argument_kind::boolean: made["type"] = "boolean"; break;
      case argument_kind::texts: {
        boost::json::object each;
        each["type"] = "string";
        made["type"] = "array";
        made["items"] = std::move(each);
        break;
      }
      case argument_kind::object:
        made["type"] = "object";
        made["additionalProperties"] = true;
        break;
    }
    made["description"] = description_;
    const bool text = kind_ == argument_kind::text;
    if (least_) limit(made, text ? "minLength" : "minimum", *least_);
    if (most_) limit(made, text ? "maxLength" : "maximum", *most_);
    if (!choices_.empty()) {
      boost::json::array all;
      for (const std::string& each : choices_) all.emplace_back(each);
      made["enum"] = std::move(all);
    }
    if (default_) made["default"] = *default_;
    return made;
  }

  /// Returns an error message for an invalid value; empty if the value is valid. An integer may be written as 2.0.
  std::string complaint(const boost::json::value& value) const {
    const std::string mine = "'" + name_ + "' must be ";
    switch (kind_) {
      case argument_kind::text:
        if (!value.is_string()) return mine + "a string";
        return text_complaint(value.get_string(), mine);
      case argument_kind::integer:
      case argument_kind::number: {
        const bool whole = kind_ == argument_kind::integer;
        const std::string what = mine + (whole ? "an integer" : "a number");
        if (!value.is_number()) return what;
        const double number = value.to_number<double>();
        if (!std::isfinite(number) || (whole && (std::floor(number) != number || std::abs(number) > 9e15))) return what;
        if ((least_ && number < *least_) || (most_ && number > *most_)) return what + limits();
        return {};
      }
      case argument_kind::boolean: return value.is_bool() ? std::string() : mine + "true or false";
      case argument_kind::texts:
        if (!value.is_array()) return mine + "an array of strings";
        for (const boost::json::value& each : value.get_array())
          if (!each.is_string()) return mine + "an array of strings";
        return {};
      case argument_kind::object: return value.is_object() ? std::string() : mine + "an object";
    }
    return {};
  }

 private:
  static std::string shown(double number) {
    if (std::floor(number) == number && std::abs(number) < 9e15)
      return std::to_string(static_cast<std::int64_t>(number));
    return cofferdam::detail::number_text(number);
  }
  static void limit(boost::json::object& schema, const char* name, double number) {
    if (std::floor(number) == number && std::abs(number) < 9e15) {
      schema[name] = static_cast<std::int64_t>(number);
    } else {
      schema[name] = number;
    }
  }
  std::string limits() const {
    std::string text;
    if (least_) text += " of at least " + shown(*least_);
    if (most_) text += std::string(least_ ? " and" : " of") + " at most " + shown(*most_);
    return text;
  }
  std::string text_complaint(const boost::json::string& text, const std::string& mine) const {
    if (least_ && static_cast<double>(text.size()) < *least_) {
      if (*least_ == 1) return "'" + name_ + "' must not be empty";
      return mine + "at least " + shown(*least_) + " bytes long";
    }
    if (most_ && static_cast<double>(text.size()) > *most_) return mine + "at most " + shown(*most_) + " bytes long";
    if (choices_.empty()) return {};
    std::string all;
    for (const std::string& each : choices_) {
      if (std::string_view(text.data(), text.size()) == each) return {};
      all += (all.empty() ? "" : ", ") + each;
    }
    return mine + "one of: " + all;
  }

  std::string name_;
  argument_kind kind_;
  std::string description_;
  bool required_ = false;
  std::optional<double> least_;
  std::optional<double> most_;
  std::vector<std::string> choices_;
  std::optional<boost::json::value> default_;
};

/// Arguments that have been checked. A missing argument has its default, or is absent.
class checked_arguments {
 public:
  checked_arguments() = default;
  explicit checked_arguments(boost::json::object values) : values_(std::move(values)) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Returns an empty text if the argument is absent.
  std::string text(std::string_view name) const {
    const boost::json::value* const found = find(name);
    if (found == nullptr || !found->is_string()) return {};
    return {found->get_string().data(), found->get_string().size()};
  }
  /// Returns 0 if the argument is absent.
  std::int64_t integer(std::string_view name) const { return static_cast<std::int64_t>(std::llround(number(name))); }
  double number(std::string_view name) const {
    const boost::json::value* const found = find(name);
    return found != nullptr && found->is_number() ? found->to_number<double>() : 0;
  }
  /// Returns false if the argument is absent.
  bool boolean(std::string_view name) const {
    const boost::json::value* const found = find(name);
    return found != nullptr && found->is_bool() && found->get_bool();
  }
  std::vector<std::string> texts(std::string_view name) const {
    std::vector<std::string> all;
    const boost::json::value* const found = find(name);
    if (found != nullptr && found->is_array())
      for (const boost::json::value& each : found->get_array())
        all.emplace_back(each.get_string().data(), each.get_string().size());
    return all;
  }
  boost::json::object object(std::string_view name) const {
    const boost::json::value* const found = find(name);
    return found != nullptr && found->is_object() ? found->get_object() : boost::json::object();
  }

 private:
  const boost::json::value* find(std::string_view name) const {
    return values_.if_contains(boost::json::string_view(name.data(), name.size()));
  }

  boost::json::object values_;
};

/// The description of a tool's arguments, from which both the schema for the model and the check of the model's
/// arguments are made.
///
/// Flat, without unions: this subset is common to the schema dialects of all services. Other arguments than those
/// described are errors. Null is the same as a missing argument.
class argument_list {
 public:
  argument_list() = default;
  template <class... Arguments>
  explicit argument_list(argument first, Arguments... more) {
    list_.push_back(std::move(first));
    (list_.push_back(std::move(more)), ...);
  }

  /// Returns a JSON schema of type "object".
  boost::json::object schema() const {
    boost::json::object properties;
    boost::json::array required;
    for (const argument& each : list_) {
      properties[each.name()] = each.schema();
      if (each.is_required()) required.emplace_back(each.name());
    }
    boost::json::object made;
    made["type"] = "object";
    made["properties"] = std::move(properties);
    if (!required.empty()) made["required"] = std::move(required);
    made["additionalProperties"] = false;
    return made;
  }

  /// Checks the arguments from a model.
  /// \param checked  receives the arguments if they are valid.
  /// \return         an empty text if they are valid; otherwise one sentence for the model with all errors.
  std::string check(const boost::json::value& arguments, checked_arguments& checked) const {
    const boost::json::object* const object = arguments.if_object();
    if (object == nullptr) return "The arguments must be a JSON object" + names() + ".";
    std::string complaints;
    const auto complain = [&complaints](const std::string& one) {
      complaints += (complaints.empty() ? "" : "; ") + one;
    };
    boost::json::object values;
    for (const argument& each : list_) {
      const boost::json::value* const given = object->if_contains(each.name());
      if (given == nullptr || given->is_null()) {
        if (each.is_required()) complain("'" + each.name() + "' is missing");
        if (each.fallback()) values[each.name()] = *each.fallback();
        continue;
      }
      const std::string wrong = each.complaint(*given);
      if (!wrong.empty()) complain(wrong);
      values[each.name()] = *given;
    }
    std::size_t unknown = 0;
    for (const auto& member : *object)
      if (!is_known(member.key()) && ++unknown <= 5)
        complain("there is no argument '" + one_line(std::string_view(member.key().data(), member.key().size()), 60) +
                 "'");
    if (!complaints.empty()) return "Wrong arguments: " + complaints + ".";
    checked = checked_arguments(std::move(values));
    return {};
  }

 private:
  bool is_known(boost::json::string_view name) const {
    for (const argument& each : list_)
      if (name == each.name()) return true;
    return false;
  }
  std::string names() const {
    std::string all;
    for (const argument& each : list_) all += (all.empty() ? " with '" : ", '") + each.name() + "'";
    return all;
  }

  std::vector<argument> list_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
