// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/bytes.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace {

using cofferdam::as_bytes;
using cofferdam::as_text;
using cofferdam::bytes;
using cofferdam::to_bytes;

TEST(Bytes, a_view_of_a_text_is_the_text_in_place) {
  const std::string text("a\0\xFF", 3);
  const auto view = as_bytes(text);
  EXPECT_EQ(static_cast<const void*>(view.data()), static_cast<const void*>(text.data()));
  EXPECT_EQ(view.size(), 3U);
  EXPECT_EQ(view[2], std::byte{0xFF});
}

TEST(Bytes, text_and_back_changes_no_byte) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  const bytes copy = to_bytes(all);
  EXPECT_EQ(as_text(copy), all);
  EXPECT_NE(static_cast<const void*>(copy.data()), static_cast<const void*>(all.data()));
}

TEST(Bytes, nothing_is_nothing_both_ways) {
  EXPECT_TRUE(to_bytes("").empty());
  EXPECT_TRUE(as_bytes({}).empty());
  EXPECT_TRUE(as_text({}).empty());
}

}  // namespace
