// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/shell_words.hpp>
#include <cofferdam/middleware/detail/code_programs.hpp>
#include <cofferdam/middleware/detail/command_pattern.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

// A compiled allowlist. An `allow_commands` object, its copies and all environments share one such object, which is not
// changed while it is shared.
class command_policy {
 public:
  explicit command_policy(std::vector<std::string> patterns) {
    patterns_.reserve(patterns.size());
    for (std::string& pattern : patterns) patterns_.emplace_back(std::move(pattern));
  }

  void match_prefixes() noexcept { as_prefix_ = true; }
  void allow_variable(std::string name) { allowed_variables_.push_back(std::move(name)); }

  // Checks a command against the allowlist. If no pattern admits the command, returns the refusal and leaves the
  // command unchanged. Otherwise replaces a shell line by the program and the arguments that bash would run, which need
  // no shell, and returns no value.
  std::optional<command_result> admit(command& c) const {
    std::vector<std::string> split;
    if (c.is_shell()) {
      parsed_words parsed = split_shell_words(c.line());
      if (!parsed.ok()) return refuse_line(c.line(), parsed);
      split = std::move(parsed).words();
    }
    const std::vector<std::string>& words = c.is_shell() ? split : c.words();
    const std::string canonical = join_shell_words(words);
    if (words.empty() || words.front().empty())
      return refuse(canonical, "it is empty", advice_for(shell_refusal::empty_command));
    if (canonical.find('\0') != std::string::npos)
      return refuse(canonical, "it contains a NUL byte", advice_for(shell_refusal::unsafe_text));
    switch (match_any(canonical)) {
      case match_state::complete: break;
      case match_state::too_costly:
        return refuse(canonical, "it takes too many steps to match against the allowlist",
                      "Use a shorter or simpler command.");
      default: return refuse(canonical, "no pattern of the allowlist matches it", no_match_advice(canonical));
    }
    for (const command::variable_setting& setting : c.variables()) {
      if (is_code_variable(setting.name()) && !is_allowed_variable(setting.name()))
        return refuse(canonical, "it sets the variable \"" + one_line(setting.name(), 64) + "\"",
                      "This variable can make a program run other code. Run the command without it.");
    }
    if (c.is_shell()) c.become_argv(std::move(split));
    return std::nullopt;
  }

  std::vector<std::string> lint() const {
    std::vector<std::string> warnings;
    std::vector<std::string_view> named;
    const std::vector<code_program> programs = code_programs();
    for (const command_pattern& pattern : patterns_) {
      const std::string shown = "The pattern \"" + one_line(pattern.source()) + "\"";
      if (admits_anything(pattern)) {
        warnings.push_back(shown + " admits every program: arbitrary code.");
        continue;
      }
      const std::string head = literal_head(pattern.source());
      if (!head.empty() && (admits(pattern, head + "zq") || admits(pattern, head + "zq x")))
        warnings.push_back(shown + " also admits other programs whose names begin with \"" + one_line(head) + "\"; \"" +
                           one_line(head) + "( .*)?\" admits only this program.");
      for (const code_program& program : programs) {
        if (std::find(named.begin(), named.end(), program.name()) != named.end() || !admits(pattern, program)) continue;
        named.push_back(program.name());
        warnings.push_back(shown + " admits " + std::string(program.name()) +
                           ", which can run any program that its arguments or files name: arbitrary code.");
      }
    }
    return warnings;
  }

  // The maximum number of matching steps for one command. In the slowest measured case, this many steps took 12 ms.
  // Matching `.*` against the longest line takes two thirds of them.
  static constexpr std::size_t max_steps = 1'000'000;

 private:
  match_state match_any(std::string_view canonical) const {
    std::size_t steps = max_steps;
    for (const command_pattern& pattern : patterns_) {
      const match_state state = pattern.match(canonical, as_prefix_, steps);
      if (state != match_state::none) return state;
    }
    return match_state::none;
  }

  bool is_allowed_variable(const std::string& name) const {
    return std::find(allowed_variables_.begin(), allowed_variables_.end(), name) != allowed_variables_.end();
  }

  // ---- refusals ----
  static command_result refuse(std::string_view text, const std::string& why, std::string advice) {
    return command_result::refused(error_kind::command_not_allowed,
                                   "Command not allowed: \"" + one_line(text) + "\": " + why, std::move(advice));
  }

