// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

// A compiled pattern of a .dockerignore. Matching passes over the path once, however many stars the pattern has.
class ignore_pattern {
 public:
  ignore_pattern(std::string_view pattern, bool brings_back) : brings_back_(brings_back) { compile(pattern); }

  bool brings_back() const noexcept { return brings_back_; }

  // Returns true if the pattern matches the path, or a directory above the path.
  bool matches_path_or_above(const std::vector<char32_t>& path) const {
    std::vector<char> now(tokens_.size() + 1, 0);
    std::vector<char> next(tokens_.size() + 1, 0);
    now[0] = 1;
    for (std::size_t at = 0;; ++at) {
      bool alive = false;
      for (std::size_t i = 0; i < tokens_.size();
           ++i) {  // a token that may match nothing only activates later tokens, so one pass suffices
        if (!now[i]) continue;
        alive = true;
        const kind what = tokens_[i].what;
        if (what == kind::star || what == kind::anything || what == kind::directories) now[i + 1] = 1;
        if (what == kind::directories) now[i + 2] = 1;
      }
      if (now.back() && (at == path.size() || path[at] == U'/')) return true;
      if (at == path.size() || !alive) return false;
      std::fill(next.begin(), next.end(), char{0});
      for (std::size_t i = 0; i < tokens_.size(); ++i)
        if (now[i]) consume(i, path[at], next);
      now.swap(next);
    }
  }

  static constexpr char32_t raw_byte = 0x110000;  // added to a byte that is not UTF-8; larger than every code point

  static std::vector<char32_t> characters_of(std::string_view text) {
    std::vector<char32_t> characters;
    characters.reserve(text.size());
    while (!text.empty()) {
      const cofferdam::detail::utf8_unit unit = cofferdam::detail::decode_utf8(text);
      if (!unit.valid()) {
        characters.push_back(raw_byte + static_cast<unsigned char>(text.front()));
        text.remove_prefix(1);
      } else {
        characters.push_back(unit.code_point());
        text.remove_prefix(unit.size());
      }
    }
    return characters;
  }

 private:
  enum class kind {
    literal,      // exactly one given character
    any,          // one character except a slash
    set,          // one character that is in a set, or is not in a negated set
    star,         // any number of characters except slashes
    anything,     // any number of characters
    directories,  // the next element, `inside`, may also match nothing, as for the pattern `**/`
    inside,       // any characters, and then a slash
  };
  struct token {
    kind what = kind::literal;
    char32_t character = 0;
    bool negated = false;
    std::vector<std::pair<char32_t, char32_t>> ranges;
  };

  void consume(std::size_t i, char32_t character, std::vector<char>& next) const {
    const token& current = tokens_[i];
    switch (current.what) {
      case kind::literal: next[i + 1] |= static_cast<char>(current.character == character); break;
      case kind::any: next[i + 1] |= static_cast<char>(character != U'/'); break;
      case kind::set: next[i + 1] |= static_cast<char>(in_set(current, character)); break;
      case kind::star: next[i] |= static_cast<char>(character != U'/'); break;
      case kind::anything: next[i] = 1; break;
      case kind::directories: break;
      case kind::inside:
        next[i] = 1;
        next[i + 1] |= static_cast<char>(character == U'/');
        break;
    }
  }

  static bool in_set(const token& set, char32_t character) {
    const bool found = std::any_of(set.ranges.begin(), set.ranges.end(), [character](const auto& range) {
      return range.first <= character && character <= range.second;
    });
    return found != set.negated;
  }

  void add(kind what, char32_t character = 0) {
    token added;
    added.what = what;
    added.character = character;
    tokens_.push_back(std::move(added));
  }

