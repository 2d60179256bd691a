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

/// Returns true for a keyword of Python.
inline bool is_python_keyword(std::string_view name) noexcept {
  for (const std::string_view word :
       {"False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",    "__debug__"})
    if (name == word) return true;
  return false;
}

/// One parameter of a host function: its name, type and default value.
class host_parameter {
 public:
  /// \param name           a Python identifier that is not a keyword.
  /// \param type           "str", "int", "float", "bool", "list", "dict", "bytes", or empty to accept any type.
  /// \param default_value  the value that the function receives if the call does not pass this argument. If absent, the
  ///                       argument is required.
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

/// An exception that the handler of a host function throws if the arguments are not acceptable. In the Python code the
/// call then raises a TypeError.
class wrong_arguments : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A function of the host program that code in a runner may call. Users write a `tools::function`, which converts to
/// this type.
///
/// The handler receives one object that has a member for each parameter (Python values as in `tagged_value.hpp`), and
/// returns the result of the call. Only the names and types of the arguments have been checked before.
class host_function {
 public:
  using handler = std::function<awaitable<boost::json::value>(boost::json::object arguments)>;

  /// \param name  a Python identifier of 1 to 100 ASCII characters that is not a keyword.
  /// \param call  a callable for `handler`. A lambda that captures by value must be a named object: g++ 12 would
  ///              destroy the captures of a temporary lambda twice, so a temporary does not compile there.
  /// \throws error{exec_errc::invalid_argument} if the name is not such an identifier, or `call` is empty.
  template <class Call>
    requires std::constructible_from<handler, Call>
  host_function(std::string name, Call&& call) : name_(require_name(std::move(name))), call_(std::forward<Call>(call)) {
    require_safe_callable<Call>();
    if (!call_) throw error(exec_errc::invalid_argument, "code_request: '" + name_ + "' has no handler");
  }

  /// Adds a parameter. If it has no default value, every call must pass the argument.
  host_function& parameter(std::string name, std::string type,
                           std::optional<boost::json::value> default_value = std::nullopt) {
    return add(host_parameter(require_name(std::move(name)), require_type(std::move(type)), std::move(default_value)));
  }
  /// Sets the documentation of the function, which Python's `help()` shows.
  host_function& doc(std::string text) {
    doc_ = std::move(text);
    return *this;
  }

  const std::string& name() const noexcept { return name_; }
  const std::string& doc() const noexcept { return doc_; }
  const std::vector<host_parameter>& parameters() const noexcept { return parameters_; }
  /// Calls the handler. The function must outlive the returned awaitable.
  awaitable<boost::json::value> call(boost::json::object arguments) const { return call_(std::move(arguments)); }

 private:
  static std::string require_name(std::string name) {
    bool good = !name.empty() && name.size() <= 100 && (name.front() < '0' || name.front() > '9');
    for (const char c : name)
      good = good && (c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
    if (!good)
      throw error(exec_errc::invalid_argument,
                  "code_request: the names of functions and arguments must consist of letters, digits and '_' and must "
                  "not start with a digit; rename '" +
                      name + "'");
    if (is_python_keyword(name))
      throw error(exec_errc::invalid_argument,
                  "code_request: '" + name + "' is a keyword of Python; choose another name");
    return name;
  }
  static std::string require_type(std::string type) {
    for (const char* const known : {"", "str", "int", "float", "bool", "list", "dict", "bytes"})
      if (type == known) return type;
    throw error(exec_errc::invalid_argument,
                "code_request: the type of a parameter must be str, int, float, bool, list, dict, bytes, or empty for "
                "any type");
  }
  host_function& add(host_parameter added) {
    for (const host_parameter& each : parameters_)
      if (each.name() == added.name())
        throw error(exec_errc::invalid_argument,
                    "code_request: '" + name_ + "' has two parameters named '" + added.name() + "'; rename one");
    parameters_.push_back(std::move(added));
    return *this;
  }

  std::string name_;
  std::string doc_;
  std::vector<host_parameter> parameters_;
  handler call_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
