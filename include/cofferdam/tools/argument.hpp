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

// The types of arguments. Each type has one constant, which stands for the type in `argument("place", text)`. Each
// constant has its own C++ type, so that the compiler can compare the arguments of a function with the parameters of
// its handler (the C++ callable that a call executes).

/// The type of a UTF-8 text: `std::string` in C++, `str` in Python.
enum class text_type : unsigned char { text };
/// The type of an integer from -2^63 to 2^63 - 1: any integer type in C++, `int` in Python. A model may write 2.0 for
/// 2.
enum class integer_type : unsigned char { integer };
/// The type of a number: `double` in C++, `float` in Python. From Python it may be nan or infinite.
enum class number_type : unsigned char { number };
/// The type of a truth value: `bool` in C++ and in Python.
enum class boolean_type : unsigned char { boolean };
/// The type of binary data: `cofferdam::bytes` in C++, `bytes` in Python. A model writes it as base64.
enum class binary_type : unsigned char { binary };
/// The type of a JSON object: `boost::json::object` in C++, `dict` in Python.
enum class object_type : unsigned char { object };
/// The type of any JSON value, including null: `boost::json::value` in C++. A Python value that JSON cannot represent
/// becomes a tagged object (see `tagged_value.hpp`).
enum class any_type : unsigned char { any };

using enum text_type;
using enum integer_type;
using enum number_type;
using enum boolean_type;
using enum binary_type;
using enum object_type;
using enum any_type;

/// The type of a list, such as `list_of(text)`: `std::vector` of the item's type in C++, `list` in Python.
template <class Item>
class list_type {};

/// The type of an argument without an explicit type, as in `argument("place")`. The type then follows from the
/// handler's parameter.
class deduced_type {};

namespace detail {

/// The conversion of an argument type to its `value_type`, which describes it at run time. Specialised for the types
/// above.
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

/// One of the argument types above, or a `list_type`.
template <class Type>
concept argument_type = requires { detail::argument_type_name<Type>::value(); };

/// Makes the type of a list from the type of its items.
template <argument_type Item>
constexpr list_type<Item> list_of(Item) noexcept {
  return {};
}

/// One argument of a function: `argument("limit", integer, "Most lines.").between(1, 10'000).otherwise(2000)`.
///
/// An argument is required, unless `optional` or `otherwise` was called. The JSON value null counts as a missing
/// argument, except for an argument of the type `any`.
template <class Type = deduced_type>
class argument {
 public:
  /// Describes an argument that takes the type of the handler's parameter. If the parameter is a `std::optional`, the
  /// argument is optional.
  /// \param name         UTF-8; for Python functions it must be an identifier.
  /// \param description  for the model.
  explicit argument(std::string name, std::string description = {})
    requires std::same_as<Type, deduced_type>
  {
    rules_.name = std::move(name);
    rules_.description = std::move(description);
  }
  /// Describes an argument with a type.
  /// \param name         UTF-8; for Python functions it must be an identifier.
  /// \param type         `text`, `integer`, `number`, `boolean`, `binary`, `object`, `any`, or `list_of` one of them.
  /// \param description  for the model.
  argument(std::string name, Type type, std::string description = {})
    requires argument_type<Type>
  {
    static_cast<void>(type);
    rules_.name = std::move(name);
    rules_.description = std::move(description);
    rules_.type = detail::argument_type_name<Type>::value();
  }

  /// Makes the argument optional.
  argument& optional() {
    rules_.required = false;
    return *this;
  }
  /// Sets the default value, and makes the argument optional.
  argument& otherwise(boost::json::value value) {
    rules_.required = false;
    rules_.fallback = std::move(value);
    return *this;
  }
  /// Sets the range of an integer or a number, or the range of a text's length in bytes. Both bounds are allowed
  /// values.
  argument& between(double minimum, double maximum) {
    rules_.minimum = minimum;
    rules_.maximum = maximum;
    return *this;
  }
  /// Sets the allowed values of a text.
  argument& one_of(std::vector<std::string> choices) {
    rules_.choices = std::move(choices);
    return *this;
  }

  /// Returns the name of the argument.
  const std::string& name() const noexcept { return rules_.name; }
  /// Returns the description, which the model reads.
  const std::string& description() const noexcept { return rules_.description; }
  /// Returns true if a call must have this argument.
  bool is_required() const noexcept { return rules_.required; }

  /// For the library: returns the rules of the argument (name, description, type, range, choices, default), which have
  /// no C++ type.
  const detail::argument_rules& rules() const noexcept { return rules_; }

 private:
  detail::argument_rules rules_;
};

argument(std::string) -> argument<deduced_type>;
argument(std::string, std::string) -> argument<deduced_type>;
argument(std::string, const char*) -> argument<deduced_type>;

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
