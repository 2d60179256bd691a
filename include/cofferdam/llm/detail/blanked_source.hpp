// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns Python code without its comments and string literals, which could contain instructions to a reviewer. Each
/// literal is replaced by `"<str N bytes>"`. The lines keep their numbers. If the input is not Python, the output is
/// unspecified, but the function always ends in linear time. The output is meant for reading, not for running.
inline std::string blanked_source(std::string_view code) {
  std::string blanked;
  blanked.reserve(code.size());
  for (std::size_t at = 0; at < code.size();) {
    const char c = code[at];
    if (c == '#') {
      at = code.find('\n', at);
      if (at == std::string_view::npos) break;
      continue;
    }
    if (c != '"' && c != '\'') {
      blanked += c;
      ++at;
      continue;
    }
    std::size_t letters = 0;  // the length of the literal's prefix, such as rb, which is already in `blanked`
    bool raw = false;
    while (letters < 3 && letters < blanked.size()) {
      const char p = blanked[blanked.size() - 1 - letters];
      if (std::string_view("rRbBuUfFtT").find(p) == std::string_view::npos) break;
      raw = raw || p == 'r' || p == 'R';
      ++letters;
    }
    if (letters < blanked.size()) {
      const auto before = static_cast<unsigned char>(blanked[blanked.size() - 1 - letters]);
      if (std::isalnum(before) != 0 || before == '_' || before >= 0x80) letters = 0, raw = false;
    }
    const std::string quote(code.substr(at, 3) == std::string(3, c) ? 3 : 1, c);
    const std::size_t start = at + quote.size();
    std::size_t end = start;
    std::size_t lines = 0;
    while (end < code.size() && code.substr(end, quote.size()) != quote) {
      if (code[end] == '\\' && end + 1 < code.size()) {
        ++end;
      } else if (code[end] == '\n' && quote.size() == 1) {
        break;  // a literal with single quotes cannot continue on the next line
      }
      if (code[end] == '\n') ++lines;
      ++end;
    }
    blanked += "\"<str " + std::to_string(end - start) + " bytes>\"";
    blanked.append(lines, '\n');
    at = end < code.size() && code[end] != '\n' ? end + quote.size() : end;
  }
  return blanked;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
