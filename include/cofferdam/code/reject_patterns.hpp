// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_analysis.hpp>
#include <cofferdam/code/detail/risky_text.hpp>
#include <cofferdam/code/guard.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// A suspect construct that was found in code.
class pattern_finding {
 public:
  /// Describes a construct. The other members describe the parameters.
  pattern_finding(int score, int line, std::string what) : score_(score), line_(line), what_(std::move(what)) {}
  /// Returns the score: 2 or 3 for a weak suspicion, 5 or 7 for a stronger one, 10 if this finding alone leads to a
  /// refusal.
  int score() const noexcept { return score_; }
  /// Returns the line of the construct, counted from 1.
  int line() const noexcept { return line_; }
  /// Returns a description of the construct, as a clause.
  const std::string& what() const noexcept { return what_; }

 private:
  int score_;
  int line_;
  std::string what_;
};

namespace detail {

/// A suspect name and its score. The entry also covers all names below this name, such as "os.spawn.x".
class risky_name {
 public:
  std::string_view name;
  int score;
  std::string_view what;
};

inline constexpr std::string_view runs_commands = "System command execution";
inline constexpr std::string_view reads_environment = "Environment variable access";
inline constexpr std::string_view removes_files = "File removal";
inline constexpr std::string_view runs_text = "Code from data";
inline constexpr std::string_view sees_insides = "Introspection of the interpreter";

/// Resolved names, which are absolute ("os.system"). The module names posix and nt are replaced by "os" before the
/// lookup.
inline constexpr auto risky_uses = std::to_array<risky_name>({
    {"os.system", 10, runs_commands},
    {"os.popen", 10, runs_commands},
    {"os.spawn", 10, runs_commands},
    {"os.spawnl", 10, runs_commands},
    {"os.spawnle", 10, runs_commands},
    {"os.spawnlp", 10, runs_commands},
    {"os.spawnlpe", 10, runs_commands},
    {"os.spawnv", 10, runs_commands},
    {"os.spawnve", 10, runs_commands},
    {"os.spawnvp", 10, runs_commands},
    {"os.spawnvpe", 10, runs_commands},
    {"os.posix_spawn", 10, runs_commands},
    {"os.posix_spawnp", 10, runs_commands},
    {"os.execl", 10, runs_commands},
    {"os.execle", 10, runs_commands},
    {"os.execlp", 10, runs_commands},
    {"os.execlpe", 10, runs_commands},
    {"os.execv", 10, runs_commands},
    {"os.execve", 10, runs_commands},
    {"os.execvp", 10, runs_commands},
    {"os.execvpe", 10, runs_commands},
    {"os.startfile", 10, runs_commands},
    {"os.fork", 10, runs_commands},
    {"os.forkpty", 10, runs_commands},
    {"os.kill", 10, runs_commands},
    {"os.killpg", 10, runs_commands},
    {"os.environ", 10, reads_environment},
    {"os.environb", 10, reads_environment},
    {"os.getenv", 7, reads_environment},
    {"os.getenvb", 7, reads_environment},
    {"os.putenv", 7, reads_environment},
    {"os.remove", 10, removes_files},
    {"os.rmdir", 10, removes_files},
    {"os.unlink", 10, removes_files},
    {"os.removedirs", 10, removes_files},
    {"shutil.rmtree", 10, removes_files},
    {"subprocess.run", 10, runs_commands},
    {"subprocess.call", 10, runs_commands},
    {"subprocess.check_call", 10, runs_commands},
    {"subprocess.check_output", 10, runs_commands},
    {"subprocess.Popen", 10, runs_commands},
    {"subprocess.getoutput", 10, runs_commands},
    {"subprocess.getstatusoutput", 10, runs_commands},
    {"asyncio.create_subprocess_exec", 10, runs_commands},
    {"asyncio.create_subprocess_shell", 10, runs_commands},
    {"asyncio.subprocess", 5, runs_commands},
    {"pty.spawn", 10, runs_commands},
    {"pty.fork", 10, runs_commands},
    {"_posixsubprocess", 10, runs_commands},
    {"ctypes", 10, "Native code"},
    {"_ctypes", 10, "Native code"},
    {"cffi", 10, "Native code"},
    {"_cffi_backend", 10, "Native code"},
    {"_interpreters", 10, runs_text},
    {"_xxsubinterpreters", 10, runs_text},
    {"concurrent.interpreters", 10, runs_text},
    {"builtins.exec", 10, runs_text},
    {"builtins.eval", 10, runs_text},
    {"builtins.compile", 10, runs_text},
    {"builtins.__import__", 10, runs_text},
    {"code.interact", 10, runs_text},
    {"code.InteractiveInterpreter", 10, runs_text},
    {"code.InteractiveConsole", 10, runs_text},
    {"code.compile_command", 10, runs_text},
    {"codeop", 10, runs_text},
    {"runpy", 10, runs_text},
    {"importlib.import_module", 10, runs_text},
    {"importlib.__import__", 10, runs_text},
    {"importlib.util", 10, runs_text},
    {"importlib.machinery", 10, runs_text},
    {"importlib.reload", 5, runs_text},
    {"pkgutil.resolve_name", 10, runs_text},
    {"pydoc.locate", 10, runs_text},
    {"pickle.loads", 10, runs_text},
    {"_pickle.loads", 10, runs_text},
    {"pickle.load", 7, runs_text},
    {"pickle.Unpickler", 7, runs_text},
    {"dill.loads", 10, runs_text},
    {"cloudpickle.loads", 10, runs_text},
    {"marshal.loads", 10, runs_text},
    {"marshal.load", 10, runs_text},
    {"yaml.unsafe_load", 10, runs_text},
    {"joblib.load", 5, runs_text},
    {"types.CodeType", 10, runs_text},
    {"sys.modules", 10, sees_insides},
    {"sys._getframe", 10, sees_insides},
    {"sys._current_frames", 10, sees_insides},
    {"sys.settrace", 10, sees_insides},
    {"sys.setprofile", 10, sees_insides},
    {"sys.meta_path", 10, sees_insides},
    {"sys.path_hooks", 10, sees_insides},
    {"sys.addaudithook", 10, sees_insides},
    {"gc.get_objects", 10, sees_insides},
    {"gc.get_referrers", 10, sees_insides},
    {"gc.get_referents", 10, sees_insides},
    {"inspect.currentframe", 10, sees_insides},
    {"inspect.stack", 7, sees_insides},
    {"inspect.getattr_static", 5, sees_insides},
    {"base64.b64decode", 5, "Potential obfuscation: b64decode"},
    {"base64.b32decode", 5, "Potential obfuscation: b32decode"},
    {"base64.b16decode", 5, "Potential obfuscation: b16decode"},
    {"base64.b85decode", 5, "Potential obfuscation: b85decode"},
    {"base64.a85decode", 5, "Potential obfuscation: a85decode"},
    {"binascii.unhexlify", 5, "Potential obfuscation: unhexlify"},
    {"binascii.a2b_base64", 5, "Potential obfuscation: a2b_base64"},
    {"codecs.decode", 5, "Potential obfuscation: codecs.decode"},
});

/// Attributes that are suspect on objects whose type is not known.
inline constexpr auto risky_attributes = std::to_array<risky_name>({
    {"__subclasses__", 10, "Introspection"},
    {"__globals__", 10, "Introspection"},
    {"__builtins__", 10, "Introspection"},
    {"__loader__", 10, "Introspection"},
    {"__import__", 10, "Introspection"},
    {"f_globals", 10, "Introspection"},
    {"f_builtins", 10, "Introspection"},
    {"f_locals", 10, "Introspection"},
    {"f_back", 10, "Introspection"},
    {"tb_frame", 10, "Introspection"},
    {"gi_frame", 10, "Introspection"},
    {"cr_frame", 10, "Introspection"},
    {"ag_frame", 10, "Introspection"},
    {"gi_code", 5, "Introspection"},
    {"__self__", 5, "Introspection"},
    {"__base__", 5, "Introspection"},
    {"__bases__", 3, "Introspection"},
    {"__mro__", 3, "Introspection"},
    {"__dict__", 3, "Introspection"},
    {"__class__", 3, "Introspection"},
    {"__code__", 3, "Introspection"},
    {"__closure__", 3, "Introspection"},
    {"cell_contents", 3, "Introspection"},
    {"__getattribute__", 3, "Introspection"},
    {"__reduce_ex__", 3, "Introspection"},
    {"system", 3, runs_commands},
    {"popen", 5, runs_commands},
    {"execv", 5, runs_commands},
    {"execve", 5, runs_commands},
    {"execvp", 5, runs_commands},
    {"execl", 5, runs_commands},
    {"execlp", 5, runs_commands},
    {"spawnl", 5, runs_commands},
    {"spawnv", 5, runs_commands},
    {"posix_spawn", 5, runs_commands},
    {"getenv", 7, reads_environment},
    {"environ", 7, reads_environment},
    {"b64decode", 5, "Potential obfuscation"},
    {"fromhex", 5, "Potential obfuscation"},
    {"unhexlify", 5, "Potential obfuscation"},
});

inline constexpr auto risky_builtins = std::to_array<risky_name>({
    {"exec", 10, "Dangerous builtin"},
    {"eval", 10, "Dangerous builtin"},
    {"compile", 10, "Dangerous builtin"},
    {"__import__", 10, "Dangerous builtin"},
    {"__builtins__", 10, "Introspection"},
    {"__loader__", 10, "Introspection"},
    {"__spec__", 3, "Introspection"},
    {"breakpoint", 7, "Dangerous builtin"},
});

/// Modules whose import is suspect. Each entry covers the submodules too.
inline constexpr auto risky_imports = std::to_array<risky_name>({
    {"subprocess", 5, "Process/thread module"},
    {"multiprocessing", 5, "Process/thread module"},
    {"threading", 5, "Process/thread module"},
    {"_thread", 5, "Process/thread module"},
    {"socket", 2, "Network module"},
    {"urllib", 2, "Network module"},
    {"http", 2, "Network module"},
});

/// Modules that code must not assign or pass as an argument, because the check could not follow their later uses.
inline constexpr auto risky_values =
    std::to_array<std::string_view>({"os", "posix", "sys", "subprocess", "builtins", "importlib", "ctypes", "pty",
                                     "shutil", "socket", "_posixsubprocess"});

/// Attributes under which modules contain other modules that can run commands, or objects that lead to such modules.
inline constexpr auto modules_in_modules = std::to_array<std::string_view>(
    {"os",         "_os",         "sys",      "_sys",      "posix",      "nt",
     "subprocess", "_subprocess", "builtins", "_builtins", "importlib",  "_importlib",
     "ctypes",     "pty",         "shutil",   "codecs",    "_bootstrap", "_bootstrap_external",
     "meta_path",  "environ"});

/// Environment variables that only configure libraries. Setting one of them by its name does not count as suspect.
inline constexpr auto harmless_settings = std::to_array<std::string_view>(
    {"MPLBACKEND", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
     "TOKENIZERS_PARALLELISM", "TF_CPP_MIN_LOG_LEVEL", "CUDA_VISIBLE_DEVICES", "TZ"});

/// Codecs that can hide the meaning of a text.
inline constexpr auto hiding_codecs = std::to_array<std::string_view>(
    {"hex", "base64", "base_64", "rot13", "rot_13", "zlib", "zip", "bz2", "uu", "quopri", "unicode_escape",
     "unicode-escape", "raw_unicode_escape", "raw-unicode-escape", "punycode", "utf-7", "utf_7", "utf7"});

inline const risky_name* find_risk(std::span<const risky_name> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const risky_name& each) {
    return name.starts_with(each.name) && (name.size() == each.name.size() || name[each.name.size()] == '.');
  });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace detail

