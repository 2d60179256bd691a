// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// This file and tu_two.cpp include the single header and are linked into one program, so the header must not define
// anything twice.

#include <cofferdam/cofferdam.hpp>

#include <gtest/gtest.h>

#include <string>
#include <system_error>
#include <vector>

std::string version_seen_by_the_other_file();
std::vector<const std::error_category*> categories_seen_by_the_other_file();

TEST(SingleHeader, two_files_that_include_it_make_one_program) {
  EXPECT_EQ(std::string(cofferdam::version), version_seen_by_the_other_file());
}

TEST(SingleHeader, two_files_have_the_same_error_categories) {
  const std::vector<const std::error_category*> here{
      &cofferdam::error_category(),
      &cofferdam::net_error_category(),
      &cofferdam::chat_error_category(),
      &cofferdam::docker::detail::http_status_category(),
      &cofferdam::e2b::detail::status_category(),
      &cofferdam::e2b::sandbox_category(),
  };
  EXPECT_EQ(here, categories_seen_by_the_other_file());
  std::string names;
  for (const std::error_category* each : here) names += std::string(each->name()) + ": " + each->message(2) + "\n";
  EXPECT_EQ(names,
            "cofferdam: cancelled\n"
            "cofferdam.net: the connection was closed inside a message\n"
            "cofferdam.chat: the answer was cut off by the output limit\n"
            "http status: HTTP status 2\n"
            "cofferdam.e2b: HTTP status 2\n"
            "cofferdam.e2b.sandbox: the sandbox is paused\n");
}
