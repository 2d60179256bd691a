// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include "both_modes/echo.hpp"

#include <gtest/gtest.h>

#include <string>

TEST(BothModes, work_in_one_program) {
  EXPECT_EQ(header_only_library::echo("one"), "one\n");
  EXPECT_EQ(compiled_library::echo("two"), "two\n");
}

TEST(BothModes, have_types_of_their_own_whose_names_say_the_mode) {
  EXPECT_NE(header_only_library::type_name(), compiled_library::type_name());
  EXPECT_EQ(header_only_library::type_name().find("v0_compiled"), std::string::npos);
  EXPECT_NE(compiled_library::type_name().find("v0_compiled"), std::string::npos);
}
