// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns a date in the form of HTTP, for example `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7). Does not depend
/// on the locale.
inline std::string http_date(std::time_t when) {
  constexpr std::array<const char*, 7> days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm parts{};
  ::gmtime_r(&when, &parts);
  std::array<char, 64> text{};
  const int size = std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                 days[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                                 months[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900, parts.tm_hour,
                                 parts.tm_min, parts.tm_sec);
  return std::string(text.data(), static_cast<std::size_t>(size));
}
inline std::string http_date_now() { return http_date(std::time(nullptr)); }

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
