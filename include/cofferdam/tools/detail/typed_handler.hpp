// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/code/host_function.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/detail/value_type.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_from.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// Compares the signature of a handler (the C++ callable behind a `tools::function`) with its arguments at compile time,
// and converts values between JSON and C++ types.

namespace cofferdam::inline COFFERDAM_ABI::tools::detail {

// ---- the signature of a handler -------------------------------------------------------------------------------------

/// The result and the parameters of a callable. Has no members if the callable is overloaded, or is not callable.
template <class Callable>
class signature_of {};
template <bool IsConst, class Result, class... Parameters>
class known_signature {
 public:
  static constexpr bool is_const = IsConst;
  using result = Result;
  using parameters = std::tuple<std::type_identity<Parameters>...>;
};
template <class R, class... P>
class signature_of<R (*)(P...)> : public known_signature<true, R, P...> {};
template <class R, class... P>
class signature_of<R (*)(P...) noexcept> : public known_signature<true, R, P...> {};
template <class R, class C, class... P>
class signature_of<R (C::*)(P...)> : public known_signature<false, R, P...> {};
template <class R, class C, class... P>
class signature_of<R (C::*)(P...) noexcept> : public known_signature<false, R, P...> {};
template <class R, class C, class... P>
class signature_of<R (C::*)(P...) const> : public known_signature<true, R, P...> {};
template <class R, class C, class... P>
class signature_of<R (C::*)(P...) const noexcept> : public known_signature<true, R, P...> {};
template <class Callable>
  requires requires { &Callable::operator(); }
class signature_of<Callable> : public signature_of<decltype(&Callable::operator())> {};

template <class Handler>
concept has_signature = requires { typename signature_of<Handler>::parameters; };

template <class Handler>
inline constexpr std::size_t parameter_count = std::tuple_size_v<typename signature_of<Handler>::parameters>;
/// The type of the handler's parameter with this index, including `const` and `&`.
template <class Handler, std::size_t At>
using parameter_of = typename std::tuple_element_t<At, typename signature_of<Handler>::parameters>::type;

/// True for a callable that can be empty or null, such as a `std::function`.
template <class Handler>
class can_be_empty : public std::is_pointer<Handler> {};
template <class Signature>
class can_be_empty<std::function<Signature>> : public std::true_type {};

/// Returns true if the handler takes all arguments in one `checked_arguments`.
template <class Handler>
constexpr bool takes_all() {
  if constexpr (parameter_count<Handler> == 1) {
    return std::same_as<std::remove_cvref_t<parameter_of<Handler, 0>>, checked_arguments>;
  } else {
    return false;
  }
}

// ---- the argument types for C++ types -------------------------------------------------------------------------------

template <class T>
concept json_integer =
    std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
    !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

/// The argument type for a C++ type; `void` if there is no such argument type.
template <class T>
class type_for {
 public:
  using type = void;
};
template <class Type>
class type_is {
 public:
  using type = Type;
};
template <>
class type_for<std::string> : public type_is<text_type> {};
template <>
class type_for<bool> : public type_is<boolean_type> {};
template <json_integer T>
class type_for<T> : public type_is<integer_type> {};
template <std::floating_point T>
class type_for<T> : public type_is<number_type> {};
template <>
class type_for<bytes> : public type_is<binary_type> {};
template <>
class type_for<boost::json::object> : public type_is<object_type> {};
template <>
class type_for<boost::json::value> : public type_is<any_type> {};
template <class T>
  requires(!std::same_as<typename type_for<T>::type, void>)
class type_for<std::vector<T>> : public type_is<list_type<typename type_for<T>::type>> {};

/// True if a value of an argument's type can be converted to a T.
template <class Type, class T>
class value_fits
    : public std::bool_constant<std::same_as<T, boost::json::value> || std::same_as<typename type_for<T>::type, Type>> {
};
template <class T>
class value_fits<deduced_type, T> : public std::bool_constant<!std::same_as<typename type_for<T>::type, void>> {};
template <class Item, class T>
class value_fits<list_type<Item>, std::vector<T>> : public value_fits<Item, T> {};

template <class T>
class without_optional {
 public:
  using type = T;
  static constexpr bool value = false;
};
template <class T>
class without_optional<std::optional<T>> {
 public:
  using type = T;
  static constexpr bool value = true;
};

/// True if an argument of the type `Type` can be passed to a parameter of the type `Parameter`.
template <class Type, class Parameter>
inline constexpr bool argument_fits =
    (!std::is_lvalue_reference_v<Parameter> || std::is_const_v<std::remove_reference_t<Parameter>>)&&value_fits<
        Type, typename without_optional<std::remove_cvref_t<Parameter>>::type>::value;

/// Converts a checked value of an argument to a C++ type.
/// \throws wrong_arguments for an integer that is outside of the range of T.
template <class T>
T converted(boost::json::value value, const std::string& name) {
  if constexpr (std::same_as<T, boost::json::value>) {
    return value;
  } else if constexpr (std::same_as<T, boost::json::object>) {
    return std::move(value.as_object());
  } else if constexpr (std::same_as<T, std::string>) {
    return std::string(cofferdam::detail::view_of(value.as_string()));
  } else if constexpr (std::same_as<T, bool>) {
    return value.as_bool();
  } else if constexpr (std::same_as<T, bytes>) {
    return cofferdam::detail::base64_decode(cofferdam::detail::view_of(value.as_string())).value_or(bytes());
  } else if constexpr (json_integer<T>) {
    const auto number = value.to_number<std::int64_t>();
    if (!std::in_range<T>(number))
      throw cofferdam::detail::wrong_arguments(
          "Wrong arguments: '" + name + "' must be an integer from " + std::to_string(std::numeric_limits<T>::min()) +
          " to " + std::to_string(std::numeric_limits<T>::max()) + ", not " + shown_value(value) + ".");
    return static_cast<T>(number);
  } else if constexpr (std::floating_point<T>) {
    return static_cast<T>(value.to_number<double>());
  } else {
    T items;
    for (boost::json::value& each : value.as_array())
      items.push_back(converted<typename T::value_type>(std::move(each), name));
    return items;
  }
}

/// Converts an argument to the type of a parameter. An absent argument becomes an empty optional or a null value.
template <class T>
T argument_for(const checked_arguments& arguments, const std::string& name) {
  using without = without_optional<T>;
  if constexpr (without::value) {
    if (!arguments.has(name)) return std::nullopt;
    return converted<typename without::type>(arguments.value(name), name);
  } else {
    return converted<T>(arguments.value(name), name);
  }
}

// ---- the result of a handler ----------------------------------------------------------------------------------------

template <class T>
class awaited_by {
 public:
  static constexpr bool is_awaitable = false;
  using type = void;
};
template <class T>
class awaited_by<awaitable<T>> {
 public:
  static constexpr bool is_awaitable = true;
  using type = T;
};

template <class T>
concept answer_value = std::same_as<T, void> || std::same_as<T, tool_result> || std::same_as<T, tool_image> ||
                       std::same_as<T, tool_media> || boost::json::has_value_from<T>::value;

/// The value that a handler returned: null if it returned nothing, a JSON value, or a whole `tool_result`.
class handler_value {
 public:
  handler_value() = default;
  explicit handler_value(boost::json::value value) : value_(std::move(value)) {}
  explicit handler_value(tool_result answer) : answer_(std::move(answer)) {}

