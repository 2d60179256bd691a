// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/net/http_message.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns true if every server reads the path of this target as it is written: no segment is empty, `.` or `..`, and
/// there is no backslash, no `;`, and no percent-encoded `.`, `/`, `\`, `;`, `%` or NUL.
/// \param target  a target in origin form. The query is not examined.
constexpr bool is_plain_path(std::string_view target) noexcept {
  std::string_view path = target.substr(0, target.find('?'));
  if (path.find_first_of("\\;#") != std::string_view::npos) return false;
  for (std::size_t at = path.find('%'); at != std::string_view::npos; at = path.find('%', at + 1)) {
    const std::string_view code = path.substr(at + 1, 2);
    for (const std::string_view hidden : {"2e", "2f", "5c", "3b", "25", "00"})
      if (same_ignoring_case(code, hidden)) return false;
  }
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const std::size_t end = path.find('/');
    const std::string_view segment = path.substr(0, end);
    if (segment == "." || segment == ".." || (segment.empty() && end != std::string_view::npos)) return false;
    path.remove_prefix(segment.size());
  }
  return path.empty();
}

/// Returns true if the path of a target is `prefix` or is below it. Only a prefix that ends in `/` covers every
/// continuation.
constexpr bool is_below(std::string_view target, std::string_view prefix) noexcept {
  const std::string_view path = target.substr(0, target.find('?'));
  if (!path.starts_with(prefix)) return false;
  return prefix.ends_with('/') || path.size() == prefix.size() || path[prefix.size()] == '/';
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
