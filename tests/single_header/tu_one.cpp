// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Two files include the single header and make one program: nothing in it may be defined twice.

#include <cofferdam/cofferdam.hpp>

#include <gtest/gtest.h>

#include <string>

std::string version_seen_by_the_other_file();

TEST(SingleHeader, two_files_that_include_it_make_one_program) {
  EXPECT_EQ(std::string(cofferdam::version), version_seen_by_the_other_file());
}