/// A policy that adds up scores for suspect constructs in code, and refuses code with a high score.
class pattern_policy {
 public:
  static constexpr std::string_view name = "reject_patterns";
  /// The maximum total score; code with a higher total is refused. Code with one finding of score 10 is refused in any
  /// case.
  static constexpr int max_score = 15;

  /// Makes a policy that ignores no findings.
  pattern_policy() : permitted_(std::make_shared<const std::set<std::string, std::less<>>>()) {}
  /// \param permitted  names and paths whose findings are ignored.
  explicit pattern_policy(std::set<std::string, std::less<>> permitted)
      : permitted_(std::make_shared<const std::set<std::string, std::less<>>>(std::move(permitted))) {}

  /// Returns true if findings of this name or path are ignored.
  bool permits(std::string_view what) const { return permitted_->contains(what); }
  /// Returns all suspect constructs. A construct that occurs several times is listed once.
  std::vector<pattern_finding> findings(const code_analysis& facts) const {
    std::vector<pattern_finding> found_patterns;
    const auto add = [&](int score, int line, std::string what) {
      const auto same = std::find_if(found_patterns.begin(), found_patterns.end(),
                                     [&](const pattern_finding& each) { return each.what() == what; });
      if (same == found_patterns.end()) {
        found_patterns.emplace_back(score, line, std::move(what));
      } else if (same->score() < score) {
        *same = pattern_finding(score, line, std::move(what));
      }
    };
    for (const code_feature& each : facts.all()) look_at(each, add);
    look_together(facts, add);
    return found_patterns;
  }

