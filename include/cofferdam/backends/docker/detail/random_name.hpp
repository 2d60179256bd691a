// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>

#include <sys/random.h>
#include <unistd.h>

namespace cofferdam::inline v0::docker::detail {

/// 16 hexadecimal digits that nobody else has.
inline std::string random_name() {
  std::array<unsigned char, 8> raw{};
  std::size_t have = 0;
  while (have < raw.size()) {
    const ssize_t got = ::getrandom(raw.data() + have, raw.size() - have, 0);
    if (got > 0)
      have += static_cast<std::size_t>(got);
    else if (errno != EINTR)
      throw error(errc::provider_failed, "docker: the system has no random numbers",
                  std::error_code(errno, std::system_category()));
  }
  std::string text;
  for (const unsigned char each : raw) {
    text += "0123456789abcdef"[each >> 4U];
    text += "0123456789abcdef"[each & 15U];
  }
  return text;
}

/// What this machine is called.
inline std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

}  // namespace cofferdam::inline v0::docker::detail
