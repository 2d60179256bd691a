// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <chrono>
#include <cstddef>
#include <ctime>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Formats a time as RFC 3339 defines it, in UTC: `2026-01-31T23:59:59.045Z`.
/// \param digits  the number of digits after the second, 0 to 9; further digits are cut off.
inline std::string utc_time(std::chrono::system_clock::time_point when, std::size_t digits) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(when);
  const std::time_t seconds = whole.time_since_epoch().count();
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[40];
  std::string result(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts));
  if (digits != 0) {
    const std::chrono::nanoseconds rest = when - whole;
    const std::string fraction = std::to_string(1'000'000'000 + rest.count());  // the first digit is not a part of it
    result += "." + fraction.substr(1, digits);
  }
  return result + "Z";
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
