// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/core/shell_words.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The text of a command for a log, without what looks like a secret. The search takes linear time.

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline constexpr std::string_view hidden_mark = "[redacted]";

inline bool is_name_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}
inline bool is_quote(char c) noexcept { return c == '"' || c == '\''; }

/// Returns true if a variable, an option or a header of this name usually has a secret as its value.
inline bool is_secret_name(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  while (lower.starts_with('-')) lower.erase(0, 1);
  for (const std::string_view part : {"password", "passwd", "passphrase", "secret", "token", "apikey", "api.key",
                                      "accesskey", "credential", "authorization", "cookie", "signature"})
    if (lower.find(part) != std::string::npos) return true;
  for (const std::string_view end : {"key", "pass", "pwd"}) {
    if (!lower.ends_with(end)) continue;
    const std::size_t before = lower.size() - end.size();
    if (before == 0 ? end == "pass" : lower[before - 1] == '_' || lower[before - 1] == '-') return true;
  }
  return lower == "auth";
}

/// Returns true if a word looks like a key or token of a well-known service.
inline bool is_known_token(std::string_view word) noexcept {
  if (word.size() < 20) return false;
  for (const std::string_view start :
       {"sk-",    "pk-",   "ghp_",  "gho_",  "ghu_", "ghs_",      "ghr_",     "github_pat_",
        "glpat-", "xoxb-", "xoxp-", "xapp-", "AKIA", "ASIA",      "AIza",     "ya29.",
        "e2b_",   "hf_",   "npm_",  "pypi-", "eyJ",  "dckr_pat_", "sk_live_", "rk_live_"})
    if (word.starts_with(start)) return true;
  return false;
}

/// Copies a text, with a mark in place of each part that looks like a secret.
class secret_filter {
 public:
  /// Cleans a line for the shell.
  static std::string clean_line(std::string_view line) { return secret_filter(line, false).run(); }
  /// Cleans one argument of a program. If it begins with an assignment to a name of a secret, all the rest is hidden.
  static std::string clean_word(std::string_view word) { return secret_filter(word, true).run(); }

 private:
  secret_filter(std::string_view text, bool is_word) : text_(text), is_word_(is_word) {}

