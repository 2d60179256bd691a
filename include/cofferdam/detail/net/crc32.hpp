// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Tables for the checksum of several bytes at once: table k has the checksums of a byte that k zero bytes follow.
using crc32_tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr crc32_tables make_crc32_tables() {
  crc32_tables tables{};
  for (std::uint32_t n = 0; n < 256; ++n) {
    std::uint32_t c = n;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1U) != 0 ? 0xEDB88320U ^ (c >> 1U) : c >> 1U;
    tables[0][n] = c;
  }
  for (std::size_t k = 1; k < tables.size(); ++k)
    for (std::size_t n = 0; n < 256; ++n) tables[k][n] = (tables[k - 1][n] >> 8U) ^ tables[0][tables[k - 1][n] & 0xFFU];
  return tables;
}
inline constexpr crc32_tables crc32_table = make_crc32_tables();

/// The CRC-32 of gzip (polynomial 0xEDB88320), computed piece by piece.
/// \par Source  RFC 1952, section 8.
class crc32 {
 public:
  void add(bytes_view data) noexcept {
    const auto* at = reinterpret_cast<const unsigned char*>(data.data());
    std::size_t left = data.size();
    std::uint32_t state = state_;
    const auto& table = crc32_table;
    for (; left >= 8; at += 8, left -= 8) {
      state ^= at[0] | std::uint32_t{at[1]} << 8U | std::uint32_t{at[2]} << 16U | std::uint32_t{at[3]} << 24U;
      state = table[7][state & 0xFFU] ^ table[6][state >> 8U & 0xFFU] ^ table[5][state >> 16U & 0xFFU] ^
              table[4][state >> 24U] ^ table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^ table[0][at[7]];
    }
    for (; left != 0; ++at, --left) state = table[0][(state ^ *at) & 0xFFU] ^ (state >> 8U);
    state_ = state;
  }
  std::uint32_t value() const noexcept { return state_ ^ 0xFFFFFFFFU; }

 private:
  std::uint32_t state_ = 0xFFFFFFFFU;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