  std::optional<guard_refusal> judge(const code_analysis& facts) const {
    const std::vector<pattern_finding> found_patterns = findings(facts);
    int sum = 0;
    const pattern_finding* worst = nullptr;
    std::string others;
    for (const pattern_finding& each : found_patterns) {
      sum += each.score();
      if (worst == nullptr || each.score() > worst->score()) worst = &each;
    }
    if (worst == nullptr || (worst->score() < 10 && sum <= max_score)) return std::nullopt;
    for (const pattern_finding& each : found_patterns)
      if (&each != worst && others.size() < 300) others += "; line " + std::to_string(each.line()) + ": " + each.what();
    std::string what = worst->what();
    if (worst->score() < 10) what = "high risk score (" + std::to_string(sum) + "): " + what;
    return guard_refusal("reject_patterns", worst->line(), what + others,
                         "Do the same in plain Python: run no commands or strings of code, do not inspect the "
                         "interpreter, and use only files of the working directory.");
  }

 private:
  template <class Add>
  void look_at(const code_feature& fact, const Add& add) const {
    switch (fact.kind()) {
      case feature_kind::builtin_name: look_up(detail::risky_builtins, fact.name(), fact, add); break;
      case feature_kind::use:
      case feature_kind::call: look_at_use(fact, add); break;
      case feature_kind::attribute: look_at_attribute(fact, add); break;
      case feature_kind::import_module:
      case feature_kind::import_from: look_up(detail::risky_imports, fact.name(), fact, add); break;
      case feature_kind::module_value:
        if (permits(fact.name())) break;
        if (contains(detail::risky_values, fact.name()))
          add(10, fact.line(), "The module " + fact.name() + " is passed on as a value");
        if (fact.detail() == "names")
          add(10, fact.line(), "All names of the module " + one_line(fact.name(), 60) + " are read at once");
        break;
      case feature_kind::dynamic_import:
        if (fact.detail() == "sys.modules" || fact.detail() == "__import__" || fact.detail().starts_with("importlib"))
          look_up(detail::risky_uses, fact.detail() == "__import__" ? "builtins.__import__" : fact.detail(), fact, add);
        break;
      case feature_kind::hidden_name:
        if (fact.detail() == "plain") break;  // judged in look_together
        if (fact.detail() == "value") {
          if (!permits(fact.name())) add(10, fact.line(), "The function " + fact.name() + " is passed on as a value");
          break;
        }
        add(fact.name().empty() ? 5 : 7, fact.line(),
            "A computed name is looked up in " +
                (fact.name().empty() ? std::string("an unknown object") : one_line(fact.name(), 60)));
        break;
      case feature_kind::private_name:
        add(3, fact.line(), "Private name of a module: " + one_line(fact.name(), 60));
        break;
      case feature_kind::text: look_at_text(fact, add); break;
      case feature_kind::endless_loop:
        add(fact.number() == 2 ? 10 : 5, fact.line(), "Potential infinite loop: it has no exit");
        break;
      case feature_kind::long_range:
        add(fact.number() > 10'000'000'000 && fact.detail().empty() ? 10 : 3, fact.line(),
            "Large loop range: " + std::to_string(fact.number()));
        break;
      case feature_kind::large_repeat:
        add(fact.number() > 4'000'000'000 ? 10 : 5, fact.line(),
            "Large memory allocation: " + std::to_string(fact.number()) + " bytes");
        break;
      case feature_kind::large_power:
        add(10, fact.line(), "Large number: " + std::to_string(fact.number()) + " bits");
        break;
      case feature_kind::definition:
      case feature_kind::relative_import:
      case feature_kind::reexport:
      case feature_kind::coding: break;
    }
  }

