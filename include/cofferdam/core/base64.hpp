// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cofferdam::inline v0 {

/// Which 64 characters stand for the values 0 to 63.
enum class base64_alphabet {
  standard,  ///< `+` and `/` last (RFC 4648, 4)
  url,       ///< `-` and `_` last (RFC 4648, 5)
};

namespace detail {

constexpr std::string_view base64_characters(base64_alphabet which) noexcept {
  return which == base64_alphabet::url ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
                                       : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

constexpr int base64_value(char c, base64_alphabet which) noexcept {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  const bool url = which == base64_alphabet::url;
  if (c == (url ? '-' : '+')) return 62;
  if (c == (url ? '_' : '/')) return 63;
  return -1;
}

}  // namespace detail

/// Bytes as base64, padded with `=`, without line breaks.
/// \return      4 characters for each 3 bytes begun.
/// \par Source  RFC 4648, 4 and 5.
inline std::string base64_encode(bytes_view raw, base64_alphabet which = base64_alphabet::standard) {
  const std::string_view characters = detail::base64_characters(which);
  std::string text;
  text.reserve((raw.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < raw.size(); at += 3) {
    const std::size_t here = raw.size() - at < 3 ? raw.size() - at : 3;
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8U | (i < here ? std::to_integer<std::uint32_t>(raw[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= here ? characters[group >> (18U - 6U * static_cast<unsigned>(i)) & 63U] : '=';
  }
  return text;
}

/// The bytes that a base64 text stands for.
///
/// Strict: the padding must be there, and nothing else may be (no blanks, no line breaks, no characters of the other
/// alphabet, no set bits behind the last byte). So each text that is accepted is the one that `base64_encode` writes.
/// \return      nothing where `text` is not that.
/// \par Source  RFC 4648, 3.2, 3.3 and 3.5.
inline std::optional<bytes> base64_decode(std::string_view text, base64_alphabet which = base64_alphabet::standard) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  bytes raw;
  raw.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const std::size_t missing = at + 4 == text.size() ? padding : 0;
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const int value = i < 4 - missing ? detail::base64_value(text[at + i], which) : 0;
      if (value < 0) return std::nullopt;
      group = group << 6U | static_cast<std::uint32_t>(value);
    }
    if ((group & ((1U << (8U * static_cast<unsigned>(missing))) - 1U)) != 0) return std::nullopt;
    for (std::size_t i = 0; i < 3 - missing; ++i)
      raw.push_back(static_cast<std::byte>(group >> (16U - 8U * static_cast<unsigned>(i)) & 255U));
  }
  return raw;
}

}  // namespace cofferdam::inline v0
