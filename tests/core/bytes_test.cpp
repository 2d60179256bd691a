// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/bytes.hpp>

#include <gtest/gtest.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

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
  std::string text;
  for (int i = 0; i < 256; ++i) text.push_back(static_cast<char>(i));
  const bytes copy = to_bytes(text);
  EXPECT_EQ(as_text(copy), text);
  EXPECT_NE(static_cast<const void*>(copy.data()), static_cast<const void*>(text.data()));
}

static_assert(std::same_as<decltype(as_text(std::declval<bytes>())), std::string>, "a temporary is copied");
static_assert(std::same_as<decltype(as_text(std::declval<bytes&>())), std::string_view>);
static_assert(std::same_as<decltype(as_text(std::declval<const bytes&>())), std::string_view>);
static_assert(std::same_as<decltype(as_text(std::declval<cofferdam::bytes_view>())), std::string_view>);

TEST(Bytes, text_of_temporary_bytes_outlives_them) {
  const std::string long_text(100, 'x');
  const auto text = as_text(to_bytes(long_text));
  EXPECT_EQ(text, long_text);
}

static_assert(std::same_as<decltype(as_bytes(std::declval<std::string>())), bytes>, "a temporary is copied");
static_assert(std::same_as<decltype(as_bytes(std::declval<std::string&>())), cofferdam::bytes_view>);
static_assert(std::same_as<decltype(as_bytes(std::declval<const std::string&>())), cofferdam::bytes_view>);
static_assert(std::same_as<decltype(as_bytes("literal")), cofferdam::bytes_view>);
static_assert(std::same_as<decltype(as_bytes(std::declval<std::string_view>())), cofferdam::bytes_view>);

TEST(Bytes, the_bytes_of_a_temporary_text_outlive_it) {
  const auto kept = as_bytes(std::string(100, 'a') + std::string(100, 'b'));
  EXPECT_EQ(as_text(kept), std::string(100, 'a') + std::string(100, 'b'));
}

TEST(Bytes, nothing_is_nothing_both_ways) {
  EXPECT_TRUE(to_bytes("").empty());
  EXPECT_TRUE(as_bytes({}).empty());
  EXPECT_TRUE(as_text({}).empty());
}

}  // namespace