  static command_result refuse_line(const std::string& line, const parsed_words& parsed) {
    std::string why(parsed.construct());
    if (parsed.reason() != shell_refusal::empty_command && parsed.reason() != shell_refusal::too_long)
      why += " at byte " + std::to_string(parsed.position());
    return refuse(line, why, advice_for(parsed.reason()));
  }

  static std::string advice_for(shell_refusal reason) {
    switch (reason) {
      case shell_refusal::empty_command: return "The command is empty. Name a program and its arguments.";
      case shell_refusal::shell_syntax:
        return "Allowed commands run without a shell, so ;, &&, |, redirection, $(...), backticks, wildcards and a "
               "second line do not work. Run one command with literal arguments, and quote an argument that is itself "
               "such a character (e.g. -exec ... ';').";
      case shell_refusal::shell_assignment:
        return "An assignment such as NAME=value before the program is not supported. Run the command without it.";
      case shell_refusal::unsafe_text:
        return "Write the command as plain UTF-8 text, without NUL bytes and characters that change the direction of "
               "text.";
      case shell_refusal::too_long:
        return "Write long text to a file first, and run a short command that uses the file.";
      case shell_refusal::none: break;
    }
    return {};
  }

  /// Returns advice that lists the patterns. They are not secret: without the list, a model would try one command after
  /// another.
  std::string no_match_advice(std::string_view canonical) const {
    std::string advice =
        "The command matches no pattern of the allowlist. Patterns match the parsed command, so other quoting makes no "
        "difference.";
    constexpr std::size_t max_shown = 600;
    std::string shown;
    for (const command_pattern& each : patterns_) {
      // The pattern is shown as its author wrote it, except control characters, which would break the line.
      std::string pattern_text = shown.empty() ? "" : " , ";
      for (const char c : each.source()) pattern_text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
      if (shown.size() + pattern_text.size() > max_shown) {
        shown += " , and more";
        break;
      }
      shown += pattern_text;
    }
    const char* const how = as_prefix_ ? "matches at their beginning" : "matches as a whole";
    if (!patterns_.empty())
      advice += std::string(" Allowed are commands that one of these regular expressions ") + how + ": " + shown;
    if (canonical.find('\n') == std::string_view::npos) return advice + longer_command_advice(canonical);
    advice += " An argument contains a line break, which most patterns do not admit: put such text into a file.";
    for (const command_pattern& each : patterns_) {
      std::size_t steps = max_steps;
      if (each.match_across_lines(canonical, as_prefix_, steps) != match_state::complete) continue;
      advice += " (For the author of the allowlist: \".\" matches no line break; \"(?s)" + one_line(each.source()) +
                "\" would admit this command.)";
      break;
    }
    return advice;
  }

  // If a pattern matches only the start of the command, up to a blank, returns advice that shows a pattern for the
  // whole command. Otherwise returns an empty text.
  std::string longer_command_advice(std::string_view canonical) const {
    for (const command_pattern& each : patterns_) {
      const std::optional<command_pattern> longer = with_arguments(each.source());
      std::size_t steps = max_steps;
      if (!longer || longer->match(canonical, as_prefix_, steps) != match_state::complete) continue;
      return " (For the author of the allowlist: a pattern must match the whole command. \"" + one_line(each.source()) +
             "\" matches only its start; \"" + one_line(longer->source()) + "\" also allows arguments.)";
    }
    return {};
  }

  // Returns the pattern that also admits arguments after what `source` matches. Returns no value if there is no such
  // pattern: a comment, which `(?x)` allows, may reach to the end of `source`.
  static std::optional<command_pattern> with_arguments(const std::string& source) {
    const bool needs_group = source.find('|') != std::string::npos || source.find("(?") != std::string::npos;
    try {
      return command_pattern((needs_group ? "(?:" + source + ")" : source) + "( .*)?");
    } catch (const error&) {
      return std::nullopt;
    }
  }

  // ---- lint ----
  match_state probe(const command_pattern& pattern, const std::string& text) const {
    std::size_t steps = 20'000;
    return pattern.match(text, as_prefix_, steps, true);
  }
  bool admits(const command_pattern& pattern, const std::string& text) const {
    return probe(pattern, text) == match_state::complete;
  }
  // Returns true if the pattern admits the text or a longer text that begins with it.
  bool could_admit(const command_pattern& pattern, const std::string& text) const {
    const match_state state = probe(pattern, text);
    return state == match_state::complete || state == match_state::open;
  }

