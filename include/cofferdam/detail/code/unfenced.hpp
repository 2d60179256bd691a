// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns code without the Markdown fence (lines of backticks or tildes) that models put around it. The lines of the
/// fence become empty, so that all line numbers stay the same. Code without a fence, with text before or behind the
/// fence, or with another fence inside it is returned unchanged.
inline std::string unfenced(std::string code) {
  constexpr std::string_view blanks = " \t\r";
  constexpr std::string_view all_blanks = " \t\r\n";
  const std::string_view text = code;
  std::size_t open = text.find_first_not_of(all_blanks);
  if (open == std::string_view::npos) return code;
  const char mark = text[open];
  if (mark != '`' && mark != '~') return code;
  const std::size_t length = text.find_first_not_of(mark, open) - open;
  const std::size_t open_end = text.find('\n', open);
  if (length < 3 || open_end == std::string_view::npos) return code;
  // The language may follow, but nothing else: "```python".
  std::string_view language = text.substr(open + length, open_end - open - length);
  while (!language.empty() && blanks.find(language.back()) != std::string_view::npos) language.remove_suffix(1);
  while (!language.empty() && blanks.find(language.front()) != std::string_view::npos) language.remove_prefix(1);
  if (language.find_first_of(" \t`'\"()=") != std::string_view::npos) return code;
  const std::size_t last = text.find_last_not_of(all_blanks);
  const std::size_t close = text.find_last_not_of(mark, last) + 1;  // the first mark of the last line
  if (close <= open_end || last + 1 - close < length) return code;
  const std::size_t line = text.rfind('\n', close) + 1;
  if (text.substr(line, close - line).find_first_not_of(blanks) != std::string_view::npos) return code;
  const std::string fence(length, mark);
  if (text.substr(open_end, line - open_end).find("\n" + fence) != std::string_view::npos) return code;
  std::string plain = code.substr(0, open);
  plain += code.substr(open_end, line - open_end);
  return plain;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
