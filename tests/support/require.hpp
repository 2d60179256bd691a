// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace cofferdam_test {

/// Returns true if `name` is in the comma-separated list COFFERDAM_REQUIRE, or if the list is `all`.
inline bool is_required(std::string_view name) {
  const char* list = std::getenv("COFFERDAM_REQUIRE");
  std::string_view rest = list == nullptr ? std::string_view() : std::string_view(list);
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    if (item == name || item == "all") return true;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return false;
}

}  // namespace cofferdam_test

/// Ends the test unless `condition` is true. The test is then skipped, with `unproven` as the reason. It fails instead
/// if `is_required(name)`. For features that a machine may lack: `COFFERDAM_NEEDS("openat2", has_openat2(), "the
/// kernel's path rules")`.
#define COFFERDAM_NEEDS(name, condition, unproven)                                                           \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      if (::cofferdam_test::is_required(name)) {                                                             \
        FAIL() << "COFFERDAM_REQUIRE names " << (name) << ", which is not here; not proven: " << (unproven); \
      } else {                                                                                               \
        GTEST_SKIP() << "not proven here: " << (unproven) << " (needs " << (name) << ")";                    \
      }                                                                                                      \
    }                                                                                                        \
  } while (false)