  bool admits_anything(const command_pattern& pattern) const {
    for (const std::string name :
         {"zq-no-such-program", "zqnosuchprogram", "/zq/zqnosuchprogram", "./zqnosuchprogram"}) {
      if (admits(pattern, name) || admits(pattern, name + " x")) return true;
    }
    return false;
  }

  bool admits(const command_pattern& pattern, const code_program& program) const {
    for (const std::string_view folder : {"", "/usr/bin/", "/bin/", "/usr/local/bin/", "./"}) {
      for (const std::string_view name : program.names()) {
        const std::string start = std::string(folder) + std::string(name);
        if (!could_admit(pattern, start)) continue;
        if (program.tails().empty() ? admits_use(pattern, start) : admits_tail(pattern, start, program.tails()))
          return true;
      }
    }
    return false;
  }

  // Returns true if the pattern admits a use of the program other than printing its version or its help.
  bool admits_use(const command_pattern& pattern, const std::string& start) const {
    if (admits(pattern, start) || admits(pattern, start + " -")) return true;
    if (!could_admit(pattern, start + " ")) return false;
    for (char c = '!'; c <= '~'; ++c) {
      if (c != '-' && could_admit(pattern, start + " " + c)) return true;
      const bool harmless = c == '-' || c == 'h' || c == 'v' || c == 'V';
      if (!harmless && (could_admit(pattern, start + " -" + c) || could_admit(pattern, start + " --" + c))) return true;
    }
    return false;
  }

  // Returns true if the pattern admits a command that contains one of the tails after the program name. A tail is a
  // text such as " -exec id" with which the program runs other code. To find such a command, the function appends the
  // characters of the pattern itself one by one, keeps each character that the pattern accepts, and tries the tails
  // after each.
  bool admits_tail(const command_pattern& pattern, std::string text, std::span<const std::string_view> tails) const {
    const auto has_room = [&] {
      return std::any_of(tails.begin(), tails.end(), [&](std::string_view tail) {
        return could_admit(pattern, text + std::string(tail)) ||
               (text.ends_with(' ') && could_admit(pattern, text + std::string(tail.substr(1))));
      });
    };
    if (has_room()) return true;
    bool escaped = false;
    for (const char c : pattern.source()) {
      const std::string_view samples = escaped && (c == 'd' || c == 'w' || c == 's' || c == 'S') ? "0a " : "";
      escaped = c == '\\' && !escaped;
      for (const char next : std::string(1, c) + std::string(samples)) {
        if (!could_admit(pattern, text + next)) continue;
        text.push_back(next);
        if (has_room()) return true;
        break;
      }
    }
    return false;
  }

  // Returns the start of a pattern up to its first special character, which `lint` takes for the name of the intended
  // program. Returns an empty text if a blank follows there, so that the name is complete, or if the pattern has
  // alternatives outside of groups.
  static std::string literal_head(std::string_view source) {
    const std::size_t end = source.find_first_of("\\^$.|?*+()[]{} ");
    if (end == 0 || (end != std::string_view::npos && source[end] == ' ')) return {};
    if (source.find('|') != std::string_view::npos && source.find('(') == std::string_view::npos) return {};
    return std::string(source.substr(0, end));
  }

  std::vector<command_pattern> patterns_;
  std::vector<std::string> allowed_variables_;
  bool as_prefix_ = false;
};

}  // namespace detail

/// The environment type that `provider | allow_commands(...)` opens.
template <code_exec_environment Inner>
class allow_commands_layer : public layer<allow_commands_layer<Inner>, Inner> {
 public:
  /// Makes a layer without an environment. Operations throw `error{exec_errc::environment_closed}`.
  allow_commands_layer()
    requires std::default_initializable<Inner>
  = default;
  allow_commands_layer(Inner inner, std::shared_ptr<const detail::command_policy> policy)
      : layer<allow_commands_layer<Inner>, Inner>(std::move(inner)), policy_(std::move(policy)) {}

  std::optional<command_result> admit(command& c) {
    if (!policy_)
      throw error(exec_errc::environment_closed,
                  "allow_commands: not open (default-constructed or moved from); call open() on the provider first");
    return policy_->admit(c);
  }

 private:
  std::shared_ptr<const detail::command_policy> policy_;
};

