// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <locale>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

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

/// Does what `number_from` does, for standard libraries without `std::from_chars` for double: libc++ before 20.
inline std::optional<double> number_from_stream(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  const std::string_view size = text.substr(is_negative ? 1 : 0);
  if (size == "inf" || size == "nan") {
    const double special =
        size == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return is_negative ? -special : special;
  }
  constexpr std::string_view first = "0123456789.";
  if (size.empty() || first.find(size.front()) == first.npos || size.find_first_not_of("0123456789.eE+-") != size.npos)
    return std::nullopt;
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  double number = 0;
  if (!(stream >> number) || stream.peek() != std::istringstream::traits_type::eof()) return std::nullopt;
  return number;
}

/// Parses a text that is a number as a whole: `1`, `-0.5`, `1e+16`, `inf`, `nan`. Returns no value for any other text,
/// and for a number that a double cannot have.
template <class Number = double>
std::optional<Number> number_from(std::string_view text) {
  Number number = 0;
  if constexpr (requires(const char* at) { std::from_chars(at, at, number); }) {
    const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
    return number;
  } else {
    return number_from_stream(text);
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
