// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/code/host_function.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/detail/argument_rules.hpp>
#include <cofferdam/tools/detail/typed_handler.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/value.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

// Calls a `tools::function` for the two kinds of callers: a model, which passes JSON, and code, which passes Python
// values. The bodies are in impl/function.ipp.

namespace cofferdam::inline COFFERDAM_ABI::tools::detail {

template <class... Types>
class type_list {};

template <class T>
class is_argument {
 public:
  static constexpr bool value = false;
};
template <class Type>
class is_argument<argument<Type>> {
 public:
  static constexpr bool value = true;
  using type = Type;
};

using function_handler = std::function<awaitable<handler_value>(checked_arguments arguments)>;
using shared_arguments = std::shared_ptr<const argument_list>;

/// Completes the rules of an argument from the type of the handler's parameter (the handler is the C++ callable behind
/// the function).
/// \throws error{exec_errc::invalid_argument} if the argument is optional and has no default value, but the parameter
///     has no value for a missing argument: it is neither a `std::optional` nor a `boost::json::value`.
template <class Type, class Parameter>
void fit_rules(const std::string& function, argument_rules& rules) {
  using plain = std::remove_cvref_t<Parameter>;
  using without = without_optional<plain>;
  if constexpr (std::same_as<Type, deduced_type>)
    rules.type = argument_type_name<typename type_for<typename without::type>::type>::value();
  if constexpr (without::value) {
    rules.required = false;
  } else if constexpr (!std::same_as<plain, boost::json::value>) {
    if (!rules.required && !rules.fallback)
      throw error(
          exec_errc::invalid_argument,
          "tools: the argument '" + rules.name + "' of the function '" + function +
              "' is optional: make the handler's parameter a std::optional, or give the argument otherwise(value)");
  }
}

/// Calls a function for a model. See `function::call`.
awaitable<tool_result> answer_call(shared_arguments list, function_handler handler, boost::json::value arguments);

/// Makes the function that a runner offers to Python code.
cofferdam::detail::host_function python_function(std::string name, std::string description, shared_arguments list,
                                                 function_handler handler);

}  // namespace cofferdam::inline COFFERDAM_ABI::tools::detail
