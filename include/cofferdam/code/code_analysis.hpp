// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The kind of a fact about Python code. A "resolved" name is absolute: after `import os.path as p`, the resolved name
/// of `p.join` is "os.path.join". In the descriptions below, `name`, `detail` and `number` are members of
/// `code_feature`.
enum class feature_kind {
  import_module,    ///< `import name as detail`; `detail` is empty without `as`
  import_from,      ///< `from name import detail`; detail may be "*"
  relative_import,  ///< `from .name import detail`; name begins with the dots
  dynamic_import,   ///< an import by the function call in detail; name is empty if it is known only when the code runs
  reexport,         ///< the module `name` is reached as `detail` through another module that has imported it
  private_name,     ///< the resolved `name` is a private name of a module
  /// the module `name` is passed on, stored or returned; detail is "names" if a dictionary of all its names is
  module_value,
  use,           ///< the resolved `name` is used
  attribute,     ///< the attribute `.name` of an unknown object; detail is "own" if it is a class that the code defines
  builtin_name,  ///< the builtin `name`, or a name that begins and ends with two underscores
  call,          ///< `name` is called: a resolved name, a builtin, or ".name" of an object; detail is the first
                 ///< argument if that is a text
  /// An attribute is looked up in `name`, and the attribute's name is computed. `name` is a module, a dictionary of
  /// names, or empty for an unknown object. detail is "plain" if the object is unknown and the attribute's name is in a
  /// variable. detail is "value" if the function `name`, which looks up attributes, is itself passed on.
  hidden_name,
  text,          ///< `name` is a text in the code, or is computed from constants; docstrings are left out
  endless_loop,  ///< a loop that no statement leaves; number is 2 if no statement in it can raise either
  long_range,    ///< a loop over `number` steps; detail is "ends" if the loop can end earlier
  large_repeat,  ///< a constant sequence of about `number` bytes
  large_power,   ///< a number of `number` bits
  coding,        ///< the source declares the encoding `name`
  /// `name` is defined, such as "Shape.area" for a method; detail is "function", "coroutine" (`async def`) or "class"
  definition,
};

/// One fact about Python code. The meaning of name, detail and number depends on `kind()`; see `feature_kind`.
class code_feature {
 public:
  /// Describes a fact; `feature_kind` has the meaning of the parameters.
  code_feature(feature_kind kind, int line, std::string name, std::string detail, std::int64_t number)
      : kind_(kind), line_(line), number_(number), name_(std::move(name)), detail_(std::move(detail)) {}

  /// Returns the kind of the fact.
  feature_kind kind() const noexcept { return kind_; }
  /// Returns the line of the first occurrence, counted from 1.
  int line() const noexcept { return line_; }
  /// Returns the name, as described at `feature_kind`; may be empty.
  const std::string& name() const noexcept { return name_; }
  /// Returns the detail, as described at `feature_kind`; may be empty.
  const std::string& detail() const noexcept { return detail_; }
  /// Returns the number, as described at `feature_kind`; 0 if the kind has none.
  std::int64_t number() const noexcept { return number_; }

 private:
  feature_kind kind_;
  int line_;
  std::int64_t number_;
  std::string name_;
  std::string detail_;
};

/// The reason why a text is not Python, or why it cannot be checked.
class code_problem {
 public:
  code_problem() = default;
  /// Describes a problem. Lines and columns are counted from 1; 0 if they are not known.
  code_problem(std::string type, std::string message, int line, int column)
      : type_(std::move(type)), message_(std::move(message)), line_(line), column_(column) {}

  /// Returns "SyntaxError", "IndentationError" or "TabError" if the text is not Python; "TooDeep" or "TooCostly" if it
  /// cannot be checked.
  const std::string& type() const noexcept { return type_; }
  /// Returns the error message, from CPython or from the reader (the Python process that parses code for guards).
  const std::string& message() const noexcept { return message_; }
  /// Returns the line of the problem, counted from 1; 0 if the line is not known.
  int line() const noexcept { return line_; }
  /// Returns the column of the problem, counted from 1; 0 if the column is not known.
  int column() const noexcept { return column_; }
  /// Returns a note that names two versions of Python: the version that found the problem, and the version that would
  /// run the code. The note is empty if the versions are the same.
  const std::string& note() const noexcept { return note_; }
  void note(std::string text) { note_ = std::move(text); }
  /// Returns true if the text is not Python, and false if the text is too deep or too costly to be checked.
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
/// Malicious code can hide its meaning. Therefore the facts serve for advice to a model, not for isolation.
class code_analysis {
 public:
  /// Holds the facts about `source`.
  code_analysis(std::string source, std::vector<code_feature> facts)
      : source_(std::move(source)), all_(std::move(facts)) {}
  /// Holds the problem because of which there are no facts about `source`.
  code_analysis(std::string source, code_problem why) : source_(std::move(source)), problem_(std::move(why)) {}

  /// Returns the code to which the facts belong.
  const std::string& source() const noexcept { return source_; }
  /// Returns the facts in the order in which the reader found them, without duplicates. Empty if there is a problem.
  const std::vector<code_feature>& all() const noexcept { return all_; }
  /// Returns the problem because of which there are no facts, such as a syntax error with its line; absent if there is
  /// none.
  const std::optional<code_problem>& problem() const noexcept { return problem_; }

  /// Returns the modules that the code imports by statements, and by calls if their argument is known: "os.path".
  std::set<std::string> imports() const {
    std::set<std::string> modules;
    for (const code_feature& each : all_) {
      const bool names_one = each.kind() == feature_kind::import_module || each.kind() == feature_kind::import_from ||
                             each.kind() == feature_kind::dynamic_import;
      if (names_one && !each.name().empty()) modules.insert(each.name());
    }
    return modules;
  }
  /// Returns the functions that the code defines, methods and coroutines included: "Shape.area".
  std::set<std::string> functions() const { return definitions(false); }
  /// Returns the classes that the code defines.
  std::set<std::string> classes() const { return definitions(true); }
  /// Returns the resolved names of modules that the code uses, such as "os.environ", and the builtins that it uses.
  std::set<std::string> names() const { return names_of(feature_kind::use, feature_kind::builtin_name); }
  /// Returns the names that the code calls: resolved names, builtins, and ".name" for a method of an object.
  std::set<std::string> calls() const { return names_of(feature_kind::call, feature_kind::call); }

 private:
  std::set<std::string> definitions(bool are_classes) const {
    std::set<std::string> found;
    for (const code_feature& each : all_)
      if (each.kind() == feature_kind::definition && (each.detail() == "class") == are_classes)
        found.insert(each.name());
    return found;
  }
  std::set<std::string> names_of(feature_kind one, feature_kind other) const {
    std::set<std::string> found;
    for (const code_feature& each : all_)
      if (each.kind() == one || each.kind() == other) found.insert(each.name());
    return found;
  }

  std::string source_;
  std::vector<code_feature> all_;
  std::optional<code_problem> problem_;
};

/// Returns one line of a source, without the line end.
/// \param source  the text.
/// \param number  the number of the line, counted from 1. The result is empty if there is no such line.
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

}  // namespace cofferdam::inline COFFERDAM_ABI