  void compile(std::string_view pattern) {
    const std::vector<char32_t> text = characters_of(pattern);
    // A pattern such as `**.log` matches every path that ends in `.log`, if the part after the `**` has no special
    // character.
    const bool plain_rest = pattern.starts_with("**") && pattern.find_first_of("*?[]\\", 2) == std::string_view::npos;
    for (std::size_t at = 0; at < text.size();) {
      const char32_t c = text[at++];
      if (c == U'*' && at < text.size() && text[at] == U'*') {
        ++at;
        const bool slash = at < text.size() && text[at] == U'/';
        if (slash) ++at;
        if (at == text.size() || (at == 2 && plain_rest)) {
          add(kind::anything);
        } else {
          add(kind::directories);
          add(kind::inside);
        }
      } else if (c == U'*') {
        add(kind::star);
      } else if (c == U'?') {
        add(kind::any);
      } else if (c == U'[') {
        at = add_set(text, at);
      } else if (c == U'\\') {
        if (at == text.size()) throw std::invalid_argument("ends with a backslash");
        add(kind::literal, text[at++]);
      } else {
        add(kind::literal, c);
      }
    }
  }

  // Parses a set of characters, `[...]`. `at` is the position after the `[`. Returns the position after the `]`.
  std::size_t add_set(const std::vector<char32_t>& text, std::size_t at) {
    token set;
    set.what = kind::set;
    if (at < text.size() && text[at] == U'^') {
      set.negated = true;
      ++at;
    }
    while (at < text.size() && (text[at] != U']' || set.ranges.empty())) {
      const char32_t low = set_member(text, at);
      char32_t high = low;
      if (at < text.size() && text[at] == U'-') {
        ++at;
        high = set_member(text, at);
      }
      if (high < low) throw std::invalid_argument("has a range in [] that goes backwards");
      set.ranges.emplace_back(low, high);
    }
    if (at == text.size()) throw std::invalid_argument("has a [ without a matching ]");
    tokens_.push_back(std::move(set));
    return at + 1;
  }

  static char32_t set_member(const std::vector<char32_t>& text, std::size_t& at) {
    if (at < text.size() && text[at] == U'\\') {
      ++at;
    } else if (at < text.size() && (text[at] == U'-' || text[at] == U']')) {
      throw std::invalid_argument("has a '-' or ']' inside [] without a backslash before it");
    }
    if (at == text.size()) throw std::invalid_argument("has a [ without a matching ]");
    return text[at++];
  }

  std::vector<token> tokens_;
  bool brings_back_;
};

// Returns the text without white space at both ends. White space is defined as in Go, because Docker is written in Go.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::array<std::string_view, 25> blanks{" ",
                                                    "\t",
                                                    "\n",
                                                    "\v",
                                                    "\f",
                                                    "\r",
                                                    "\xc2\x85",
                                                    "\xc2\xa0",
                                                    "\xe1\x9a\x80",
                                                    "\xe2\x80\x80",
                                                    "\xe2\x80\x81",
                                                    "\xe2\x80\x82",
                                                    "\xe2\x80\x83",
                                                    "\xe2\x80\x84",
                                                    "\xe2\x80\x85",
                                                    "\xe2\x80\x86",
                                                    "\xe2\x80\x87",
                                                    "\xe2\x80\x88",
                                                    "\xe2\x80\x89",
                                                    "\xe2\x80\x8a",
                                                    "\xe2\x80\xa8",
                                                    "\xe2\x80\xa9",
                                                    "\xe2\x80\xaf",
                                                    "\xe2\x81\x9f",
                                                    "\xe3\x80\x80"};
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view blank : blanks) {
      if (text.starts_with(blank)) text.remove_prefix(blank.size()), again = true;
      if (text.ends_with(blank)) text.remove_suffix(blank.size()), again = true;
    }
  }
  return text;
}

// Returns the normalized path without reading any file: `./a/./b/../1.txt` becomes `a/1.txt`.
inline std::string cleaned_path(std::string_view path) {
  const bool rooted = path.starts_with('/');
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, slash - at);
    at = slash + 1;
    if (part.empty() || part == ".") continue;
    if (part != "..")
      parts.push_back(part);
    else if (!parts.empty() && parts.back() != "..")
      parts.pop_back();
    else if (!rooted)
      parts.push_back(part);
  }
  std::string clean = rooted ? "/" : "";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) clean += '/';
    clean += parts[i];
  }
  return clean.empty() ? "." : clean;
}

