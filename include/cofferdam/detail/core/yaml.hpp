// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/core/yaml_node.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A reader for the part of YAML that kubeconfig files and the front matter of skills use. It does no I/O.
///
/// Understood: block maps and lists, maps and lists in braces and brackets (so JSON, too), plain and quoted scalars on
/// one or several lines, block scalars (`|` and `>`), comments, and one `---` before the document. Refused, with an
/// error that says so: anchors, aliases, merge keys, tags, directives, several documents, keys that are no scalars,
/// duplicate keys, and tabs as indentation.
/// \par Source  YAML 1.2.2, chapters 6 to 9.
class yaml_reader {
 public:
  static constexpr std::size_t max_size = std::size_t{4} << 20U;
  static constexpr int max_depth = 50;

  /// \param text  the document in UTF-8; used only during the constructor and `read`.
  /// \param file  the name of the file, for error messages.
  yaml_reader(std::string_view text, std::string file) : file_(std::move(file)) {
    if (text.size() > max_size) fail(1, "the file is longer than 4 MiB");
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    int line = 1;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      std::string_view row = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (row.ends_with('\r')) row.remove_suffix(1);
      for (const char c : row)
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == '\x7f')
          fail(line, "the line has a control character");
      rows_.push_back(row);
      ++line;
    }
  }

  /// Reads the document. An empty document is a null.
  /// \throws error{exec_errc::invalid_argument} with the file and the line. The message quotes no values, which may be
  ///     secret.
  yaml_node read() {
    skip_to_document();
    yaml_node root;
    if (row_ < rows_.size()) root = block(-1, 0);
    next_content();
    if (row_ < rows_.size()) fail(line(), "the indentation fits no line before it");
    return root;
  }

  [[noreturn]] void fail(int line, const std::string& what) const {
    throw error(exec_errc::invalid_argument, file_ + ", line " + std::to_string(line) + ": " + what);
  }

 private:
  static constexpr std::size_t none = std::string_view::npos;

  int line() const noexcept { return static_cast<int>(row_) + 1; }
  std::string_view row() const noexcept { return row_ < rows_.size() ? rows_[row_] : std::string_view(); }
  /// Returns the rest of the current row.
  std::string_view rest() const noexcept { return row().substr(std::min(column_, row().size())); }
  void next_row() noexcept {
    ++row_;
    column_ = 0;
  }
  static bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }
  void skip_blanks() noexcept {
    while (column_ < row().size() && is_blank(row()[column_])) ++column_;
  }
  /// Returns true if nothing but blanks and a comment follows. A comment needs a blank before it.
  bool at_end_of_row() noexcept {
    const std::size_t before = column_;
    skip_blanks();
    const bool separated = column_ == 0 || column_ != before || (before > 0 && is_blank(row()[before - 1]));
    return column_ >= row().size() || (row()[column_] == '#' && separated);
  }

  /// Skips empty rows and comments before the next content. Then `column_` is its indentation.
  void next_content() {
    while (row_ < rows_.size()) {
      const std::size_t begin = row().find_first_not_of(' ');
      if (begin == none || row()[begin] == '#' || row().find_first_not_of(" \t") == none ||
          row()[row().find_first_not_of(" \t")] == '#') {
        next_row();
        continue;
      }
      if (row()[begin] == '\t') fail(line(), "a tab is used as indentation; use spaces");
      column_ = begin;
      if (begin == 0 && is_marker("---")) fail(line(), "a second document (---) is not supported");
      if (begin == 0 && is_marker("...")) fail(line(), "the end of a document (...) is not supported");
      return;
    }
  }
  bool is_marker(std::string_view mark) const noexcept {
    return row().starts_with(mark) && (row().size() == mark.size() || is_blank(row()[mark.size()]));
  }
  void skip_to_document() {
    while (row_ < rows_.size()) {
      const std::size_t begin = row().find_first_not_of(" \t");
      if (begin == none || row()[begin] == '#') {
        next_row();
      } else if (is_marker("---")) {
        column_ = 3;
        if (!at_end_of_row()) fail(line(), "text after --- is not supported; begin the document on the next line");
        next_row();
        break;
      } else if (row()[0] == '%') {
        fail(line(), "directives (%) are not supported");
      } else {
        break;
      }
    }
    next_content();
  }

  /// Reads the value that begins at the current content, which is indented more than `parent`.
  yaml_node block(int parent, int depth) {
    if (depth > max_depth) fail(line(), "the values are nested too deeply");
    if (is_item()) return list(depth);
    if (key_end() != none) return map(depth);
    return inline_value(parent, depth);
  }

  bool is_item() const noexcept {
    const std::string_view text = rest();
    return text.starts_with('-') && (text.size() == 1 || is_blank(text[1]));
  }

  /// Returns the column of the colon if a map's key begins at the current column.
  std::size_t key_end() const {
    const std::string_view text = row();
    std::size_t at = column_;
    if (at >= text.size()) return none;
    if (text[at] == '"' || text[at] == '\'') {
      const char quote = text[at++];
      const auto is_pair = [&] {  // an escape, or a quote that is written twice
        return quote == '"' ? text[at] == '\\' : text.substr(at).starts_with("''");
      };
      while (at < text.size() && (text[at] != quote || is_pair())) at += is_pair() ? 2 : 1;
      if (at >= text.size()) return none;
      ++at;
      while (at < text.size() && is_blank(text[at])) ++at;
      return is_colon(text, at) ? at : none;
    }
    if (text[at] == '[' || text[at] == '{') return none;
    for (; at < text.size(); ++at) {
      if (text[at] == '#' && at > column_ && is_blank(text[at - 1])) return none;
      if (is_colon(text, at)) return at;
    }
    return none;
  }
  static bool is_colon(std::string_view text, std::size_t at) noexcept {
    return at < text.size() && text[at] == ':' && (at + 1 == text.size() || is_blank(text[at + 1]));
  }

  yaml_node list(int depth) {
    yaml_node value;
    value.type = yaml_node::kind::list;
    value.line = line();
    const std::size_t indent = column_;
    for (;;) {
      ++column_;  // the dash
      if (at_end_of_row()) {
        next_row();
        value.items.push_back(nested(indent, false, depth));
      } else {
        value.items.push_back(block(static_cast<int>(indent), depth + 1));
      }
      if (!continues(indent) || !is_item()) return value;
    }
  }

  yaml_node map(int depth) {
    yaml_node value;
    value.type = yaml_node::kind::map;
    value.line = line();
    const std::size_t indent = column_;
    yaml_keys known;
    for (;;) {
      const int key_line = line();
      const std::size_t colon = key_end();
      if (colon == none) fail(line(), "expected a key and a colon");
      std::string key = read_key(colon);
      if (!known.insert(key).second) fail(key_line, "the key \"" + one_line(key, 60) + "\" is there twice");
      column_ = colon + 1;
      yaml_node member;
      if (at_end_of_row()) {
        next_row();
        member = nested(indent, true, depth);
        if (member.type == yaml_node::kind::null) member.line = key_line;
      } else {
        if (is_item()) fail(line(), "a list must begin on a line of its own");
        member = inline_value(static_cast<int>(indent), depth);
      }
      value.keys.push_back(std::move(key));
      value.items.push_back(std::move(member));
      if (!continues(indent)) return value;
      if (is_item()) fail(line(), "a list item stands where a key is expected");
    }
  }

  /// Moves to the next content. Returns true if it is indented by `indent`, so that it may belong to the same value.
  bool continues(std::size_t indent) {
    next_content();
    if (row_ >= rows_.size() || column_ < indent) return false;
    if (column_ > indent) fail(line(), "the indentation fits no line before it");
    return true;
  }

  /// Reads a value that begins on a later row than its key or dash.
  /// \param lists_too  a list may have the same indentation as its key.
  yaml_node nested(std::size_t indent, bool lists_too, int depth) {
    next_content();
    if (row_ < rows_.size() && (column_ > indent || (lists_too && column_ == indent && is_item())))
      return block(static_cast<int>(indent), depth + 1);
    yaml_node nothing;
    nothing.line = line();
    return nothing;
  }

  std::string read_key(std::size_t colon) {
    if (rest().front() == '"' || rest().front() == '\'') return quoted(-1);
    std::string_view key = row().substr(column_, colon - column_);
    while (!key.empty() && is_blank(key.back())) key.remove_suffix(1);
    refuse_unsupported(key);
    if (key == "<<") fail(line(), "merge keys (<<) are not supported");
    if (key.empty()) fail(line(), "a key is empty");
    return std::string(key);
  }

  void refuse_unsupported(std::string_view text) const {
    if (text.empty()) return;
    switch (text.front()) {
      case '&': fail(line(), "anchors (&) are not supported");
      case '*': fail(line(), "aliases (*) are not supported");
      case '!': fail(line(), "tags (!) are not supported");
      case '%':
      case '@':
      case '`': fail(line(), std::string("a value must not begin with ") + text.front() + "; put it in quotes");
      case '?':
        if (text.size() == 1 || is_blank(text[1])) fail(line(), "keys of several lines (?) are not supported");
        break;
      default: break;
    }
  }

  /// Reads a value on the current row, and the rows that continue it.
  /// \param parent  the indentation of the map or list that contains the value; -1 for the whole document.
  yaml_node inline_value(int parent, int depth) {
    yaml_node value;
    value.line = line();
    const char first = rest().front();
    if (first == '[' || first == '{') {
      value = flow(depth);
      finish_row();
      return value;
    }
    value.type = yaml_node::kind::scalar;
    if (first == '|' || first == '>') {
      value.quoted = true;
      value.text = block_scalar(parent);
      return value;
    }
    if (first == '"' || first == '\'') {
      value.quoted = true;
      value.text = quoted(parent);
      finish_row();
      return value;
    }
    value.text = plain(parent);
    if (is_null(value.text)) {
      value.type = yaml_node::kind::null;
      value.text.clear();
    }
    return value;
  }
  static bool is_null(std::string_view text) noexcept {
    return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
  }
  void finish_row() {
    if (!at_end_of_row()) fail(line(), "unexpected text after a value");
    next_row();
  }

  /// Adds the breaks between two lines of a folded scalar: one break becomes a blank.
  static void fold(std::string& text, std::size_t breaks) {
    breaks == 1 ? text.append(1, ' ') : text.append(breaks - 1, '\n');
  }

  std::string plain(int parent) {
    std::string text(plain_row());
    next_row();
    for (;;) {
      std::size_t breaks = 1;
      std::size_t at = row_;
      while (at < rows_.size() && rows_[at].find_first_not_of(" \t") == none) {
        ++at;
        ++breaks;
      }
      if (at >= rows_.size()) return text;
      const std::size_t begin = rows_[at].find_first_not_of(" \t");
      if (static_cast<int>(rows_[at].find_first_not_of(' ')) <= parent || rows_[at][begin] == '#') return text;
      if (parent < 0) fail(static_cast<int>(at) + 1, "expected a key and a colon");
      row_ = at;
      column_ = begin;
      fold(text, breaks);
      text += plain_row();
      next_row();
    }
  }
  /// Returns the part of a plain scalar on the current row.
  std::string_view plain_row() {
    std::string_view text = rest();
    refuse_unsupported(text);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (is_colon(text, i)) fail(line(), "a value has a colon and a blank; put it in quotes");
      if (text[i] == '#' && i > 0 && is_blank(text[i - 1])) {
        text = text.substr(0, i);
        break;
      }
    }
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
  }

  std::string block_scalar(int parent) {
    const bool folds = rest().front() == '>';
    ++column_;
    char chomping = ' ';
    std::size_t indent = 0;
    for (int i = 0; i < 2 && column_ < row().size(); ++i) {
      const char c = row()[column_];
      if ((c == '+' || c == '-') && chomping == ' ') {
        chomping = c;
      } else if (c >= '1' && c <= '9' && indent == 0) {
        indent = static_cast<std::size_t>(std::max(parent, 0)) + static_cast<std::size_t>(c - '0');
      } else {
        break;
      }
      ++column_;
    }
    if (!at_end_of_row()) fail(line(), "unexpected text after | or >");
    next_row();
    if (indent == 0) {
      for (std::size_t at = row_; at < rows_.size() && indent == 0; ++at) {
        const std::size_t begin = rows_[at].find_first_not_of(' ');
        if (begin == none) continue;
        if (static_cast<int>(begin) <= parent) break;
        if (rows_[at][begin] == '\t') fail(static_cast<int>(at) + 1, "a tab is used as indentation; use spaces");
        indent = begin;
      }
      if (indent == 0) indent = static_cast<std::size_t>(parent + 1);
    }
    std::string text;
    std::size_t breaks = 0;
    bool joins = false;  // the last line may be joined with the next one
    while (row_ < rows_.size()) {
      const std::size_t begin = row().find_first_not_of(' ');
      if (begin != none && begin < indent) break;
      if (begin == none && row().size() <= indent) {
        ++breaks;
        next_row();
        continue;
      }
      const std::string_view content = row().substr(indent);
      const bool plain_line = folds && !is_blank(content.front());
      if (joins && plain_line && breaks != 0) {
        fold(text, breaks);
      } else {
        text.append(breaks, '\n');
      }
      text += content;
      joins = plain_line;
      breaks = 1;
      next_row();
    }
    if (text.empty()) return chomping == '+' ? std::string(breaks, '\n') : text;
    if (chomping == ' ') text += '\n';
    if (chomping == '+') text.append(breaks, '\n');
    return text;
  }

  /// Reads a scalar in quotes.
  /// \param parent  as for `inline_value`; -1 also for keys and inside of braces.
  std::string quoted(int parent) {
    const char quote = row()[column_++];
    const int begin = line();
    std::string text;
    for (;;) {
      if (column_ >= row().size()) {
        fold_quoted(text, begin, parent);
        continue;
      }
      const char c = row()[column_++];
      if (c == quote) {
        if (quote == '"' || column_ >= row().size() || row()[column_] != quote) return text;
        ++column_;
        text += quote;
      } else if (c == '\\' && quote == '"') {
        if (column_ < row().size()) {
          escape(text);
        } else {  // the break is escaped
          next_quoted_row(begin, parent);
        }
      } else {
        text += c;
      }
    }
  }
  void next_quoted_row(int begin, int parent) {
    next_row();
    if (row_ >= rows_.size()) fail(begin, "a quotation has no end");
    if (row().find_first_not_of(" \t") == none) return;
    if (static_cast<int>(row().find_first_not_of(' ')) <= parent) fail(begin, "a quotation has no end");
    skip_blanks();
  }
  void fold_quoted(std::string& text, int begin, int parent) {
    std::string_view last = row();
    while (!text.empty() && !last.empty() && is_blank(last.back()) && is_blank(text.back())) {
      text.pop_back();
      last.remove_suffix(1);
    }
    std::size_t breaks = 0;
    do {
      next_quoted_row(begin, parent);
      ++breaks;
    } while (row().find_first_not_of(" \t") == none);
    fold(text, breaks);
  }

  void escape(std::string& text) {
    const char c = row()[column_++];
    switch (c) {
      case '0': text += '\0'; return;
      case 'a': text += '\a'; return;
      case 'b': text += '\b'; return;
      case 't':
      case '\t': text += '\t'; return;
      case 'n': text += '\n'; return;
      case 'v': text += '\v'; return;
      case 'f': text += '\f'; return;
      case 'r': text += '\r'; return;
      case 'e': text += '\x1b'; return;
      case ' ':
      case '"':
      case '/':
      case '\\': text += c; return;
      case 'N': text += "\xC2\x85"; return;
      case '_': text += "\xC2\xA0"; return;
      case 'L': text += "\xE2\x80\xA8"; return;
      case 'P': text += "\xE2\x80\xA9"; return;
      case 'x': return add(text, digits(2));
      case 'u': return add(text, code_unit());
      case 'U': return add(text, digits(8));
      default: fail(line(), "unknown escape in a quotation");
    }
  }
  void add(std::string& text, std::uint32_t value) const {
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) fail(line(), "an escape is no character");
    append_utf8(text, static_cast<char32_t>(value));
  }
  std::uint32_t digits(int count) {
    std::uint32_t value = 0;
    for (; count > 0; --count, ++column_) {
      const char c = column_ < row().size() ? row()[column_] : ' ';
      if (c >= '0' && c <= '9') {
        value = value << 4U | static_cast<std::uint32_t>(c - '0');
      } else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) {
        value = value << 4U | static_cast<std::uint32_t>((c | 0x20) - 'a' + 10);
      } else {
        fail(line(), "an escape needs more hexadecimal digits");
      }
    }
    return value;
  }
  /// Reads the four digits after `\u`, and in JSON the second half of a surrogate pair.
  std::uint32_t code_unit() {
    const std::uint32_t high = digits(4);
    if (high < 0xD800 || high > 0xDBFF || !rest().starts_with("\\u")) return high;
    column_ += 2;
    const std::uint32_t low = digits(4);
    if (low < 0xDC00 || low > 0xDFFF) fail(line(), "an escape is no character");
    return 0x10000 + ((high - 0xD800) << 10U) + (low - 0xDC00);
  }

  // ---- values in braces and brackets ----

  /// Skips blanks, breaks and comments, and returns the next character.
  char flow_next(int begin) {
    while (at_end_of_row()) {
      next_row();
      if (row_ >= rows_.size()) fail(begin, "a bracket or brace has no end");
      if (is_marker("---") || is_marker("...")) fail(begin, "a bracket or brace has no end");
    }
    return row()[column_];
  }

  yaml_node flow(int depth) {
    if (depth > max_depth) fail(line(), "the values are nested too deeply");
    yaml_node value;
    value.line = line();
    const int begin = line();
    const char open = row()[column_++];
    const bool is_map = open == '{';
    const char close = is_map ? '}' : ']';
    value.type = is_map ? yaml_node::kind::map : yaml_node::kind::list;
    yaml_keys known;
    for (;;) {
      char c = flow_next(begin);
      if (c == close) {
        ++column_;
        return value;
      }
      if (is_map) {
        add_flow_member(value, known, begin, depth);
      } else {
        value.items.push_back(flow_value(depth));
      }
      c = flow_next(begin);
      if (c == ',') {
        ++column_;
      } else if (c != close) {
        fail(line(), std::string("expected a comma or ") + close);
      }
    }
  }

  void add_flow_member(yaml_node& value, yaml_keys& known, int begin, int depth) {
    const int key_line = line();
    yaml_node key = flow_value(depth);
    if (key.type == yaml_node::kind::list || key.type == yaml_node::kind::map) fail(key_line, "a key must be a text");
    if (!key.quoted && key.text == "<<") fail(key_line, "merge keys (<<) are not supported");
    if (!known.insert(key.text).second) fail(key_line, "the key \"" + one_line(key.text, 60) + "\" is there twice");
    yaml_node member;
    member.line = key_line;
    if (flow_next(begin) == ':') {
      ++column_;
      const char c = flow_next(begin);
      if (c != ',' && c != '}') member = flow_value(depth);
    }
    value.keys.push_back(std::move(key.text));
    value.items.push_back(std::move(member));
  }

  yaml_node flow_value(int depth) {
    const char c = row()[column_];
    if (c == '[' || c == '{') return flow(depth + 1);
    yaml_node value;
    value.line = line();
    value.type = yaml_node::kind::scalar;
    if (c == '"' || c == '\'') {
      value.quoted = true;
      value.text = quoted(-1);
      return value;
    }
    refuse_unsupported(rest());
    const std::string_view text = rest();
    std::size_t size = 0;
    while (size < text.size()) {
      const char here = text[size];
      if (std::string_view(",[]{}").find(here) != none) break;
      if (here == ':' && (size + 1 == text.size() || is_blank(text[size + 1]) ||
                          std::string_view(",[]{}").find(text[size + 1]) != none))
        break;
      if (here == '#' && size > 0 && is_blank(text[size - 1])) break;
      ++size;
    }
    if (size == 0) fail(line(), "expected a value");
    column_ += size;
    std::string_view scalar = text.substr(0, size);
    while (!scalar.empty() && is_blank(scalar.back())) scalar.remove_suffix(1);
    value.text = scalar;
    if (is_null(value.text)) value.type = yaml_node::kind::null;
    return value;
  }

  std::string file_;
  std::vector<std::string_view> rows_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
};

/// Reads a YAML or JSON document; see `yaml_reader`.
inline yaml_node read_yaml(std::string_view text, std::string file) {
  return yaml_reader(text, std::move(file)).read();
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
