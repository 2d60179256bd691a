// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_analysis.hpp>
#include <cofferdam/code/guard.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <algorithm>
#include <concepts>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// A policy (the rule that a guard applies) that admits code only if every module that the code can reach is allowed,
/// as far as the analysis of the source finds these modules.
class import_policy {
 public:
  static constexpr std::string_view name = "allow_imports";

  /// Allows no modules.
  import_policy() : import_policy(std::vector<std::string>()) {}
  /// \param modules  dotted names, or "*" for all modules. Each name allows its submodules too.
  explicit import_policy(std::vector<std::string> modules)
      : allowed_(std::make_shared<const std::set<std::string, std::less<>>>(modules.begin(), modules.end())) {}

  /// Returns true if code may import this module.
  /// \param module  a dotted name.
  bool allows(std::string_view module) const {
    if (module == "__future__" || allowed_->contains("*")) return true;
    for (std::string_view part = module; !part.empty();) {
      if (allowed_->contains(part)) return true;
      const std::size_t dot = part.rfind('.');
      part = dot == std::string_view::npos ? std::string_view() : part.substr(0, dot);
    }
    return false;
  }

  std::optional<guard_refusal> judge(const code_analysis& facts) const {
    std::optional<guard_refusal> first;
    for (const code_feature& each : facts.all())
      if (std::optional<guard_refusal> found = judge_one(each))
        if (!first || found->line() < first->line()) first = std::move(found);
    return first;
  }

  /// Returns the modules that the code imports, as far as the analysis finds them. Modules that are not allowed are
  /// included.
  static std::set<std::string> predicted(const code_analysis& facts) {
    std::set<std::string> modules = facts.imports();
    for (const code_feature& each : facts.all()) {
      if (each.kind() == feature_kind::import_from && each.detail() != "*")
        modules.insert(each.name() + "." + each.detail());
      if (each.kind() != feature_kind::builtin_name) continue;
      if (each.name() == "breakpoint") modules.insert("pdb");  // this builtin and the next import a module
      if (each.name() == "help") modules.insert("pydoc");
    }
    return modules;
  }

 private:
  std::optional<guard_refusal> judge_one(const code_feature& fact) const {
    const std::string shown = "'" + one_line(fact.name(), 80) + "'";
    switch (fact.kind()) {
      case feature_kind::import_module:
        if (!allows(fact.name())) return refuse(fact, "the module " + shown + " is not allowed");
        break;
      case feature_kind::import_from:
        if (!allows(fact.name()) && !allows(fact.name() + "." + fact.detail()))
          return refuse(fact, "the module " + shown + " is not allowed");
        break;
      case feature_kind::relative_import:
        return refuse(fact, "the relative import " + shown + " names no module of the allowlist");
      case feature_kind::dynamic_import:
        if (allowed_->contains("*")) break;
        if (fact.name().empty())
          return refuse(fact, "what '" + one_line(fact.detail(), 40) + "' imports is unknown before the code runs");
        if (!allows(fact.name())) return refuse(fact, "the module " + shown + " is not allowed");
        break;
      case feature_kind::reexport:
        if (!allows(fact.name()))
          return refuse(fact,
                        "'" + one_line(fact.detail(), 80) + "' is the module " + shown + ", which is not allowed");
        break;
      case feature_kind::private_name:
        if (!allowed_->contains("*")) return refuse(fact, shown + " is a private name of a module");
        break;
      case feature_kind::module_value:
        if (!allowed_->contains("*"))
          return refuse(fact, "the module " + shown + " is passed on as a value, so its use cannot be checked",
                        "Use its members by name, such as module.function(...).");
        break;
      case feature_kind::hidden_name:
        if (allowed_->contains("*") || fact.detail() == "plain" || fact.detail() == "value") break;
        if (fact.name() == "__code__")
          return refuse(fact, "the code of a function is replaced", "Write a new function instead.");
        return refuse(fact, "the name that is looked up here is computed", "Write the name literally.");
      case feature_kind::attribute:
        if (!allowed_->contains("*") && leads_to_modules(fact.name()))
          return refuse(fact, shown + " can import any module");
        break;
      case feature_kind::builtin_name:
        if (!allowed_->contains("*") && is_route(fact.name())) return refuse(fact, shown + " can import any module");
        break;
      case feature_kind::use:
        if (!allowed_->contains("*") && is_route(fact.name())) return refuse(fact, shown + " can import any module");
        break;
      default: break;
    }
    return std::nullopt;
  }

