// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

// The layout of the 512-byte header blocks of a tar archive: POSIX pax(1), and the GNU tar manual for base-256 numbers.

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline constexpr std::size_t tar_block = 512;

/// The position and size of a value in a header block, in bytes.
struct tar_field {
  std::size_t at;
  std::size_t size;
};
inline constexpr tar_field tar_name{0, 100};
inline constexpr tar_field tar_mode{100, 8};
inline constexpr tar_field tar_uid{108, 8};
inline constexpr tar_field tar_gid{116, 8};
inline constexpr tar_field tar_size{124, 12};
inline constexpr tar_field tar_modified{136, 12};
inline constexpr tar_field tar_checksum{148, 8};
inline constexpr tar_field tar_flag{156, 1};
inline constexpr tar_field tar_link{157, 100};
inline constexpr tar_field tar_magic{257, 8};
inline constexpr tar_field tar_prefix{345, 155};

inline constexpr std::string_view tar_posix_magic{"ustar\0", 6};

/// Returns the number of zero bytes that fill the last block after `size` bytes of data.
inline constexpr std::size_t tar_padding(std::uint64_t size) noexcept {
  return (tar_block - size % tar_block) % tar_block;
}

/// Returns the part of a field before its first NUL, or the whole field.
inline std::string_view until_nul(std::string_view field) noexcept { return field.substr(0, field.find('\0')); }

/// Parses a number in the form that GNU tar uses if the octal digits do not suffice: big-endian two's complement, whose
/// top bit is replaced by a marker. Returns no value if the number does not fit in 64 bits.
inline std::optional<std::int64_t> tar_base_256(std::string_view field) noexcept {
  const auto first = static_cast<unsigned char>(field.front());
  const bool negative = (first & 0x40U) != 0;
  const std::uint64_t fill = negative ? 0xff : 0;
  std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
  // The next shift discards the top byte, so it must contain only copies of the sign bit.
  for (std::size_t i = 0; i < field.size(); ++i) {
    const std::uint64_t digit =
        i == 0 ? ((first & 0x7fU) | (negative ? 0x80U : 0U)) : static_cast<unsigned char>(field[i]);
    if (value >> 56U != fill) return std::nullopt;
    value = value << 8U | digit;
  }
  if ((value >> 63U != 0) != negative) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

/// Parses a number in a field of a header; no value if it is invalid. A field that has only blanks or NULs is 0.
inline std::optional<std::int64_t> tar_number(std::string_view field) noexcept {
  if ((static_cast<unsigned char>(field.front()) & 0x80U) != 0) return tar_base_256(field);
  const std::size_t begin = std::min(field.find_first_not_of(' '), field.size());
  const std::size_t end = std::min(field.find_first_not_of("01234567", begin), field.size());
  if (field.find_first_not_of(std::string_view("\0 ", 2), end) != std::string_view::npos) return std::nullopt;
  std::int64_t value = 0;  // cannot overflow, because fields have at most twelve digits
  for (const char digit : field.substr(begin, end - begin)) value = value * 8 + (digit - '0');
  return value;
}

/// The two checksums of a header block: the sum of its bytes as unsigned and as signed characters. The checksum field
/// itself counts as blanks. Early programs used signed characters, so readers accept both sums.
struct tar_sums {
  std::int64_t of_unsigned = 0;
  std::int64_t of_signed = 0;
};
inline tar_sums tar_sums_of(std::string_view block) noexcept {
  tar_sums sums;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool own = i >= tar_checksum.at && i < tar_checksum.at + tar_checksum.size;
    const auto byte = own ? static_cast<unsigned char>(' ') : static_cast<unsigned char>(block[i]);
    sums.of_unsigned += byte;
    sums.of_signed += static_cast<signed char>(byte);
  }
  return sums;
}

/// Parses a decimal number that fills the whole text; no value for any other text.
template <class T>
std::optional<T> decimal(std::string_view text) noexcept {
  T value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// One record of a pax header: "LENGTH KEY=VALUE\n". LENGTH counts all bytes of the record.
struct pax_record {
  std::string_view key;
  std::string_view value;
};

/// Removes the first record from `rest` and returns it; no value if the record is invalid.
inline std::optional<pax_record> take_pax_record(std::string_view& rest) noexcept {
  const std::size_t blank = rest.substr(0, 12).find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint64_t> size = decimal<std::uint64_t>(rest.substr(0, blank));
  if (!size || *size < blank + 4 || *size > rest.size()) return std::nullopt;
  const std::string_view record = rest.substr(blank + 1, static_cast<std::size_t>(*size) - blank - 1);
  const std::size_t equals = record.find('=');
  if (record.back() != '\n' || equals == std::string_view::npos || equals == 0) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(*size));
  return pax_record{record.substr(0, equals), record.substr(equals + 1, record.size() - equals - 2)};
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
