// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/net/port_number.hpp>

#include <gtest/gtest.h>

#include <optional>

namespace {

using cofferdam::detail::port_number;

TEST(PortNumber, is_1_to_65535_and_nothing_else) {
  EXPECT_EQ(port_number("1"), 1);
  EXPECT_EQ(port_number("65535"), 65535);
  EXPECT_EQ(port_number("00080"), 80);
  for (const char* wrong : {"", "0", "000", "65536", "99999999999999999999", "80x", "x", "-1", "+1", " 1", "1 "})
    EXPECT_EQ(port_number(wrong), std::nullopt) << wrong;
}

}  // namespace
