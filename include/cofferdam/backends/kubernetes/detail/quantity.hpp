// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// Returns the value of a Kubernetes quantity in thousandths, rounded up: "1.5" is 1500, "250m" is 250, "1Ki" is
/// 1024000. Returns no value if the text is not a quantity, is negative, or if the value is too large for the type.
/// \par Source  Kubernetes API, resource.Quantity.
inline std::optional<std::uint64_t> quantity_in_thousandths(std::string_view text) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto is_digit = [&text](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  const auto times = [](std::uint64_t& value, std::uint64_t factor) {
    if (factor != 0 && value > most / factor) return false;
    value *= factor;
    return true;
  };
  std::size_t at = 0;
  std::uint64_t digits = 0;  // the digits without the dot
  int scale = 3;             // the power of ten by which the digits are multiplied
  bool has_digit = false;
  bool is_cut = false;  // true if digits other than zero were left out
  for (bool after_dot = false; at < text.size(); ++at) {
    if (text[at] == '.' && !after_dot) {
      after_dot = true;
      continue;
    }
    if (!is_digit(at)) break;
    has_digit = true;
    const auto digit = static_cast<std::uint64_t>(text[at] - '0');
    if (digits > (most - digit) / 10) {
      if (!after_dot) return std::nullopt;
      is_cut = is_cut || digit != 0;
      continue;
    }
    digits = digits * 10 + digit;
    if (after_dot) --scale;
  }
  if (!has_digit) return std::nullopt;
  const std::string_view suffix = text.substr(at);
  unsigned shifts = 0;
  if (suffix.size() == 2 && suffix[1] == 'i') {
    const std::size_t power = std::string_view("KMGTPE").find(suffix[0]);
    if (power == std::string_view::npos) return std::nullopt;
    shifts = 10 * (static_cast<unsigned>(power) + 1);
  } else if (suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E')) {
    int exponent = 0;
    std::size_t digit_at = at + 1;
    const bool negative = text[digit_at] == '-';
    if (negative || text[digit_at] == '+') ++digit_at;
    if (!is_digit(digit_at)) return std::nullopt;
    for (; is_digit(digit_at); ++digit_at)
      if (exponent < 1000) exponent = exponent * 10 + (text[digit_at] - '0');
    if (digit_at != text.size()) return std::nullopt;
    scale += negative ? -exponent : exponent;
  } else if (!suffix.empty()) {
    constexpr std::string_view letters = "numkMGTPE";  // 'u' and 'n' are millionths and billionths
    constexpr int powers[] = {-9, -6, -3, 3, 6, 9, 12, 15, 18};
    const std::size_t which = suffix.size() == 1 ? letters.find(suffix[0]) : std::string_view::npos;
    if (which == std::string_view::npos) return std::nullopt;
    scale += powers[which];
  }
  if (digits == 0) return is_cut ? 1 : 0;
  for (; shifts > 0; --shifts)
    if (!times(digits, 2)) return std::nullopt;
  for (; scale > 0; --scale)
    if (!times(digits, 10)) return std::nullopt;
  for (; scale < 0; ++scale) {
    is_cut = is_cut || digits % 10 != 0;
    digits /= 10;
    if (digits == 0) break;
  }
  return digits + (is_cut ? 1 : 0);
}

/// Returns true if two texts are quantities with the same value: "1Gi" and "1073741824", "2" and "2000m".
inline bool is_same_quantity(std::string_view a, std::string_view b) {
  const std::optional<std::uint64_t> left = quantity_in_thousandths(a);
  return left && left == quantity_in_thousandths(b);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
