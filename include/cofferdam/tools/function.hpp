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

/// A function of your program that models and their code can call, described once:
///
///     tools::function tide("tide", "Returns the height of the tide at a place, in metres.",
///                          tools::argument("place", tools::text, "Name of a harbour."), height_at);
///
///     agent helper(model, tide);  // a tool of an agent
///     server.add(tide);           // a tool of an mcp::server
///     request.function(tide);     // a Python function: tide("Brest"), tide(place="Brest")
///
/// The JSON schema and the Python signature are made from the arguments. The handler is a coroutine with one parameter
/// for each argument, in order, such as `awaitable<double> height_at(std::string place)`; the compiler compares their
/// types (see `text_type` and its like). A parameter of the type `boost::json::value` takes any argument. An argument
/// without a type, `argument("place")`, has that of its parameter. A `std::optional` parameter makes its argument
/// optional. Instead, the handler may take all arguments in one `checked_arguments`.
///
/// The handler returns an `awaitable` of nothing, of what Boost.JSON can convert (numbers, texts, `bool`, vectors,
/// maps, `boost::json::value`), of a `tool_result` or of a `tool_image`. A model gets a text, and an object also as
/// data. Code gets the value itself, tagged as in `tagged_value.hpp` (use `python_json` for JSON from elsewhere); of a
/// `tool_result` it gets the data if there are any, otherwise the text, and a dict of "text" and "images" if there are
/// images.
///
/// **The arguments are untrusted**: a model or its code has chosen them. Only what the description states is checked.
/// Wrong arguments are an answer that names each of them; in Python they are a TypeError. An exception from the handler
/// is an answer as well; in Python it is a `HostFunctionError`, which derives from RuntimeError and is a global of
/// every run with functions, unless the code or the request defines that name. **Both show `what()`**, so it must not
/// contain secrets.
///
/// In Python a call waits until the handler ends. Its time counts against the time limit of the run. If the run ends
/// first, the handler is cancelled (terminal) and awaited. Calls of one run are served one after another, calls of
/// different runs at once. A handler may run code itself, also by the runner that called it. If such a run would need
/// the context that waits for the handler (directly or through other handlers), `run_code` throws
/// error{exec_errc::deadlock} at once. This is detected in coroutines that the handler awaits, or spawns on its own
/// executor.
///
/// A value: copies share the handler, which may be called by several models and runs at once.
/// \par Lifetime      a call keeps the handler alive, but not what the handler refers to.
/// \par Cancellation  terminal, as far as the handler honours it.
/// \par Threads       the executor of the agent, the server, or the coroutine that called `run_code`; if the last is no
///                    strand, a strand over it.
/// \par Example       examples/10_python.cpp, examples/12_mcp_server.cpp
class function : public detail::basic_definition<function> {
 public:
  /// \param name         matches `[A-Za-z0-9_-]{1,64}`; for Python an identifier of 1 to 100 characters, no keyword.
  /// \param description  for the model; `help()` in Python.
  /// \param parts        the arguments (`argument`), and last the handler. A lambda that captures by value must be a
  ///                     named object: g++ before 13 would destroy the captures of a temporary twice, so a temporary
  ///                     does not compile there.
  /// \throws error{exec_errc::invalid_argument} for a wrong name, two arguments of one name, a default that does not
  ///     fit, an optional argument for a parameter that cannot be empty, or an empty handler.
  template <class... Parts>
    requires(sizeof...(Parts) >= 1)
  function(std::string name, std::string description, Parts&&... parts)
      : basic_definition(std::move(name), std::move(description)) {
    std::tuple<Parts&&...> part_tuple(std::forward<Parts>(parts)...);
    build<std::tuple<Parts...>>(part_tuple, std::make_index_sequence<sizeof...(Parts) - 1>());
  }

  /// Returns the arguments.
  const argument_list& arguments() const noexcept { return *arguments_; }
  /// Returns a JSON schema of type "object".
  boost::json::object parameters() const { return arguments_->schema(); }

  /// Calls the function for a model.
  /// \throws error{exec_errc::provider_lost}, error{exec_errc::environment_closed} from the handler; never because of
  ///     the arguments or another exception.
  /// \par Cancellation  terminal: what the handler throws.
  awaitable<tool_result> call(boost::json::value arguments) const {
    return detail::answer_call(arguments_, call_, std::move(arguments));
  }

  /// For `code_request::function`.
  /// \throws error{exec_errc::invalid_argument} if the name of the function or of an argument cannot be one in Python.
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
        "can convert, tools::tool_result or tools::tool_image");
    constexpr bool is_const = detail::signature_of<Handler>::is_const;
    static_assert(is_const, "cofferdam: the handler of a tools::function must not be mutable: its copies share it");
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
