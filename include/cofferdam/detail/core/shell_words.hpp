// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/core/utf8.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The reason why a shell line is not one simple command with literal words.
enum class shell_refusal {
  none,              ///< the line is one simple command with literal words
  empty_command,     ///< the line has no words, or the program's name is empty
  shell_syntax,      ///< the line has an operator or an expansion of the shell, or an unfinished quote
  shell_assignment,  ///< the first word contains `=`, as in `NAME=value program`
  unsafe_text,       ///< the line has NUL, invalid UTF-8 or direction controls, which make a text look like another one
  too_long,          ///< the line has more than 64 KiB or more than 4096 words
};

/// Returns the name of a reason.
inline std::string_view to_string(shell_refusal reason) noexcept {
  switch (reason) {
    case shell_refusal::none: return "none";
    case shell_refusal::empty_command: return "empty_command";
    case shell_refusal::shell_syntax: return "shell_syntax";
    case shell_refusal::shell_assignment: return "shell_assignment";
    case shell_refusal::unsafe_text: return "unsafe_text";
    case shell_refusal::too_long: return "too_long";
  }
  return "unknown";
}

/// The result of `split_shell_words`: the words, or the reason of a refusal.
class parsed_words {
 public:
  /// Makes the result for an accepted line.
  static parsed_words accepted(std::vector<std::string> words) {
    parsed_words result;
    result.reason_ = shell_refusal::none;
    result.words_ = std::move(words);
    return result;
  }

  /// Makes the result for a refused line.
  /// \param reason     the reason; not `none`.
  /// \param position   the byte offset of the refused construct in the line.
  /// \param construct  the name of the construct, as a string literal: "';'", "a tilde the shell expands".
  static parsed_words refused(shell_refusal reason, std::size_t position, std::string_view construct) {
    parsed_words result;
    result.reason_ = reason;
    result.position_ = position;
    result.construct_ = construct;
    return result;
  }

  bool ok() const noexcept { return reason_ == shell_refusal::none; }
  /// Returns the program and its arguments, in the form that `execve` takes; empty if `ok()` is false.
  const std::vector<std::string>& words() const& noexcept { return words_; }
  std::vector<std::string> words() && { return std::move(words_); }

  shell_refusal reason() const noexcept { return reason_; }
  /// Returns the byte offset of the refused construct; 0 if `ok()` is true.
  std::size_t position() const noexcept { return position_; }
  /// Returns the name of the refused construct, as static ASCII text; empty if `ok()` is true.
  std::string_view construct() const noexcept { return construct_; }

 private:
  parsed_words() = default;

  std::vector<std::string> words_;
  shell_refusal reason_ = shell_refusal::none;
  std::size_t position_ = 0;
  std::string_view construct_;
};

/// The maximum length of a line for `split_shell_words`, in bytes.
inline constexpr std::size_t max_shell_line = 64 * 1024;
/// The maximum number of words for `split_shell_words`.
inline constexpr std::size_t max_shell_words = 4096;