/// Allows only commands that match one of the patterns, and runs them without a shell:
/// `provider | allow_commands("ls( .*)?", "grep .*", "git status")`.
///
/// A shell line is first split into its words: the program and the arguments that bash would run. A line with any other
/// shell syntax is refused. The patterns are matched against the canonical text of the words: one space between words,
/// and quotes only where they are needed. So different quoting makes no difference. Commands made by `argv` are matched
/// in the same form. An admitted shell line is replaced by its words and keeps its other settings.
///
/// A pattern must match the **whole** text, unless `prefix_match` is called. It is matched byte by byte. `.` does not
/// match a line break: `allow_commands("python3.*")` refuses a `python3 -c` command of several lines, and
/// `allow_commands("(?s)python3.*")` admits it. Without patterns, every command is refused.
///
/// An allowed program can run any code: `python3 .*` admits every Python program, and `find .*` admits `-exec`. `lint`
/// warns about such patterns. A pattern without a slash admits no path: `ls` does not admit `./ls`. File operations of
/// the environment are not commands and are not checked.
///
/// Some environment variables make programs run other code, such as `LD_PRELOAD`, `PYTHONPATH`, `GIT_*`, `PAGER` and
/// `PATH`. A command that sets such a variable is refused, unless `allow_variables` names the variable.
///
/// \param  patterns   regular expressions in Boost.Regex's Perl syntax and the "C" locale. A named group is written
///                    `(?<name>...)`; Python's `(?P<name>...)` is refused.
/// \return            for a refused command, a result of kind `error_kind::command_not_allowed`. `reason()` contains
///                    the escaped command and `advice()` a remedy. A command that takes too many steps to match is
///                    refused too.
/// \throws            `error{exec_errc::invalid_argument}` from the constructor; the message contains the invalid
///                    pattern.
/// \par Lifetime      the patterns are compiled once; copies and environments share them.
/// \par Threads       the allowlist does not change after it was attached, so threads may share it.
/// \par Cost          linear in the length of the command for simple patterns, and at most a million steps (about 12
///                    ms) for any pattern. No coroutine frame.
/// \par Source        Stirrup's `allowed_commands`, which anchors patterns only at their start.
/// \par Example       examples/quickstart.cpp
class allow_commands : public pipeable {
 public:
  /// Compiles the patterns.
  /// \throws error{exec_errc::invalid_argument} if a pattern is not a valid regular expression.
  template <std::convertible_to<std::string>... Patterns>
  explicit allow_commands(Patterns&&... patterns) : allow_commands(list_of(std::forward<Patterns>(patterns)...)) {}

  explicit allow_commands(std::vector<std::string> patterns)
      : policy_(std::make_shared<const detail::command_policy>(std::move(patterns))) {}

  /// Makes a pattern match if it matches the start of the command. `ls` then admits `ls -l`, but also `lsblk`.
  allow_commands& prefix_match() {
    change().match_prefixes();
    return *this;
  }

  /// Allows commands to set these environment variables, even if they can make programs run other code.
  template <std::convertible_to<std::string>... Names>
    requires(sizeof...(Names) > 0)
  allow_commands& allow_variables(Names&&... names) {
    detail::command_policy& policy = change();
    (policy.allow_variable(std::string(std::forward<Names>(names))), ...);
    return *this;
  }

  /// Returns a warning for each likely mistake in the patterns. One kind of warning names an admitted interpreter,
  /// compiler, shell or launcher, which can run any code. The other kind names a pattern that also admits programs
  /// whose names only begin with the intended name. An empty list does not prove that the allowlist is safe.
  std::vector<std::string> lint() const { return policy_->lint(); }

  template <code_exec_environment Inner>
  allow_commands_layer<Inner> attach(Inner inner) const {
    return allow_commands_layer<Inner>(std::move(inner), policy_);
  }

 private:
  template <class... Patterns>
  static std::vector<std::string> list_of(Patterns&&... patterns) {
    std::vector<std::string> list;
    list.reserve(sizeof...(Patterns));
    (list.emplace_back(std::forward<Patterns>(patterns)), ...);
    return list;
  }

  // Replaces the policy by a copy before a change, because other objects may share it.
  detail::command_policy& change() {
    auto changed = std::make_shared<detail::command_policy>(*policy_);
    policy_ = changed;
    return *changed;
  }

  std::shared_ptr<const detail::command_policy> policy_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
