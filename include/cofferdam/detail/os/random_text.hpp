// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/hexadecimal.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <sys/random.h>
#include <sys/types.h>

// Unpredictable text for names and secrets. All random bits come from the kernel, by getrandom(2).

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Fills a buffer with random bytes.
/// \throws error{exec_errc::io_error} if the kernel provides none.
inline void fill_random(std::span<unsigned char> room) {
  while (!room.empty()) {
    const ssize_t got = ::getrandom(room.data(), room.size(), 0);
    if (got > 0)
      room = room.subspan(static_cast<std::size_t>(got));
    else if (errno != EINTR)
      throw error(exec_errc::io_error, "the system provides no random numbers",
                  std::error_code(errno, std::system_category()));
  }
}

inline std::uint64_t random_number() {
  std::array<unsigned char, 8> raw{};
  fill_random(raw);
  std::uint64_t value = 0;
  for (const unsigned char each : raw) value = value << 8U | each;
  return value;
}

/// Returns `count` random characters of `alphabet`, which has at most 256 characters. All characters are equally
/// likely.
inline std::string random_characters(std::size_t count, std::string_view alphabet) {
  std::string text;
  const std::size_t fair = 256 / alphabet.size() * alphabet.size();
  while (text.size() < count) {
    std::array<unsigned char, 64> raw{};
    fill_random(raw);
    for (const unsigned char value : raw)
      if (value < fair && text.size() < count) text += alphabet[value % alphabet.size()];
  }
  return text;
}

/// Returns `count` random hexadecimal digits of four bits each. The default of 16 digits suffices where a duplicate
/// does little harm.
inline std::string random_digits(std::size_t count = 16) { return random_characters(count, "0123456789abcdef"); }
/// Returns `count` random lower-case letters and digits, of about five bits each.
inline std::string random_name(std::size_t count) {
  return random_characters(count, "abcdefghijklmnopqrstuvwxyz0123456789");
}
/// Returns a secret: 64 hexadecimal digits with 256 random bits.
inline std::string random_token() { return random_digits(64); }

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
