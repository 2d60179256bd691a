// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The kind of a fact about Python code. "Resolved" names are absolute: after `import os.path as p`, `p.join` is
/// "os.path.join".
enum class feature_kind {
  import_module,    ///< `import name`; detail: the alias
  import_from,      ///< `from name import detail`; detail may be "*"
  relative_import,  ///< `from .name import detail`; name has the dots
  dynamic_import,   ///< by a call (detail: which); name is empty if it is not known before the code runs
  reexport,         ///< the module `name`, reached as `detail` through another module that has imported it
  private_name,     ///< `name`, resolved, is a module's private name
  /// the module `name` is passed on, stored or returned; detail "names" if it is a dictionary of all its names
  module_value,
  use,           ///< `name`, resolved, is looked up
  attribute,     ///< `.name` of an unknown object; detail "own" if that is a class of the code itself
  builtin_name,  ///< the builtin `name`, or a name with two underscores at both ends
  call,          ///< `name` is called: resolved, or a builtin, or ".name" of something; detail: its first text
  /// an attribute of `name` (a module, a dictionary of names, or unknown) whose name is computed; detail "plain" if it
  /// is a variable of the code, "value" if the function `name` that looks it up is passed on
  hidden_name,
  ///< detail "plain" where it is a variable of the code, "value" where the function `name` that looks it
  ///< up is passed on
  text,          ///< `name` is a text in the code, or computed from constants; not a docstring
  endless_loop,  ///< no statement in the loop leaves it; number 2 if no statement can raise either
  long_range,    ///< a loop over `number` steps; detail "ends" if the loop can end before
  large_repeat,  ///< a constant sequence of `number` bytes or so
  large_power,   ///< a number of `number` bits
  coding,        ///< the source declares the encoding `name`
};

/// One fact about Python code.
class code_feature {
 public:
  code_feature(feature_kind kind, int line, std::string name, std::string detail, std::int64_t number)
      : kind_(kind), line_(line), number_(number), name_(std::move(name)), detail_(std::move(detail)) {}

  feature_kind kind() const noexcept { return kind_; }
  /// Returns the line of the first occurrence, from 1.
  int line() const noexcept { return line_; }
  const std::string& name() const noexcept { return name_; }
  const std::string& detail() const noexcept { return detail_; }
  std::int64_t number() const noexcept { return number_; }

 private:
  feature_kind kind_;
  int line_;
  std::int64_t number_;
  std::string name_;
  std::string detail_;
};

/// The reason why a text is not Python, or cannot be checked.
class code_problem {
 public:
  code_problem() = default;
  code_problem(std::string type, std::string message, int line, int column)
      : type_(std::move(type)), message_(std::move(message)), line_(line), column_(column) {}

  /// Returns "SyntaxError", "IndentationError" or "TabError"; "TooDeep" or "TooCostly" if the code cannot be checked.
  const std::string& type() const noexcept { return type_; }
  /// Returns the message of CPython.
  const std::string& message() const noexcept { return message_; }
  /// Returns the line, from 1; 0 if it is not known.
  int line() const noexcept { return line_; }
  int column() const noexcept { return column_; }
  /// Returns the version of the Python that found the problem and that of the Python that would run the code, if they
  /// differ; otherwise an empty text.
  const std::string& note() const noexcept { return note_; }
  void note(std::string text) { note_ = std::move(text); }
  /// Returns true if the text is not Python, and false if it is Python that cannot be checked.
  bool is_syntax() const noexcept { return type_ != "TooDeep" && type_ != "TooCostly"; }

 private:
  std::string type_;
  std::string message_;
  std::string note_;
  int line_ = 0;
  int column_ = 0;
};

/// The facts about a piece of Python code, from CPython's own parser. The code was not run. Immutable.
///
/// Names are resolved without regard to the order in which statements run, and only as far as the text allows.
/// Malicious code can hide its meaning: the facts serve for advice to a model, not for isolation.
class code_analysis {
 public:
  code_analysis(std::string source, std::vector<code_feature> facts)
      : source_(std::move(source)), all_(std::move(facts)) {}
  code_analysis(std::string source, code_problem why) : source_(std::move(source)), problem_(std::move(why)) {}

  const std::string& source() const noexcept { return source_; }
  /// Returns the facts in the order of reading, without duplicates. Empty if there is a problem.
  const std::vector<code_feature>& all() const noexcept { return all_; }
  const std::optional<code_problem>& problem() const noexcept { return problem_; }

 private:
  std::string source_;
  std::vector<code_feature> all_;
  std::optional<code_problem> problem_;
};

/// Returns a line of a source, without its end.
/// \param number  from 1. Empty if there is no such line.
inline std::string_view line_of(std::string_view source, int number) {
  for (int at = 1; !source.empty(); ++at) {
    const std::size_t end = source.find_first_of("\r\n");
    const std::string_view line = source.substr(0, end);
    if (at == number) return line;
    if (end == std::string_view::npos) break;
    source.remove_prefix(end + (source.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  return {};
}

namespace detail {

inline std::optional<feature_kind> fact_kind_of(std::string_view word) {
  static constexpr std::array<std::string_view, 18> words{
      "import", "from", "relative", "dynamic", "reexport", "private", "value",  "use",   "attribute",
      "name",   "call", "getattr",  "string",  "endless",  "range",   "repeat", "power", "coding"};
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<feature_kind>(found - words.begin());
}

/// Parses the output of a reader (python_code_reader.py).
/// \throws error{exec_errc::io_error} if it is not valid.
inline code_analysis parse_facts(std::string source, std::string_view answer) {
  const auto no_answer = [] {
    return error(exec_errc::io_error, "the reader of Python code has given no answer that is one");
  };
  boost::system::error_code cause;
  const boost::json::value parsed = boost::json::parse({answer.data(), answer.size()}, cause);
  if (cause || !parsed.is_object()) throw no_answer();
  const auto text = [&](const boost::json::value& value) {
    if (!value.is_string()) throw no_answer();
    return std::string(value.get_string().data(), value.get_string().size());
  };
  const auto number = [&](const boost::json::value& value) {
    if (!value.is_int64()) throw no_answer();
    return value.get_int64();
  };
  const auto line = [&](const boost::json::value& value) {
    return static_cast<int>(std::clamp<std::int64_t>(number(value), 0, 1'000'000'000));
  };
  const boost::json::object& reply = parsed.get_object();
  if (const boost::json::value* const failed = reply.if_contains("error")) {
    if (!failed->is_object()) throw no_answer();
    const boost::json::object& why = failed->get_object();
    for (const char* const each : {"type", "text", "line", "column"})
      if (!why.contains(each)) throw no_answer();
    code_problem problem(text(why.at("type")), text(why.at("text")), line(why.at("line")), line(why.at("column")));
    return code_analysis(std::move(source), std::move(problem));
  }
  const boost::json::value* const rows = reply.if_contains("facts");
  if (rows == nullptr || !rows->is_array()) throw no_answer();
  std::vector<code_feature> facts;
  facts.reserve(rows->get_array().size());
  for (const boost::json::value& each : rows->get_array()) {
    if (!each.is_array() || each.get_array().size() != 5) throw no_answer();
    const boost::json::array& row = each.get_array();
    const std::optional<feature_kind> kind = fact_kind_of(text(row[0]));
    if (!kind) throw no_answer();
    facts.emplace_back(*kind, line(row[1]), text(row[2]), text(row[3]), number(row[4]));
  }
  return code_analysis(std::move(source), std::move(facts));
}

}  // namespace detail
}  // namespace cofferdam::inline COFFERDAM_ABI
