// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/detail/argument_rules.hpp>
#include <cofferdam/tools/detail/value_type.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string_view.hpp>
#include <boost/json/value.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools {

/// The arguments of one call, after they were checked. If a call omits an argument, the argument has its default value,
/// or is absent if it has none.
class checked_arguments {
 public:
  checked_arguments() = default;
  /// Holds arguments that have been checked against a schema.
  explicit checked_arguments(boost::json::object values) : values_(std::move(values)) {}

  /// Returns true if the call has the argument, or if the argument has a default value.
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Returns the argument as a text; an empty text if it is absent.
  std::string text(std::string_view name) const {
    const boost::json::value* const found = find(name);
    if (found == nullptr || !found->is_string()) return {};
    return {found->get_string().data(), found->get_string().size()};
  }
  /// Returns the argument as an integer; 0 if it is absent.
  std::int64_t integer(std::string_view name) const {
    const boost::json::value* const found = find(name);
    if (found != nullptr && !found->is_double() && found->is_number()) return found->to_number<std::int64_t>();
    return static_cast<std::int64_t>(std::llround(number(name)));
  }
  /// Returns the argument as a number; 0 if it is absent.
  double number(std::string_view name) const {
    const boost::json::value* const found = find(name);
    return found != nullptr && found->is_number() ? found->to_number<double>() : 0;
  }
  /// Returns the argument as a truth value; false if it is absent.
  bool boolean(std::string_view name) const {
    const boost::json::value* const found = find(name);
    return found != nullptr && found->is_bool() && found->get_bool();
  }
  /// Returns the texts of a list; an empty vector if the argument is absent.
  std::vector<std::string> texts(std::string_view name) const {
    std::vector<std::string> result;
    const boost::json::value* const found = find(name);
    if (found != nullptr && found->is_array())
      for (const boost::json::value& each : found->get_array())
        if (each.is_string()) result.emplace_back(each.get_string().data(), each.get_string().size());
    return result;
  }
  /// Returns the decoded bytes of a base64 argument; an empty vector if it is absent.
  bytes binary(std::string_view name) const {
    const boost::json::value* const found = find(name);
    if (found == nullptr || !found->is_string()) return {};
    return cofferdam::detail::base64_decode({found->get_string().data(), found->get_string().size()}).value_or(bytes());
  }
  /// Returns the argument as a JSON object; an empty object if it is absent.
  boost::json::object object(std::string_view name) const {
    const boost::json::value* const found = find(name);
    return found != nullptr && found->is_object() ? found->get_object() : boost::json::object();
  }
  /// Returns the argument as a JSON value; null if it is absent.
  boost::json::value value(std::string_view name) const {
    const boost::json::value* const found = find(name);
    return found != nullptr ? *found : boost::json::value();
  }
  /// Returns all arguments that are not absent.
  const boost::json::object& values() const& noexcept { return values_; }
  boost::json::object values() && { return std::move(values_); }

 private:
  const boost::json::value* find(std::string_view name) const {
    return values_.if_contains(boost::json::string_view(name.data(), name.size()));
  }

  boost::json::object values_;
};

/// The list of the arguments that a function takes. Both the JSON schema for the model and the check of a model's
/// arguments are made from this list.
///
/// The schema is flat and has no unions, because all services understand this subset of JSON Schema. An argument that
/// is not in the list is an error.
class argument_list {
 public:
  argument_list() = default;
  /// \throws error{exec_errc::invalid_argument} if two arguments have the same name, or if a default value violates the
  ///     type or the other rules of its argument.
  template <argument_type... Types>
  explicit argument_list(argument<Types>... described) {
    (add(described.rules()), ...);
  }

  /// For the library: returns the arguments in order.
  const std::vector<detail::argument_rules>& rules() const noexcept { return list_; }
  explicit argument_list(std::vector<detail::argument_rules> described) {
    for (detail::argument_rules& each : described) add(std::move(each));
  }

  /// Returns the JSON schema of the arguments, of type "object".
  boost::json::object schema() const {
    boost::json::object properties;
    boost::json::array required;
    for (const detail::argument_rules& each : list_) {
      properties[each.name] = each.schema();
      if (each.required) required.emplace_back(each.name);
    }
    boost::json::object result;
    result["type"] = "object";
    result["properties"] = std::move(properties);
    if (!required.empty()) result["required"] = std::move(required);
    result["additionalProperties"] = false;
    return result;
  }

  /// Checks the arguments from a model.
  /// \param arguments  the JSON that the model has sent.
  /// \param checked  receives the arguments if they are valid.
  /// \return         an empty text if the arguments are valid; otherwise one sentence for the model that lists all
  ///                 errors.
  std::string check(const boost::json::value& arguments, checked_arguments& checked) const {
    return check(arguments, checked, detail::number_range::finite);
  }
  /// For the library: checks arguments that come from code, where `range` may allow infinite numbers and nan.
  std::string check(const boost::json::value& arguments, checked_arguments& checked, detail::number_range range) const {
    const boost::json::object* const object = arguments.if_object();
    if (object == nullptr)
      return "The arguments must be a JSON object" + names() + ", not " + detail::shown_value(arguments) + ".";
    std::string complaints;
    const auto complain = [&complaints](const std::string& text) {
      complaints += (complaints.empty() ? "" : "; ") + text;
    };
    boost::json::object values;
    for (const detail::argument_rules& each : list_) {
      const boost::json::value* const given = object->if_contains(each.name);
      const bool is_any = each.type.kind() == detail::value_kind::any;
      if (given == nullptr || (given->is_null() && !is_any)) {
        if (each.required) complain(each.missing());
        if (each.fallback) values[each.name] = *each.fallback;
        continue;
      }
      const std::string wrong = each.complaint(*given, range);
      if (!wrong.empty()) complain(wrong);
      values[each.name] = *given;
    }
    std::size_t unknown = 0;
    for (const auto& member : *object)
      if (!is_known(member.key()) && ++unknown <= 5)
        complain("unknown argument '" + one_line(std::string_view(member.key().data(), member.key().size()), 60) + "'");
    if (!complaints.empty()) return "Wrong arguments: " + complaints + ".";
    checked = checked_arguments(std::move(values));
    return {};
  }

 private:
  void add(detail::argument_rules added) {
    if (is_known(added.name))
      throw error(exec_errc::invalid_argument, "tools: two arguments have the name '" + added.name + "'; rename one");
    const std::string wrong =
        added.fallback ? added.complaint(*added.fallback, detail::number_range::all) : std::string();
    if (!wrong.empty())
      throw error(exec_errc::invalid_argument, "tools: the default of an argument does not fit: " + wrong);
    list_.push_back(std::move(added));
  }
  bool is_known(boost::json::string_view name) const {
    for (const detail::argument_rules& each : list_)
      if (name == each.name) return true;
    return false;
  }
  std::string names() const {
    std::string text;
    for (const detail::argument_rules& each : list_) text += (text.empty() ? " with '" : ", '") + each.name + "'";
    return text;
  }

  std::vector<detail::argument_rules> list_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
