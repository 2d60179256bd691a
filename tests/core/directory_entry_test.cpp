// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/directory_entry.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

namespace {

using namespace cofferdam;

TEST(DirectoryEntry, has_only_the_facts_that_were_set) {
  directory_entry entry("f", file_type::regular, 5, 0640);
  EXPECT_FALSE(entry.modified());
  EXPECT_FALSE(entry.owner_id());
  EXPECT_FALSE(entry.group_id());
  EXPECT_EQ(entry.owner() + entry.group() + entry.target(), "");
  const std::chrono::system_clock::time_point when{std::chrono::seconds(1'700'000'000)};
  entry.modified(when).ids(0, 7).names("root", "").target("elsewhere");
  entry.names("root", "staff");
  EXPECT_EQ(entry.modified(), when);
  EXPECT_EQ(entry.owner_id(), 0U);
  EXPECT_EQ(entry.group_id(), 7U);
  EXPECT_EQ(entry.owner(), "root");
  EXPECT_EQ(entry.group(), "staff");
  EXPECT_EQ(entry.target(), "elsewhere") << "a later setter keeps the target";
  const directory_entry moved("g", entry);
  EXPECT_EQ(moved.path(), "g");
  EXPECT_EQ(moved.size(), 5U);
  EXPECT_EQ(moved.target(), "elsewhere");
}

TEST(DirectoryEntry, a_time_that_no_clock_can_represent_is_unknown) {
  EXPECT_EQ(detail::file_time(1, 500'000'000)->time_since_epoch(), std::chrono::milliseconds(1500));
  EXPECT_EQ(detail::file_time(-1, 0)->time_since_epoch(), std::chrono::seconds(-1));
  EXPECT_FALSE(detail::file_time(std::numeric_limits<std::int64_t>::max(), 0));
  EXPECT_FALSE(detail::file_time(std::numeric_limits<std::int64_t>::min(), 0));
  EXPECT_FALSE(detail::file_time(0, 1'000'000'000));
}

}  // namespace