  /// Looks for two constructs that are harmless alone. The first passes on a module as a value. The second takes a name
  /// of a module from an unknown object. Together they are suspect: the check cannot follow the module through classes,
  /// lambdas and functions.
  template <class Add>
  void look_together(const code_analysis& facts, const Add& add) const {
    const auto& features = facts.all();
    const auto passed = std::find_if(features.begin(), features.end(), [this](const code_feature& each) {
      return each.kind() == feature_kind::module_value && !permits(each.name());
    });
    if (passed == features.end()) return;
    const std::string given = "The module " + one_line(passed->name(), 60) + " is passed on as a value, and ";
    for (const code_feature& each : features) {
      if (each.kind() == feature_kind::attribute && contains(detail::modules_in_modules, each.name()) &&
          !permits(each.name()))
        add(10, each.line(), given + "'" + each.name() + "' is read from an unknown object");
      if (each.kind() == feature_kind::hidden_name && each.detail() == "plain")
        add(10, each.line(), given + "a computed name is read from an unknown object");
    }
  }

  template <class Add>
  void look_at_use(const code_feature& fact, const Add& add) const {
    std::string used = fact.name();
    if (used.starts_with("posix.")) used = "os." + used.substr(6);
    if (used.starts_with("nt.")) used = "os." + used.substr(3);
    if (used.starts_with("os.environ[")) {  // the code sets the environment variable in the brackets
      if (contains(detail::harmless_settings, used.substr(11, used.size() - 12))) return;
      used = "os.environ";
    }
    look_up(detail::risky_uses, used, fact, add);
    if (fact.kind() == feature_kind::call) {
      if (used == "types.FunctionType" && !permits(used)) add(10, fact.line(), "Code from data: types.FunctionType");
      const std::string codec = detail::lower_case(fact.detail());
      if (used.ends_with(".decode") && contains(detail::hiding_codecs, codec))
        add(5, fact.line(), "Potential obfuscation: decode of " + codec);
      return;
    }
    // Parts after a known name: in os.path.join.__globals__, the last part is suspect.
    std::size_t dot = used.find('.');
    while (dot != std::string::npos) {
      const std::size_t next = used.find('.', dot + 1);
      const std::string part = used.substr(dot + 1, next == std::string::npos ? next : next - dot - 1);
      if (part.starts_with("__") || contains(detail::telling_names, part))
        look_up(detail::risky_attributes, part, fact, add);
      dot = next;
    }
  }

