// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Parses a port number. Returns no value unless the text is a decimal number from 1 to 65535. Leading zeros are
/// accepted.
inline std::optional<std::uint16_t> port_number(std::string_view text) noexcept {
  unsigned number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || number > 65535) return std::nullopt;
    number = number * 10 + static_cast<unsigned>(c - '0');
  }
  if (number == 0 || number > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(number);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
