// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/core/base64_blocks.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The alphabet of base64: the characters for the values 0 to 63.
enum class base64_alphabet {
  standard,  ///< the characters for 62 and 63 are `+` and `/` (RFC 4648, 4)
  url,       ///< the characters for 62 and 63 are `-` and `_` (RFC 4648, 5)
};

constexpr std::string_view base64_characters(base64_alphabet which) noexcept {
  return which == base64_alphabet::url ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
                                       : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

/// A table with the value of each character at each of the four positions in a group of four characters. The values are
/// already shifted to their position in the 24 bits of the group, so decoding a group takes four look-ups and three
/// ORs.
class base64_values {
 public:
  /// The bit that is set in the value of a character that is not in the alphabet.
  static constexpr std::uint32_t wrong = std::uint32_t{1} << 31U;

  explicit constexpr base64_values(base64_alphabet which) noexcept {
    for (std::uint32_t& each : values_) each = wrong;
    const std::string_view characters = base64_characters(which);
    for (std::size_t place = 0; place < 4; ++place)
      for (std::size_t i = 0; i < characters.size(); ++i)
        values_[place * 256 + static_cast<unsigned char>(characters[i])] = static_cast<std::uint32_t>(i)
                                                                           << (18U - 6U * place);
  }
  constexpr std::uint32_t at(std::size_t place, char c) const noexcept {
    return values_[place * 256 + static_cast<unsigned char>(c)];
  }

 private:
  std::uint32_t values_[4 * 256] = {};
};

inline constexpr base64_values base64_standard_values(base64_alphabet::standard);
inline constexpr base64_values base64_url_values(base64_alphabet::url);

/// Encodes bytes as base64, with `=` padding and without line breaks.
/// \return      4 characters for each group of 3 bytes. If the last group has fewer than 3 bytes, it is padded.
/// \par Source  RFC 4648, 4 and 5.
inline std::string base64_encode(bytes_view raw, base64_alphabet which = base64_alphabet::standard) {
  const std::string_view characters = detail::base64_characters(which);
  std::string text((raw.size() + 2) / 3 * 4, '=');
  char* to = text.data();
  const auto value = [&raw](std::size_t at) { return std::to_integer<std::uint32_t>(raw[at]); };
  std::size_t at = 0;
  for (; raw.size() - at >= 3; at += 3) {
    const std::uint32_t group = value(at) << 16U | value(at + 1) << 8U | value(at + 2);
    *to++ = characters[group >> 18U];
    *to++ = characters[group >> 12U & 63U];
    *to++ = characters[group >> 6U & 63U];
    *to++ = characters[group & 63U];
  }
  const std::size_t left = raw.size() - at;
  if (left == 0) return text;
  const std::uint32_t group = value(at) << 16U | (left == 2 ? value(at + 1) << 8U : 0U);
  *to++ = characters[group >> 18U];
  *to++ = characters[group >> 12U & 63U];
  if (left == 2) *to = characters[group >> 6U & 63U];
  return text;
}

/// Decodes base64.
///
/// The function is strict: padding is required. Blanks, line breaks, characters of the other alphabet and unused bits
/// other than zero make the text invalid. So every accepted text is exactly the text that `base64_encode` writes.
/// \return      the bytes; no value if `text` is invalid.
/// \par Source  RFC 4648, 3.2, 3.3 and 3.5.
inline std::optional<bytes> base64_decode(std::string_view text, base64_alphabet which = base64_alphabet::standard) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  const detail::base64_values& values =
      which == base64_alphabet::url ? detail::base64_url_values : detail::base64_standard_values;
  bytes raw(text.size() / 4 * 3 - padding);
  std::byte* to = raw.data();
  const std::size_t whole = text.size() - (padding == 0 ? 0 : 4);
  const char* from = text.data();
  const char* const end = from + whole;
  if (which == base64_alphabet::standard) {
    const std::size_t blocks = detail::base64_decode_blocks(std::string_view(from, end), raw);
    from += blocks * detail::base64_block;
    to += blocks * (detail::base64_block / 4 * 3);
  }
  std::uint32_t seen = 0;  // OR of all values: contains the bit `wrong` if any character was invalid
  for (; from != end; from += 4) {
    const std::uint32_t group =
        values.at(0, from[0]) | values.at(1, from[1]) | values.at(2, from[2]) | values.at(3, from[3]);
    seen |= group;
    to[0] = static_cast<std::byte>(group >> 16U & 255U);
    to[1] = static_cast<std::byte>(group >> 8U & 255U);
    to[2] = static_cast<std::byte>(group & 255U);
    to += 3;
  }
  if (padding != 0) {
    const std::uint32_t group =
        values.at(0, from[0]) | values.at(1, from[1]) | (padding == 1 ? values.at(2, from[2]) : 0U);
    seen |= group;
    if ((group & ((1U << (8U * static_cast<unsigned>(padding))) - 1U)) != 0) return std::nullopt;
    *to++ = static_cast<std::byte>(group >> 16U & 255U);
    if (padding == 1) *to = static_cast<std::byte>(group >> 8U & 255U);
  }
  if ((seen & detail::base64_values::wrong) != 0) return std::nullopt;
  return raw;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