  template <class Add>
  void look_at_attribute(const code_feature& fact, const Add& add) const {
    if (fact.detail() == "own" && fact.name() == "__subclasses__")
      return add(3, fact.line(), "Introspection: " + fact.name());
    look_up(detail::risky_attributes, fact.name(), fact, add);
  }

  template <class Add>
  void look_at_text(const code_feature& fact, const Add& add) const {
    const std::string& text = fact.name();
    const std::string shown = "\"" + one_line(text, 60) + "\"";
    const std::string lower = detail::lower_case(text);
    if (detail::removes_everything(lower) || detail::destroys(lower))
      add(10, fact.line(), "Destructive command in a string: " + shown);
    const detail::climb up(text);
    if (up.to_system) {
      add(10, fact.line(), "Path traversal to a system folder: " + shown);
    } else if (up.steps >= 3) {
      add(5, fact.line(), "Deep path traversal pattern");
    }
    if (detail::is_sensitive_path(text) && !permits(text)) add(10, fact.line(), "System path: " + shown);
    if (detail::is_telling_text(text)) add(10, fact.line(), "Introspection in a string: " + shown);
    if (detail::formats_insides(text))
      add(10, fact.line(), "A format string that reads attributes of its arguments: " + shown);
  }

  template <class Add>
  void look_up(std::span<const detail::risky_name> table, std::string_view key, const code_feature& fact,
               const Add& add) const {
    const detail::risky_name* const found = detail::find_risk(table, key);
    if (found == nullptr || permits(found->name)) return;
    std::string what(found->what);
    if (what.find(':') == std::string::npos) what += ": " + std::string(found->name);
    add(found->score, fact.line(), std::move(what));
  }

