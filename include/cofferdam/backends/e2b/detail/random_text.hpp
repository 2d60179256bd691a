// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

#include <sys/random.h>
#include <sys/types.h>

namespace cofferdam::inline v0::e2b::detail {

inline std::uint64_t random_number() {
  std::array<unsigned char, 8> raw{};
  std::size_t have = 0;
  while (have < raw.size()) {
    const ssize_t got = ::getrandom(raw.data() + have, raw.size() - have, 0);
    if (got > 0)
      have += static_cast<std::size_t>(got);
    else if (errno != EINTR)
      throw error(errc::provider_failed, "e2b: the system has no random numbers",
                  std::error_code(errno, std::system_category()));
  }
  std::uint64_t all = 0;
  for (const unsigned char each : raw) all = all << 8U | each;
  return all;
}

/// 16 hexadecimal digits that nobody else has.
inline std::string random_text() {
  std::uint64_t number = random_number();
  std::string text;
  for (int i = 0; i < 16; ++i, number >>= 4U) text += "0123456789abcdef"[number & 15U];
  return text;
}

}  // namespace cofferdam::inline v0::e2b::detail
