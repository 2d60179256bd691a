// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/tools/detail/argument_rules.hpp>
#include <cofferdam/tools/detail/value_type.hpp>

#include <boost/json/value.hpp>

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools {

// The types of arguments, as words: `argument("place", text)`. Each word is of a type of its own, so that a compiler
// can compare the arguments of a function with the parameters of its handler.

/// UTF-8; `std::string` in C++, `str` in Python.
enum class text_type : unsigned char { text };
/// From -2^63 to 2^63 - 1; any integer type in C++, `int` in Python. A model may write 2.0 for 2.
enum class integer_type : unsigned char { integer };
/// `double` in C++, `float` in Python, where it may be nan or infinite.
enum class number_type : unsigned char { number };
/// `bool` in C++ and in Python.
enum class boolean_type : unsigned char { boolean };
/// Base64 from a model; `bytes` in C++ and in Python.
enum class binary_type : unsigned char { binary };
/// `boost::json::object` in C++, `dict` in Python.
enum class object_type : unsigned char { object };
/// Any JSON value, also null; `boost::json::value` in C++. Python values that JSON cannot represent are tagged (see
/// `tagged_value.hpp`).
enum class any_type : unsigned char { any };

using enum text_type;
using enum integer_type;
using enum number_type;
using enum boolean_type;
using enum binary_type;
using enum object_type;
using enum any_type;

/// `std::vector` of the item's type in C++, `list` in Python: `argument("places", list_of(text))`.
template <class Item>
class list_type {};

/// The type of an argument that is the type of the handler's parameter: `argument("place")`.
class deduced_type {};

namespace detail {

/// Names the type at run time. Defined for the types above.
template <class Type>
class argument_type_name;
template <value_kind Kind>
class plain_type_name {
 public:
  static value_type value() { return value_type(Kind); }
};
template <>
class argument_type_name<text_type> : public plain_type_name<value_kind::text> {};
template <>
class argument_type_name<integer_type> : public plain_type_name<value_kind::integer> {};
template <>
class argument_type_name<number_type> : public plain_type_name<value_kind::number> {};
template <>
class argument_type_name<boolean_type> : public plain_type_name<value_kind::boolean> {};
template <>
class argument_type_name<binary_type> : public plain_type_name<value_kind::binary> {};
template <>
class argument_type_name<object_type> : public plain_type_name<value_kind::object> {};
template <>
class argument_type_name<any_type> : public plain_type_name<value_kind::any> {};
template <class Item>
class argument_type_name<list_type<Item>> {
 public:
  static value_type value() { return value_type::list_of(argument_type_name<Item>::value()); }
};

}  // namespace detail

/// One of the words above, or a `list_type`.
template <class Type>
concept argument_type = requires { detail::argument_type_name<Type>::value(); };

/// Makes the type of a list.
template <argument_type Item>
constexpr list_type<Item> list_of(Item) noexcept {
  return {};
}

/// One argument of a function: `argument("limit", integer, "Most lines.").between(1, 10'000).otherwise(2000)`.
///
/// An argument must be given, unless `optional` or `otherwise` was called. Null is the same as a missing argument, but
/// for an argument of the type `any`.
template <class Type = deduced_type>
class argument {
 public:
  /// Describes an argument with the type of the handler's parameter; an argument for a `std::optional` is optional.
  /// \param name         UTF-8, for Python an identifier.
  /// \param description  for the model.
  explicit argument(std::string name, std::string description = {})
    requires std::same_as<Type, deduced_type>
  {
    rules_.name = std::move(name);
    rules_.description = std::move(description);
  }
  /// \param type  `text`, `integer`, `number`, `boolean`, `binary`, `object`, `any`, or `list_of` one of them.
  argument(std::string name, Type type, std::string description = {})
    requires argument_type<Type>
  {
    static_cast<void>(type);
    rules_.name = std::move(name);
    rules_.description = std::move(description);
    rules_.type = detail::argument_type_name<Type>::value();
  }

  /// Permits calls without the argument.
  argument& optional() {
    rules_.required = false;
    return *this;
  }
  /// Sets the default value.
  argument& otherwise(boost::json::value value) {
    rules_.required = false;
    rules_.fallback = std::move(value);
    return *this;
  }
  /// Sets the range of an integer or a number, or the length range of a text in bytes.
  argument& between(double minimum, double maximum) {
    rules_.least = minimum;
    rules_.most = maximum;
    return *this;
  }
  /// Sets the allowed values of a text.
  argument& one_of(std::vector<std::string> choices) {
    rules_.choices = std::move(choices);
    return *this;
  }

  const std::string& name() const noexcept { return rules_.name; }
  const std::string& description() const noexcept { return rules_.description; }
  bool is_required() const noexcept { return rules_.required; }

  /// For the library: the same, without the type in C++.
  const detail::argument_rules& rules() const noexcept { return rules_; }

 private:
  detail::argument_rules rules_;
};

argument(std::string) -> argument<deduced_type>;
argument(std::string, std::string) -> argument<deduced_type>;
argument(std::string, const char*) -> argument<deduced_type>;

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
