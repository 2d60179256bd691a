// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Formats a number as Python's `repr` does, with the fewest digits that give the same number when read back. Numbers
/// below 0.0001 and numbers from 1e+16 on have an exponent (`1.5e-05`). All others have a decimal point (`12.0`,
/// `0.1`). Numbers that are not finite become `inf`, `-inf` or `nan`.
inline std::string number_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  const double size = std::abs(number);
  const bool is_plain = size == 0 || (size >= 1e-4 && size < 1e16);
  std::array<char, 32> digits;
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                     is_plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(digits.data(), written.ptr);
  if (is_plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