  const boost::json::value& value() const noexcept { return value_; }
  const std::optional<tool_result>& answer() const noexcept { return answer_; }

 private:
  boost::json::value value_;
  std::optional<tool_result> answer_;
};

inline handler_value as_handler_value(tool_result answer) { return handler_value(std::move(answer)); }
inline handler_value as_handler_value(tool_image image) {
  tool_result answer(std::string(), true);
  answer.image(std::move(image));
  return handler_value(std::move(answer));
}
inline handler_value as_handler_value(tool_media media) {
  tool_result answer(std::string(), true);
  answer.media(std::move(media));
  return handler_value(std::move(answer));
}
template <class T>
handler_value as_handler_value(T value) {
  return handler_value(boost::json::value_from(std::move(value)));
}

/// Awaits a handler and converts its result.
template <class Result>
awaitable<handler_value> value_of(awaitable<Result> work) {
  if constexpr (std::same_as<Result, void>) {
    co_await std::move(work);
    co_return handler_value();
  } else {
    Result result = co_await std::move(work);
    co_return as_handler_value(std::move(result));
  }
}

/// Converts the arguments to the parameters of a handler and calls it. The coroutine frame keeps the parameters until
/// the handler has ended.
/// \param handler  kept alive by this frame, because it may be a lambda with captures.
template <class Handler, std::size_t... At>
awaitable<handler_value> call_typed(std::shared_ptr<const Handler> handler,
                                    std::shared_ptr<const std::vector<std::string>> names, checked_arguments arguments,
                                    std::index_sequence<At...>) {
  static_cast<void>(names);
  static_cast<void>(arguments);
  std::tuple<std::remove_cvref_t<parameter_of<Handler, At>>...> values(
      argument_for<std::remove_cvref_t<parameter_of<Handler, At>>>(arguments, (*names)[At])...);
  static_cast<void>(values);
  handler_value value = co_await value_of((*handler)(std::move(std::get<At>(values))...));
  co_return value;
}

/// Calls a handler that takes all arguments in one `checked_arguments`.
template <class Handler>
awaitable<handler_value> call_with_all(std::shared_ptr<const Handler> handler, checked_arguments arguments) {
  handler_value value = co_await value_of((*handler)(std::move(arguments)));
  co_return value;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::tools::detail
