// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <span>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns bytes as text, with two lower-case hexadecimal digits for each byte.
inline std::string hexadecimal(std::span<const unsigned char> content) {
  std::string text;
  text.reserve(2 * content.size());
  for (const unsigned char value : content) {
    text += "0123456789abcdef"[value >> 4U];
    text += "0123456789abcdef"[value & 15U];
  }
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