// Returns true for a character that changes the direction of the text around it, so that the displayed command differs
// from the command that runs.
constexpr bool is_bidi_control(char32_t c) noexcept {
  return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// Returns true for a character that is invisible or looks like a blank or a line break, except the blanks of the shell
// itself.
constexpr bool is_invisible(char32_t c) noexcept {
  return (c >= 0x80 && c <= 0xA0) || c == 0xAD || c == 0x115F || c == 0x1160 || c == 0x1680 || c == 0x180E ||
         (c >= 0x2000 && c <= 0x200D) || c == 0x2028 || c == 0x2029 || c == 0x202F || (c >= 0x205F && c <= 0x2064) ||
         (c >= 0x206A && c <= 0x206F) || c == 0x2800 || c == 0x3000 || c == 0x3164 || c == 0xFEFF || c == 0xFFA0 ||
         (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
}

// Returns true for a character that looks like an operator or a quote: the full-width forms of ; | & < > ( ) $ ` \ " '
// and the Greek question mark.
constexpr bool is_operator_look_alike(char32_t c) noexcept {
  switch (c) {
    case 0x037E:
    case 0xFF02:
    case 0xFF04:
    case 0xFF06:
    case 0xFF07:
    case 0xFF08:
    case 0xFF09:
    case 0xFF1B:
    case 0xFF1C:
    case 0xFF1E:
    case 0xFF3C:
    case 0xFF40:
    case 0xFF5C: return true;
    default: return false;
  }
}

// Returns true for a word that bash treats specially as the first word: a word of its grammar, or a builtin whose
// arguments it parses by other rules.
inline bool is_shell_keyword(std::string_view word) noexcept {
  static constexpr std::string_view names[] = {
      "!",    "[[",   "]]",    "{",        "}",      "alias",  "case", "coproc",  "declare",  "do",
      "done", "elif", "else",  "esac",     "eval",   "export", "fi",   "for",     "function", "if",
      "in",   "let",  "local", "readonly", "select", "then",   "time", "typeset", "until",    "while"};
  for (const std::string_view name : names) {
    if (word == name) return true;
  }
  return false;
}

// A parser that reads one line once, with one character of lookahead.
class shell_word_splitter {
 public:
  explicit shell_word_splitter(std::string_view line) : line_(line) {}

  parsed_words split() {
    if (line_.size() > max_shell_line)
      return parsed_words::refused(shell_refusal::too_long, max_shell_line, "a line of more than 64 KiB");
    while (!failure_ && at_ < line_.size()) read_unquoted();
    if (!failure_) finish_word();
    if (failure_) return std::move(*failure_);
    if (words_.empty()) return parsed_words::refused(shell_refusal::empty_command, 0, "a line without words");
    return parsed_words::accepted(std::move(words_));
  }

 private:
  void refuse(shell_refusal reason, std::size_t position, std::string_view construct) {
    if (!failure_) failure_ = parsed_words::refused(reason, position, construct);
  }
  void refuse_syntax(std::string_view construct) { refuse(shell_refusal::shell_syntax, at_, construct); }

  bool at_end(std::size_t ahead) const noexcept { return at_ + ahead >= line_.size(); }
  char peek(std::size_t ahead) const noexcept { return line_[at_ + ahead]; }

  void begin_word() {
    if (in_word_) return;
    in_word_ = true;
    word_start_ = at_;
  }

  // Adds a quoted character to the word.
  void take_quoted(char c) {
    word_.push_back(c);
    follows_dot_ = false;
    ++at_;
  }

  // Adds an unquoted character to the word.
  void take_plain(char c) {
    begin_word();
    if (c == ',' || (c == '.' && follows_dot_)) has_brace_separator_ = true;
    follows_dot_ = c == '.';
    word_.push_back(c);
    ++at_;
  }

  void read_unquoted() {
    const char c = peek(0);
    switch (c) {
      case ' ':
      case '\t':
        finish_word();
        ++at_;
        return;
      case '\\': return read_escaped();
      case '\'': return read_single_quoted();
      case '"': return read_double_quoted();
      case ';': return refuse_syntax("';'");
      case '&': return refuse_syntax("'&'");
      case '|': return refuse_syntax("'|'");
      case '<': return refuse_syntax("'<'");
      case '>': return refuse_syntax("'>'");
      case '(': return refuse_syntax("'('");
      case ')': return refuse_syntax("')'");
      case '`': return refuse_syntax("a backtick");
      case '*': return refuse_syntax("'*' (the shell would expand it to file names)");
      case '?': return refuse_syntax("'?' (the shell would expand it to file names)");
      case '[': return refuse_syntax("'[' (the shell would expand it to file names)");
      case '\n': return refuse_syntax("a line break");
      case '$':
        if (at_end(1) || peek(1) == ' ' || peek(1) == '\t') return take_plain(c);  // bash keeps such a '$' unchanged
        return refuse_syntax("'$'");
      case '#':
        if (!in_word_) return refuse_syntax("a comment");
        return take_plain(c);
      case '~':
        if (word_.empty() || word_.back() == '=' || word_.back() == ':')
          return refuse_syntax("'~' (the shell would expand it to a home directory)");
        return take_plain(c);
      case '{':
        if (!has_brace_) brace_ = at_;
        has_brace_ = true;
        return take_plain(c);
      case '!':
        if (words_.empty() && !in_word_) return refuse_syntax("'!'");
        return take_plain(c);
      default: break;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) return refuse_character();
    if (byte < 0x80) return take_plain(c);
    const utf8_unit unit = decode_utf8(line_.substr(at_));
    if (!unit.valid() || is_bidi_control(unit.code_point())) return refuse_character();
    if (is_invisible(unit.code_point()))
      return refuse_syntax("an unquoted character that looks like a blank or is invisible");
    if (is_operator_look_alike(unit.code_point()))
      return refuse_syntax("an unquoted character that looks like an operator");
    for (std::size_t i = 0; i < unit.size(); ++i) take_plain(peek(0));
  }

  // Refuses the current character: a byte below 0x20, DEL, or a character that is never allowed.
  void refuse_character() {
    const auto byte = static_cast<unsigned char>(peek(0));
    if (byte == 0) return refuse(shell_refusal::unsafe_text, at_, "a NUL byte");
    if (byte < 0x20 || byte == 0x7F) return refuse_syntax("an unquoted control character");
    if (decode_utf8(line_.substr(at_)).valid())
      return refuse(shell_refusal::unsafe_text, at_, "a character that changes the direction of text");
    refuse(shell_refusal::unsafe_text, at_, "bytes that are not UTF-8");
  }

  void read_escaped() {
    if (at_end(1)) return refuse_syntax("a backslash at the end");
    const auto next = static_cast<unsigned char>(peek(1));
    if (next == '\n') {  // joins two lines: both characters disappear and do not start a word
      at_ += 2;
      return;
    }
    begin_word();
    ++at_;
    if (next < 0x20 || next == 0x7F) return refuse_character();
    take_quoted_character();
  }

  // Adds one character between quotes or after a backslash to the word.
  void take_quoted_character() {
    const char c = peek(0);
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return refuse_character();
    if (byte == 0x01 || byte == 0x7F)  // bash uses these two internally to mark quoted text, and has had bugs with them
      return refuse_syntax("the control character 0x01 or 0x7F");
    if (byte < 0x80) return take_quoted(c);
    const utf8_unit unit = decode_utf8(line_.substr(at_));
    if (!unit.valid() || is_bidi_control(unit.code_point())) return refuse_character();
    for (std::size_t i = 0; i < unit.size(); ++i) take_quoted(peek(0));
  }

  void read_single_quoted() {
    begin_word();
    const std::size_t open = at_++;
    follows_dot_ = false;
    while (!at_end(0) && peek(0) != '\'') {
      take_quoted_character();
      if (failure_) return;
    }
    if (at_end(0)) return refuse(shell_refusal::shell_syntax, open, "a single quote without a closing quote");
    ++at_;
  }

  void read_double_quoted() {
    begin_word();
    const std::size_t open = at_++;
    follows_dot_ = false;
    while (!at_end(0) && peek(0) != '"') {
      const char c = peek(0);
      if (c == '`') return refuse_syntax("a backtick inside double quotes");
      if (c == '$' && !is_literal_dollar()) return refuse_syntax("'$' inside double quotes");
      if (c == '\\' && !at_end(1)) {
        const char next = peek(1);
        if (next == '\n') {
          at_ += 2;
          continue;
        }
        if (next == '$' || next == '`' || next == '"' || next == '\\') {
          ++at_;
          take_quoted(next);
          continue;
        }
      }
      take_quoted_character();
      if (failure_) return;
    }
    if (at_end(0)) return refuse(shell_refusal::shell_syntax, open, "a double quote without a closing quote");
    ++at_;
  }

  // Returns true if bash keeps the '$' at this position, inside double quotes, unchanged. It does so only before the
  // characters below. Regular expressions such as "end$" need this case.
  bool is_literal_dollar() const noexcept {
    return !at_end(1) && std::string_view("\" |)/,").find(peek(1)) != std::string_view::npos;
  }

  void finish_word() {
    if (!in_word_ || failure_) return;
    if (has_brace_ && has_brace_separator_)
      return refuse(shell_refusal::shell_syntax, brace_, "'{' (the shell would expand it to several words)");
    if (words_.empty()) check_program();
    if (words_.size() == max_shell_words) refuse(shell_refusal::too_long, word_start_, "more than 4096 words");
    if (failure_) return;
    words_.push_back(std::move(word_));
    word_.clear();
    in_word_ = follows_dot_ = has_brace_ = has_brace_separator_ = false;
  }

  // Refuses certain names of programs, even if they are quoted. join_shell_words() writes most of these names without
  // quotes, and a shell would not read them as the name of a program.
  void check_program() {
    if (word_.empty()) return refuse(shell_refusal::empty_command, word_start_, "a program without a name");
    if (word_.find('=') != std::string::npos)
      return refuse(shell_refusal::shell_assignment, word_start_, "'=' in the name of the program");
    if (is_shell_keyword(word_))
      return refuse(shell_refusal::shell_syntax, word_start_, "a shell keyword or builtin as the program");
    if (word_.front() == '%')
      return refuse(shell_refusal::shell_syntax, word_start_, "'%' (the shell would take it for a job)");
  }

  std::string_view line_;
  std::size_t at_ = 0;
  std::vector<std::string> words_;
  std::optional<parsed_words> failure_;

  std::string word_;
  std::size_t word_start_ = 0;
  std::size_t brace_ = 0;
  bool in_word_ = false;
  bool follows_dot_ = false;          // true if the last character of the word is an unquoted '.'
  bool has_brace_ = false;            // true if the word has an unquoted '{'
  bool has_brace_separator_ = false;  // true if the word has an unquoted ',' or '..'
};

/// Splits a line with one simple command into the words that bash would run. Refuses any other line.
///
/// For every accepted line, the words are exactly the arguments that `bash -c -- line` would pass to the program. This
/// holds whatever files exist, in a UTF-8 locale or the C locale, with the default options of bash. (The environment
/// variable `SHELLOPTS=keyword` is an exception: bash would then take an argument `A=b` for an assignment.)
///
/// So the function refuses everything that a shell interprets: operators, redirections, expansions, globs, braces that
/// produce several words, a `~` that expands, comments, assignments and unfinished quotes. As the first word it also
/// refuses shell keywords and the builtins with their own rules for arguments, even if they are quoted. It also refuses
/// text that misleads a reader: direction controls anywhere, and unquoted control characters, Unicode blanks outside
/// ASCII, and full-width operators.
///
/// ```
/// command ::= [ blank ] word { blank word } [ blank ]
/// blank   ::= ( SPACE | TAB ) { SPACE | TAB }
/// word    ::= part { part }
/// part    ::= plain | '\' character | "'" { not "'" } "'" | '"' { inner } '"'
/// inner   ::= '\' ( '$' | '`' | '"' | '\' ) | '\' | '$' after | other than '$', '`', '"'
/// after   ::= '"' | SPACE | '|' | ')' | '/' | ',' (only looked at: it is not part of `inner`)
/// ```
/// `plain` is a character without a meaning for the shell.
///
/// A backslash before a line break joins the two lines, outside quotes and inside double quotes.
///
/// \param  line  one command, in any bytes; at most 64 KiB, read as UTF-8. The function keeps no reference to it.
/// \return       the words, or the reason of the refusal with the offset and the name of the refused construct.
/// \throws       only `std::bad_alloc`.
/// \par Cost     linear in the length of the line; no recursion.
/// \par Source   POSIX.1-2017 2.2, 2.3, 2.10; bash 5.2 "Shell Grammar", "Quoting", "Expansion".
///               tests/core/shell_words_bash_test.cpp compares the results with bash.
inline parsed_words split_shell_words(std::string_view line) { return detail::shell_word_splitter(line).split(); }

/// Quotes a word for a shell, if necessary. A word of only letters, digits and `_@%+=:,./-` is unchanged. Any other
/// word is put in single quotes; a single quote in it becomes `'"'"'`. Python's `shlex.quote` gives the same result.
/// \param  word  any bytes except NUL.
inline std::string quote_shell_word(std::string_view word) {
  const auto is_safe = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
  };
  bool safe = !word.empty();
  for (const char c : word) safe = safe && is_safe(c);
  if (safe) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'')
      quoted += "'\"'\"'";
    else
      quoted.push_back(c);
  }
  quoted.push_back('\'');
  return quoted;
}

/// Returns the canonical text of a command: each word is quoted by `quote_shell_word`, and one space separates the
/// words. Python's `shlex.join` gives the same text, and `split_shell_words` splits it into the same words.
inline std::string join_shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text.push_back(' ');
    text += quote_shell_word(word);
  }
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