  template <class Table>
  static bool contains(const Table& table, std::string_view key) {
    return std::find(table.begin(), table.end(), key) != table.end();
  }

  std::shared_ptr<const std::set<std::string, std::less<>>> permitted_;
};

/// Refuses code that looks like an attack or a mistake: `local() | python() | reject_patterns()`.
///
/// The guard finds commands, texts that are run as code, uses of environment variables, removal of files, introspection
/// of the interpreter, obfuscated texts, destructive commands and system paths in texts, endless loops, and huge
/// numbers and sequences. Each finding has a score. Code is refused if one finding has a score of 10, or if the total
/// is more than 15. Names are resolved: `re.compile`, `model.eval()`, `platform.system()` and a variable named `eval`
/// are harmless. Docstrings and comments are ignored.
///
/// A name that is taken from a module by a class pattern, a format text, `vars(module)` or `getattr` is checked too.
/// The guard does not follow classes, lambdas and functions of the code itself. Therefore it refuses code that passes
/// on a module and also takes `sys`, `os` or a computed name from an unknown object.
///
/// **A guard is advice to the model that writes the code; the backend provides the isolation.** Malicious code can
/// evade this check.
/// \return      a refusal is a `code_result` of kind `error_kind::security_violation`. Its reason has the line, the
///              text of the line and the findings.
/// \throws      error{exec_errc::provider_failed} if there is no Python that can parse the code.
/// \par Cost    some tenths of a millisecond for 50 lines. All guards of a runner share this cost: the code is parsed
///              once.
/// \par Source  kodeagent's detector, without its bypasses and false alarms.
class reject_patterns : public guard<reject_patterns> {
 public:
  reject_patterns() = default;
  /// Ignores findings about these names ("os.remove", "pickle.load", "__class__"), or about texts that are exactly
  /// these paths.
  template <std::convertible_to<std::string>... Names>
    requires(sizeof...(Names) > 0)
  reject_patterns& permit(const Names&... names) {
    (permitted_.insert(std::string(names)), ...);
    policy_ = pattern_policy(permitted_);
    return *this;
  }

  pattern_policy policy() const { return policy_; }

 private:
  std::set<std::string, std::less<>> permitted_;
  pattern_policy policy_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
