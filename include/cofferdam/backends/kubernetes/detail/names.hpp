// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

inline error bad_option(const std::string& what) { return error(exec_errc::invalid_argument, "kubernetes: " + what); }

inline std::string in_quotes(std::string_view text) { return "\"" + one_line(text, 120) + "\""; }

inline bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
inline bool is_letter_or_digit(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }

/// Returns true for a label of RFC 1123, as namespaces and containers are named: at most 63 lower-case letters, digits
/// and hyphens, with no hyphen at an end.
inline bool is_label(std::string_view text) {
  return !text.empty() && text.size() <= 63 && is_lower_or_digit(text.front()) && is_lower_or_digit(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

/// Returns the rule of a subdomain of RFC 1123 that a text breaks; empty if it breaks none. Pods, secrets and runtime
/// classes are named so: at most 253 characters, lower-case letters, digits and hyphens with dots between them.
inline std::string broken_rule(std::string_view text) {
  if (text.empty()) return "a name must not be empty";
  if (text.size() > 253) return "a name has at most 253 characters, and this one has " + std::to_string(text.size());
  for (const char c : text)
    if (!is_lower_or_digit(c) && c != '-' && c != '.') return "a name has only lower-case letters, digits, '-' and '.'";
  for (;;) {
    const std::size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    if (part.empty()) return "a dot must not be at an end of a name, or beside another dot";
    if (part.front() == '-' || part.back() == '-') return "a '-' must not be at an end of a name, or beside a dot";
    if (dot == std::string_view::npos) return {};
    text.remove_prefix(dot + 1);
  }
}

/// Returns true for a subdomain of RFC 1123, see `broken_rule`.
inline bool is_subdomain(std::string_view text) { return broken_rule(text).empty(); }

/// Returns true for the name part of a label, and for a non-empty value of a label.
inline bool is_qualified_part(std::string_view text) {
  return !text.empty() && text.size() <= 63 && is_letter_or_digit(text.front()) && is_letter_or_digit(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; });
}

inline bool is_label_value(std::string_view text) { return text.empty() || is_qualified_part(text); }

/// Returns true for the key of a label, an annotation or a taint, and for the name of a resource: `name` or
/// `subdomain/name`.
inline bool is_label_key(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_qualified_part(text);
  return is_subdomain(text.substr(0, slash)) && is_qualified_part(text.substr(slash + 1));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
