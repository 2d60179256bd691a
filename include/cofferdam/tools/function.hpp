// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/code/host_function.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/definition.hpp>
#include <cofferdam/tools/detail/argument_rules.hpp>
#include <cofferdam/tools/detail/function_calls.hpp>
#include <cofferdam/tools/detail/typed_handler.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools {

/// A function of your program that models, and code written by models, can call. You describe it once:
///
///     tools::function tide("tide", "Returns the height of the tide at a place, in metres.",
///                          tools::argument("place", tools::text, "Name of a harbour."), height_at);
///
///     agent helper(model, tide);  // a tool of an agent
///     server.add(tide);           // a tool of an mcp::server
///     request.function(tide);     // a Python function: tide("Brest"), tide(place="Brest")
///
/// The JSON schema and the Python signature are made from the arguments. The handler is a coroutine with one parameter
/// for each argument, in order, such as `awaitable<double> height_at(std::string place)`. The compiler checks that the
/// type of each parameter fits the type of its argument (see the types in `tools/argument.hpp`). A parameter of the
/// type `boost::json::value` accepts any argument. An argument without a type, `argument("place")`, takes the type of
/// its parameter. A `std::optional` parameter makes its argument optional. Alternatively, the handler may take all
/// arguments in one `checked_arguments`.
///
/// The handler returns an `awaitable` of nothing, of a type that Boost.JSON can convert (numbers, texts, `bool`,
/// vectors, maps, `boost::json::value`), of a `tool_result`, a `tool_image` or a `tool_media`. A model gets the value
/// as a text, and an object also as data. Python code gets the value itself. Tagged objects in it become Python values
/// (see `tagged_value.hpp`), so pass JSON from elsewhere through `python_json`. From a `tool_result`, Python code gets
/// the data, if there are any. Otherwise it gets the text. If there are images, audio or video, it gets a dict of
/// "text", "images" and, for audio and video, "media".
///
/// **The arguments are untrusted**: a model or its code has chosen them. Only the rules in the description are checked.
/// If arguments are wrong, a model gets an answer that names each of them, and Python code gets a TypeError. If the
/// handler throws, a model gets an answer with the error, and Python code gets a `HostFunctionError`. That class
/// derives from RuntimeError. It is a global variable of every run with functions, unless the code or the request
/// defines that name. **Both show `what()`** of the exception, so it must not contain secrets.
///
/// In Python, a call waits until the handler ends. Its time counts against the time limit of the run. If the run ends
/// first, the handler is cancelled (terminal) and awaited. Calls of one run are served one after another; calls of
/// different runs are served concurrently. A handler may run code itself, even with the runner that called the handler.
/// If such a run needs the context that waits for the handler (directly or through other handlers), neither could
/// continue. `run_code` then throws error{exec_errc::deadlock} at once. It detects this only in coroutines that the
/// handler awaits, or spawns on the handler's own executor.
///
/// Copies share one handler. Several models and runs may call it at the same time.
/// \par Lifetime      a call keeps the handler alive, but not the objects that the handler refers to.
/// \par Cancellation  terminal, as far as the handler honours it.
/// \par Threads       the handler runs on the executor of the agent, of the server, or of the coroutine that called
///                    `run_code`. If the latter is not a strand, the handler runs on a strand over it.
/// \par Example       examples/10_python.cpp, examples/12_mcp_server.cpp
class function : public detail::basic_definition<function> {
 public:
  /// \param name         matches `[A-Za-z0-9_.-]{1,128}`, the rule of MCP. An agent accepts only `[A-Za-z0-9_-]{1,64}`.
  ///                     Python accepts only an identifier of 1 to 100 characters that is no keyword.
  /// \param description  for the model, and for `help()` in Python.
  /// \param parts        the arguments (`argument`), and the handler as the last one. With g++ before 13, a lambda that
  ///                     captures by value must be a named object: that compiler would destroy the captures of a
  ///                     temporary twice, so a temporary does not compile.
  /// \throws error{exec_errc::invalid_argument} for a wrong name, two arguments of the same name, a default value that
  ///     violates the rules of its argument, an `optional` argument whose parameter is neither a `std::optional` nor a
  ///     `boost::json::value`, or an empty handler.
  template <class... Parts>
    requires(sizeof...(Parts) >= 1)
  function(std::string name, std::string description, Parts&&... parts)
      : basic_definition(std::move(name), std::move(description)) {
    std::tuple<Parts&&...> part_tuple(std::forward<Parts>(parts)...);
    build<std::tuple<Parts...>>(part_tuple, std::make_index_sequence<sizeof...(Parts) - 1>());
  }

  /// Returns the arguments.
  const argument_list& arguments() const noexcept { return *arguments_; }
  /// Returns the JSON schema of the arguments, of type "object".
  boost::json::object parameters() const { return arguments_->schema(); }

  /// Calls the function for a model, and returns the answer.
  /// \throws error{exec_errc::provider_lost}, error{exec_errc::environment_closed} or error{exec_errc::cancelled} if
  ///     the handler throws it; never because of wrong arguments or another exception of the handler.
  /// \par Cancellation  terminal: throws the exception with which the handler ends.
  awaitable<tool_result> call(boost::json::value arguments) const {
    return detail::answer_call(arguments_, call_, std::move(arguments));
  }