  /// Returns true for the resolved name of a function or object through which code can get any module or run a text as
  /// code.
  static bool is_route(std::string_view called) {
    for (const std::string_view each : {"exec",
                                        "eval",
                                        "compile",
                                        "__import__",
                                        "__builtins__",
                                        "__loader__",
                                        "__spec__",
                                        "breakpoint",
                                        "sys.modules",
                                        "builtins.exec",
                                        "builtins.eval",
                                        "builtins.compile",
                                        "builtins.__import__",
                                        "builtins.breakpoint",
                                        "builtins.help",
                                        "pkgutil.resolve_name",
                                        "pydoc.locate",
                                        "pydoc.help",
                                        "pydoc.doc",
                                        "pydoc.render_doc",
                                        "pydoc.resolve",
                                        "pydoc.safeimport",
                                        "types.CodeType",
                                        "types.FunctionType",
                                        "types.LambdaType",
                                        "sys.meta_path",
                                        "sys.path_hooks",
                                        "sys.path",
                                        "sys.breakpointhook"})
      if (called == each || (called.size() > each.size() && called.starts_with(each) && called[each.size()] == '.'))
        return true;
    for (const std::string_view each : {"importlib.util.", "importlib.machinery.", "runpy.", "zipimport.", "imp."})
      if (called.starts_with(each)) return true;
    for (std::size_t dot = called.find('.'); dot != std::string_view::npos; dot = called.find('.')) {
      called.remove_prefix(dot + 1);
      if (leads_to_modules(called.substr(0, called.find('.')))) return true;
    }
    return false;
  }

  /// Returns true for the name of an attribute through which code can get the globals or builtins of a module, or
  /// import modules.
  static bool leads_to_modules(std::string_view attribute) {
    for (const std::string_view each :
         {"__builtins__", "__globals__", "__loader__", "__import__", "f_globals", "f_builtins"})
      if (attribute == each) return true;
    return false;
  }

  guard_refusal refuse(const code_feature& fact, std::string what, std::string advice = {}) const {
    if (advice.empty()) {
      advice = allowed_->empty() ? std::string("No module may be imported; use only Python's built-in names.")
                                 : "Import only these modules, each by its own name: ";
      std::size_t shown = 0;
      for (const std::string& each : *allowed_) {
        if (++shown > 40) {
          advice += ", ...";
          break;
        }
        advice += (shown > 1 ? ", " : "") + each;
      }
      if (!allowed_->empty()) advice += ".";
    }
    return guard_refusal("allow_imports", fact.line(), std::move(what), std::move(advice));
  }

  std::shared_ptr<const std::set<std::string, std::less<>>> allowed_;
};

/// Lets code import only the listed modules, and `ast`, `operator`, `random`, `re`, `time`:
/// `local() | python() | allow_imports("json", "collections", "numpy")`.
///
/// A name allows its submodules (`xml` allows `xml.etree.ElementTree`), but not its siblings. The guard resolves names.
/// It understands aliases, imports in functions, relative imports, modules that other modules have imported
/// (`random._os`, `typing.sys`), computed texts (`__import__('o' + 's')`), `importlib`, `sys.modules`, texts that are
/// run (`exec`, `timeit`), `help('name')` and `breakpoint()`. If a name is taken from constants in a loop, the guard
/// resolves it too: `for name in ("mean", "median"): getattr(statistics, name)`.
///
/// The guard refuses code that cannot be resolved before it runs. It also refuses code that passes on a module or
/// `globals()` as a value, or that replaces the code of a function.
///
/// The guard examines each piece of code alone. In a context (named globals that continue from run to run), the guard
/// does not know the values that an earlier run has stored in variables. If such a variable may contain a module, only
/// the private names of modules are refused.
///
/// The source of packages that exist only in the guest (the environment in which the code runs) is not available to the
/// guard. For these packages it refuses private names, and attributes that have the name of a well known module
/// (`numpy.core.os`).
///
/// **A guard is advice to the model that writes the code; the backend provides the isolation.** The use of an allowed
/// module is not restricted: to allow `os` or `ctypes` is to allow everything.
/// \return      a refusal is a `code_result` of kind `error_kind::security_violation`. Its reason has the line, the
///              text of the line, the module and the allowed modules.
/// \throws      error{exec_errc::provider_failed} if there is no Python that can parse the code.
/// \par Cost    some tenths of a millisecond for 50 lines. All guards of a runner share this cost: the code is parsed
///              once.
/// \par Source  kodeagent's whitelist, without its bypasses.
class allow_imports : public guard<allow_imports> {
 public:
  /// \param names  dotted names of modules, which are allowed in addition to `ast`, `operator`, `random`, `re` and
  ///               `time`.
  template <std::convertible_to<std::string>... Names>
  explicit allow_imports(const Names&... names) : allow_imports(std::vector<std::string>{std::string(names)...}) {}

  /// \param names  dotted names of modules, which are allowed in addition to `ast`, `operator`, `random`, `re` and
  ///               `time`.
  explicit allow_imports(std::vector<std::string> names) : policy_(with_defaults(std::move(names))) {}

  /// Allows only the named modules, without the five modules (`ast` and others) that the constructors add.
  static allow_imports only(std::vector<std::string> names) { return allow_imports(import_policy(std::move(names))); }

  import_policy policy() const { return policy_; }

 private:
  explicit allow_imports(import_policy policy) : policy_(std::move(policy)) {}

  static import_policy with_defaults(std::vector<std::string> names) {
    for (const char* const each : {"ast", "operator", "random", "re", "time"}) names.emplace_back(each);
    return import_policy(std::move(names));
  }

  import_policy policy_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