/// The rules of a `.dockerignore`, which select the files of a context folder that are not sent to the builder. The
/// sender of the context must apply them, because the daemon does not.
///
/// Each line contains one pattern. The last pattern that matches a path, or a directory above it, decides whether the
/// path is excluded. A line that begins with `#` is a comment. Blanks around a pattern are removed. A pattern with a
/// `!` before it includes files that an earlier pattern has excluded. Patterns are normalized: `./a//b/../c/` and
/// `/a/c` mean `a/c`.
///
/// ```
/// "*"    any number of characters except "/"      "?"   one character except "/"      "\x"  the character x
/// "**"   at the end of a pattern: everything
///        before "/" or a name: any number of folders, or none
///        at the start of a pattern that has no other special character: any characters
/// "[...]", "[^...]"   one character that is, or is not, in the list; "a-z" is a range; "\]" and "\-" are escapes
/// ```
/// Matching is case-sensitive. A dot at the start of a name has no special meaning. "[!...]" and "[:alpha:]" are not
/// supported.
/// \par Cost    `ignored`: at most the product of the path's length and the total length of all patterns.
/// \par Source  moby/patternmatcher and its `ignorefile`; docs.docker.com, "dockerignore".
class docker_ignore {
 public:
  /// The maximum size of the file in bytes: 1 MiB. A single pattern may have at most 4095 bytes.
  static constexpr std::size_t max_bytes = std::size_t{1024} * 1024;

  /// Makes rules that exclude nothing.
  docker_ignore() = default;

  /// Parses the rules.
  /// \param  text  the content of the file.
  /// \throws       error{exec_errc::invalid_argument}, with the line's number, for a `!` without a pattern, a `[`
  ///               without its end, a backslash at the end, or a pattern that is too long; also for a file that is too
  ///               long.
  explicit docker_ignore(std::string_view text) {
    if (text.size() > max_bytes)
      throw error(exec_errc::invalid_argument, "docker: .dockerignore is longer than the limit of 1048576 bytes");
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    std::size_t number = 0;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      ++number;
      if (line.starts_with('#')) continue;
      try {
        add(detail::trimmed(line));
      } catch (const std::invalid_argument& why) {
        throw error(exec_errc::invalid_argument, "docker: line " + std::to_string(number) + " of .dockerignore, \"" +
                                                     one_line(line, 100) + "\", " + why.what());
      }
    }
  }

  /// Returns true if the rules exclude a file or directory.
  /// \param path  relative to the context, with `/` as separator, without `.` and `..`, and without a slash at either
  ///              end.
  bool ignored(std::string_view path) const {
    const std::vector<char32_t> characters = detail::ignore_pattern::characters_of(path);
    bool out = false;
    for (const detail::ignore_pattern& pattern : patterns_)
      if (pattern.brings_back() == out && pattern.matches_path_or_above(characters)) out = !out;
    return out;
  }

  /// Returns true if the rules exclude a directory with all its contents, so that it need not be read.
  bool ignores_all_of(std::string_view directory) const { return !brings_back_ && ignored(directory); }

 private:
  void add(std::string_view pattern) {
    if (pattern.empty()) return;
    if (pattern.size() > 4095) throw std::invalid_argument("is longer than 4095 bytes");
    const bool brings_back = pattern.front() == '!';
    if (brings_back) pattern = detail::trimmed(pattern.substr(1));
    if (pattern.empty()) throw std::invalid_argument("has a '!' without a pattern after it");
    std::string clean = detail::cleaned_path(pattern);
    if (clean.size() > 1 && clean.front() == '/') clean.erase(0, 1);
    if (brings_back && clean == "/") throw std::invalid_argument("has a '!' without a pattern after it");
    patterns_.emplace_back(clean, brings_back);
    brings_back_ = brings_back_ || brings_back;
  }

  std::vector<detail::ignore_pattern> patterns_;
  bool brings_back_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