  /// Converts the function to the parameter of `code_request::function`, so that Python code can call it.
  /// \throws error{exec_errc::invalid_argument} if the name of the function or of an argument is not valid in Python.
  operator cofferdam::detail::host_function() const {
    return detail::python_function(name(), description(), arguments_, call_);
  }

 private:
  template <class Parts, class All, std::size_t... At>
  void build(All& part_tuple, std::index_sequence<At...>) {
    using given = std::tuple_element_t<sizeof...(At), Parts>;
    using handler = std::decay_t<given>;
    constexpr bool are_arguments =
        (detail::is_argument<std::remove_cvref_t<std::tuple_element_t<At, Parts>>>::value && ... && true);
    static_assert(are_arguments && !detail::is_argument<handler>::value,
                  "cofferdam: tools::function takes a name, a description, arguments, and last a handler");
    if constexpr (are_arguments && !detail::is_argument<handler>::value) {
      static_assert(detail::has_signature<handler>,
                    "cofferdam: the handler of a tools::function must be a function, or a lambda without auto "
                    "parameters");
      if constexpr (detail::has_signature<handler>) {
        cofferdam::detail::require_safe_callable<given>();
        if constexpr (is_right<handler>())
          set<handler>(
              std::get<sizeof...(At)>(std::move(part_tuple)),
              detail::type_list<
                  typename detail::is_argument<std::remove_cvref_t<std::tuple_element_t<At, Parts>>>::type...>(),
              std::vector<detail::argument_rules>{std::get<At>(part_tuple).rules()...}, std::index_sequence<At...>());
      }
    }
  }

  template <class Handler>
  static constexpr bool is_right() {
    using result = detail::awaited_by<typename detail::signature_of<Handler>::result>;
    constexpr bool is_result_right = result::is_awaitable && detail::answer_value<typename result::type>;
    static_assert(
        is_result_right,
        "cofferdam: the handler of a tools::function must return an awaitable of void, a type that Boost.JSON "
        "can convert, tools::tool_result, tools::tool_image or tools::tool_media");
    constexpr bool is_const = detail::signature_of<Handler>::is_const;
    static_assert(
        is_const,
        "cofferdam: the handler of a tools::function must not be mutable, because all copies of the tool share it");
    return is_result_right && is_const;
  }

  template <class Handler, class Given, class... Types, std::size_t... At>
  void set(Given&& given, detail::type_list<Types...>, std::vector<detail::argument_rules> rules,
           std::index_sequence<At...>) {
    if constexpr (detail::takes_all<Handler>()) {
      static_assert((argument_type<Types> && ... && true),
                    "cofferdam: an argument of a tools::function needs a type if the handler takes checked_arguments");
      keep<Handler>(std::forward<Given>(given), std::move(rules), [](auto handler, auto, checked_arguments arguments) {
        return detail::call_with_all<Handler>(std::move(handler), std::move(arguments));
      });
    } else {
      constexpr bool is_count_right = detail::parameter_count<Handler> == sizeof...(Types);
      static_assert(is_count_right,
                    "cofferdam: the handler of a tools::function must have one parameter for each argument, in order, "
                    "or one checked_arguments");
      if constexpr (is_count_right) {
        constexpr bool do_fit = (detail::argument_fits<Types, detail::parameter_of<Handler, At>> && ... && true);
        static_assert(do_fit,
                      "cofferdam: a parameter of the handler of a tools::function does not fit its argument: text is "
                      "std::string, integer std::int64_t or another integer, number double, boolean bool, binary "
                      "cofferdam::bytes, object boost::json::object, list_of a std::vector, any boost::json::value, "
                      "which takes all others too; std::optional of these for an optional argument");
        if constexpr (do_fit) {
          (detail::fit_rules<Types, detail::parameter_of<Handler, At>>(name(), rules[At]), ...);
          keep<Handler>(std::forward<Given>(given), std::move(rules),
                        [](auto handler, auto names, checked_arguments arguments) {
                          return detail::call_typed<Handler>(std::move(handler), std::move(names), std::move(arguments),
                                                             std::index_sequence<At...>());
                        });
        }
      }
    }
  }

  template <class Handler, class Given, class Call>
  void keep(Given&& given, std::vector<detail::argument_rules> rules, Call call) {
    auto names = std::make_shared<std::vector<std::string>>();
    for (const detail::argument_rules& each : rules) names->push_back(each.name);
    std::shared_ptr<const Handler> handler = std::make_shared<const Handler>(std::forward<Given>(given));
    if constexpr (detail::can_be_empty<Handler>::value) {
      if (!*handler) throw error(exec_errc::invalid_argument, "tools: the function '" + name() + "' has no handler");
    }
    arguments_ = std::make_shared<const argument_list>(std::move(rules));
    call_ = [call, handler = std::move(handler),
             names = std::shared_ptr<const std::vector<std::string>>(std::move(names))](checked_arguments arguments) {
      return call(handler, names, std::move(arguments));
    };
  }

  std::shared_ptr<const argument_list> arguments_;
  std::function<awaitable<detail::handler_value>(checked_arguments arguments)> call_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/tools/impl/function.ipp>
#endif