  std::string run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_name_letter(c)) {
        take_name();
      } else if (text_.substr(at_).starts_with("://")) {
        copy(3);
        hide_user();
      } else if (c == '\\') {
        copy(2);
      } else {
        if (quote_ == c) {
          quote_ = '\0';
        } else if (quote_ == '\0' && is_quote(c)) {
          quote_ = c;
        }
        copy(1);
      }
    }
    return std::move(out_);
  }
  void copy(std::size_t count) {
    count = std::min(count, text_.size() - at_);
    out_ += text_.substr(at_, count);
    at_ += count;
  }
  void copy_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) copy(1);
  }
  void hide_until(std::size_t end) {
    end = std::min(end, text_.size());
    if (end > at_) out_ += hidden_mark;
    at_ = std::max(end, at_);
  }

  void take_name() {
    const std::size_t begin = at_;
    std::size_t end = at_;
    while (end < text_.size() && is_name_letter(text_[end])) ++end;
    const std::string_view name = text_.substr(begin, end - begin);
    if (is_known_token(name)) return hide_until(end);
    copy(end - begin);
    if (at_ == text_.size()) return;
    const bool is_blank = text_[at_] == ' ' || text_[at_] == '\t';
    if (is_blank && (name == "Bearer" || name == "bearer" || name == "Basic")) {
      copy_blanks();
      return hide_value(false);
    }
    if (is_blank && (name == "-u" || name == "--user")) {
      copy_blanks();
      return hide_password();
    }
    if (!is_secret_name(name)) return;
    if (is_blank && name.starts_with('-')) {
      copy_blanks();
      return hide_value(false);
    }
    std::size_t sign = at_;  // a name in JSON has a quote behind it, perhaps escaped
    while (sign < text_.size() && sign < at_ + 2 && (text_[sign] == '\\' || is_quote(text_[sign]))) ++sign;
    if (sign == text_.size() || (text_[sign] != '=' && text_[sign] != ':')) return;
    const bool is_header = text_[sign] == ':' && sign == at_;
    copy(sign - at_ + 1);
    if (text_[sign] == ':') copy_blanks();
    if (is_word_ && begin == 0) return hide_until(text_.size());
    hide_value(is_header);
  }

  /// \param is_long  true if a value without quotes ends at the end of the quotation or of the text.
  void hide_value(bool is_long) {
    if (text_.substr(at_).starts_with("\\\"") || text_.substr(at_).starts_with("\\'")) {  // an escaped quote
      copy(2);
      return hide_until(text_.find_first_of("\\\"'", at_));
    }
    if (at_ == text_.size()) return;
    const char first = text_[at_];
    if (is_quote(first) && first != quote_) {
      copy(1);
      std::size_t end = at_;
      while (end < text_.size() && text_[end] != first) end += text_[end] == '\\' && first == '"' ? 2 : 1;
      hide_until(end);
      copy(1);
      return;
    }
    if (quote_ != '\0') return hide_until(text_.find(quote_, at_));
    const std::string_view ends = is_long ? "\"'" : " \t\"'&;|<>()";
    hide_until(text_.find_first_of(ends, at_));
  }

  /// Hides what follows the colon in `user:password`.
  void hide_password() {
    const bool is_quoted = at_ < text_.size() && is_quote(text_[at_]) && text_[at_] != quote_;
    const std::string ends = is_quoted ? std::string(1, text_[at_]) : std::string(" \t\"'");
    const std::size_t begin = is_quoted ? at_ + 1 : at_;
    const std::size_t end = std::min(text_.find_first_of(ends, begin), text_.size());
    const std::size_t colon = text_.substr(begin, end - begin).find(':');
    if (colon == std::string_view::npos) return;
    copy(begin + colon + 1 - at_);
    hide_until(end);
    if (is_quoted) copy(1);
  }

  /// Hides the user and the password of a URL.
  void hide_user() {
    const std::size_t end = std::min(text_.find_first_of("/?# \t\"'", at_), text_.size());
    const std::size_t sign = text_.substr(at_, end - at_).rfind('@');
    if (sign != std::string_view::npos) hide_until(at_ + sign);
  }

  std::string_view text_;
  bool is_word_;
  std::size_t at_ = 0;
  char quote_ = '\0';  ///< the quote in which the position is; NUL if it is in none
  std::string out_;
};

/// Cuts a text to a number of characters, with `...` at its end if it was longer. Invalid UTF-8 becomes U+FFFD.
inline std::string shortened(std::string_view text, std::size_t max_characters) {
  std::string result;
  for (std::size_t count = 0; !text.empty(); ++count) {
    if (count == max_characters) return result + "...";
    const utf8_unit unit = decode_utf8(text);
    append_utf8(result, unit.code_point());
    text.remove_prefix(unit.size());
  }
  return result;
}

/// Returns the first line of a command as text, without the values of its variables and without what looks like a
/// secret. The other lines are left out, because they may be the content of a file (a here-document).
/// \param hidden          further secrets to leave out.
/// \param max_characters  the maximum length; a longer text is cut.
inline std::string command_text(const command& c, redactor hidden, std::size_t max_characters) {
  for (const command::variable_setting& each : c.variables()) hidden.hide(secret_string(each.value()));
  std::string text;
  if (c.is_shell()) {
    text = hidden.clean(c.line());
  } else {
    std::vector<std::string> words;
    bool is_value = false;  // true if the word before is an option whose value is a secret
    bool is_user = false;   // true if the word before is an option whose value may be `user:password`
    for (const std::string& word : c.words()) {
      words.push_back(is_value ? std::string(hidden_mark) : secret_filter::clean_word(hidden.clean(word)));
      if (is_user && word.find(':') != std::string::npos)
        words.back() = word.substr(0, word.find(':') + 1) + std::string(hidden_mark);
      is_value = word.starts_with('-') && word.find('=') == std::string::npos && is_secret_name(word);
      is_user = word == "-u" || word == "--user";
    }
    text = join_shell_words(words);
  }
  const std::size_t end = text.find_first_of("\r\n");
  const std::string_view line = std::string_view(text).substr(0, end);
  std::string shown = c.is_shell() ? secret_filter::clean_line(line) : std::string(line);
  if (end != std::string::npos) shown += " ...";
  return shortened(shown, max_characters);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
