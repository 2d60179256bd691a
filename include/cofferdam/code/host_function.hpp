// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// A parameter of a host function.
class host_parameter {
 public:
  /// \param name  a Python identifier, no keyword.
  /// \param type  "str", "int", "float", "bool", "list", "dict", "bytes", or empty for any.
  host_parameter(std::string name, std::string type) : name_(std::move(name)), type_(std::move(type)) {}
  host_parameter(std::string name, std::string type, boost::json::value default_value)
      : name_(std::move(name)), type_(std::move(type)), default_(std::move(default_value)) {}

  const std::string& name() const noexcept { return name_; }
  const std::string& type() const noexcept { return type_; }
  const std::optional<boost::json::value>& default_value() const noexcept { return default_; }

 private:
  std::string name_;
  std::string type_;
  std::optional<boost::json::value> default_;
};

/// A coroutine of the host that the code of one run may call as a Python function:
///
///     host_function("search", look_up).parameter("query", "str").parameter("most", "int", 5).doc("Searches.")
///
/// The call waits in Python until the coroutine ends. Its time counts against the time limit of the run. If the run
/// ends first, the coroutine is cancelled (terminal) and awaited. Calls of one run are served one after another, calls
/// of different runs at once. A handler may run code itself, also by the runner that called it. If such a run would
/// need the context that waits for the handler (directly or through other handlers), `run_code` throws
/// error{exec_errc::deadlock} at once. This is detected in coroutines that the handler awaits, or spawns on its own
/// executor.
///
/// **The arguments come from the guest and are untrusted**: only their names and types have been checked.
///
/// The handler gets an object of all parameters (tagged values as in `tagged_value.hpp`) and returns the result of the
/// call; use `python_json` for JSON from elsewhere. An exception from it becomes a `HostFunctionError` in Python, with
/// `what()` as its text (at most 16 KiB, through `printable_text`). So `what()` must not contain secrets. The class
/// derives from RuntimeError. It is a global of every run with functions, unless the code or the request defines that
/// name.
/// \par Threads  the executor of the coroutine that called `run_code`; if that is no strand, a strand over it.
class host_function {
 public:
  using handler = std::function<awaitable<boost::json::value>(boost::json::object arguments)>;

  /// \param name  a Python identifier, ASCII, 1 to 100 characters, no keyword.
  /// \param call  a callable for `handler`. A lambda that captures by value must be a named object: g++ before 13 would
  ///              destroy the captures of a temporary twice, so a temporary does not compile there.
  /// \throws error{exec_errc::invalid_argument}
  template <class Call>
    requires std::constructible_from<handler, Call>
  host_function(std::string name, Call&& call) : name_(require_name(std::move(name))), call_(std::forward<Call>(call)) {
    detail::require_safe_callable<Call>();
    if (!call_) throw error(exec_errc::invalid_argument, "host_function: '" + name_ + "' has no handler");
  }

  /// Adds a parameter that every call must give.
  host_function& parameter(std::string name, std::string type) & {
    return add(host_parameter(require_name(std::move(name)), require_type(std::move(type))));
  }
  [[nodiscard]] host_function parameter(std::string name, std::string type) && {
    return std::move(parameter(std::move(name), std::move(type)));
  }
  /// Adds a parameter with a default.
  host_function& parameter(std::string name, std::string type, boost::json::value default_value) & {
    return add(host_parameter(require_name(std::move(name)), require_type(std::move(type)), std::move(default_value)));
  }
  [[nodiscard]] host_function parameter(std::string name, std::string type, boost::json::value default_value) && {
    return std::move(parameter(std::move(name), std::move(type), std::move(default_value)));
  }
  /// Sets the text that `help()` shows.
  host_function& doc(std::string text) & {
    doc_ = std::move(text);
    return *this;
  }
  [[nodiscard]] host_function doc(std::string text) && { return std::move(doc(std::move(text))); }

  const std::string& name() const noexcept { return name_; }
  const std::string& doc() const noexcept { return doc_; }
  const std::vector<host_parameter>& parameters() const noexcept { return parameters_; }
  /// Starts the handler. The function outlives the returned awaitable.
  awaitable<boost::json::value> call(boost::json::object arguments) const { return call_(std::move(arguments)); }

 private:
  static std::string require_name(std::string name) {
    bool good = !name.empty() && name.size() <= 100 && (name.front() < '0' || name.front() > '9');
    for (const char c : name)
      good = good && (c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
    if (!good)
      throw error(
          exec_errc::invalid_argument,
          "host_function: functions and parameters are called by letters, digits and '_', not by a digit first");
    for (const std::string_view word :
         {"False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
          "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
          "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
          "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",    "__debug__"})
      if (name == word)
        throw error(exec_errc::invalid_argument,
                    "host_function: '" + name + "' is a word of Python's own; choose another name");
    return name;
  }
  static std::string require_type(std::string type) {
    for (const char* const known : {"", "str", "int", "float", "bool", "list", "dict", "bytes"})
      if (type == known) return type;
    throw error(exec_errc::invalid_argument,
                "host_function: a parameter's type is str, int, float, bool, list, dict, bytes, or empty for any");
  }
  host_function& add(host_parameter one) {
    for (const host_parameter& each : parameters_)
      if (each.name() == one.name())
        throw error(exec_errc::invalid_argument,
                    "host_function: '" + name_ + "' has two parameters '" + one.name() + "'");
    parameters_.push_back(std::move(one));
    return *this;
  }

  std::string name_;
  std::string doc_;
  std::vector<host_parameter> parameters_;
  handler call_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
