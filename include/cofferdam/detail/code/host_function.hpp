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
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A parameter of a host function.
class host_parameter {
 public:
  /// \param name  a Python identifier, no keyword.
  /// \param type  "str", "int", "float", "bool", "list", "dict", "bytes", or empty for any.
  host_parameter(std::string name, std::string type, std::optional<boost::json::value> default_value)
      : name_(std::move(name)), type_(std::move(type)), default_(std::move(default_value)) {}

  const std::string& name() const noexcept { return name_; }
  const std::string& type() const noexcept { return type_; }
  const std::optional<boost::json::value>& default_value() const noexcept { return default_; }

 private:
  std::string name_;
  std::string type_;
  std::optional<boost::json::value> default_;
};

/// Thrown by a handler for arguments that its checks refuse: a TypeError in Python.
class wrong_arguments : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A function of the host as runners see it. Users write a `tools::function`, which converts to it.
///
/// The handler gets an object of all parameters (tagged values as in `tagged_value.hpp`) and returns the result of the
/// call. Only their names and types have been checked.
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
    require_safe_callable<Call>();
    if (!call_) throw error(exec_errc::invalid_argument, "code_request: '" + name_ + "' has no handler");
  }

  /// Adds a parameter. One without a default must be given in every call.
  host_function& parameter(std::string name, std::string type,
                           std::optional<boost::json::value> default_value = std::nullopt) {
    return add(host_parameter(require_name(std::move(name)), require_type(std::move(type)), std::move(default_value)));
  }
  /// Sets the text that `help()` shows.
  host_function& doc(std::string text) {
    doc_ = std::move(text);
    return *this;
  }

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
          "code_request: functions and arguments that code calls are named by letters, digits and '_', not by a digit "
          "first; rename '" +
              name + "'");
    for (const std::string_view word :
         {"False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
          "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
          "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
          "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",    "__debug__"})
      if (name == word)
        throw error(exec_errc::invalid_argument,
                    "code_request: '" + name + "' is a keyword of Python; choose another name");
    return name;
  }
  static std::string require_type(std::string type) {
    for (const char* const known : {"", "str", "int", "float", "bool", "list", "dict", "bytes"})
      if (type == known) return type;
    throw error(exec_errc::invalid_argument,
                "code_request: a parameter's type is str, int, float, bool, list, dict, bytes, or empty for any");
  }
  host_function& add(host_parameter added) {
    for (const host_parameter& each : parameters_)
      if (each.name() == added.name())
        throw error(exec_errc::invalid_argument,
                    "code_request: '" + name_ + "' has two parameters '" + added.name() + "'");
    parameters_.push_back(std::move(added));
    return *this;
  }

  std::string name_;
  std::string doc_;
  std::vector<host_parameter> parameters_;
  handler call_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
