// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/command_result.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace {

using cofferdam::as_text;
using cofferdam::bytes;
using cofferdam::captured_output;
using cofferdam::to_bytes;
using cofferdam::detail::is_valid_utf8;

captured_output whole(std::string_view text) { return captured_output(to_bytes(text), bytes(), text.size()); }

TEST(Captured, a_stream_that_said_nothing_is_empty) {
  const captured_output nothing;
  EXPECT_EQ(nothing.total(), 0U);
  EXPECT_EQ(nothing.cut(), 0U);
  EXPECT_EQ(nothing.text(), "");
  EXPECT_EQ(nothing.repairs(), 0U);
}

TEST(Captured, an_uncut_stream_is_all_head) {
  const captured_output stream = whole("all of it");
  EXPECT_EQ(as_text(stream.head()), "all of it");
  EXPECT_TRUE(stream.tail().empty());
  EXPECT_EQ(stream.cut(), 0U);
  EXPECT_EQ(stream.text(), "all of it");
}

TEST(Captured, head_and_tail_with_nothing_between_are_joined) {
  // The border between head and tail divides an emoji, which must stay intact.
  const captured_output stream(to_bytes("a\xF0\x9F"), to_bytes("\x98\x80z"), 6);
  EXPECT_EQ(as_text(stream.head()), "a\xF0\x9F\x98\x80z");
  EXPECT_TRUE(stream.tail().empty());
  EXPECT_EQ(stream.cut(), 0U);
  EXPECT_EQ(stream.text(), "a\xF0\x9F\x98\x80z");
  EXPECT_EQ(stream.repairs(), 0U);
}

TEST(Captured, the_text_of_a_cut_stream_says_how_much_is_missing) {
  const captured_output stream(to_bytes("abc"), to_bytes("xyz"), 1000);
  EXPECT_EQ(stream.cut(), 994U);
  EXPECT_EQ(stream.text(), "abc\n[... 994 of 1000 bytes left out ...]\nxyz");
  EXPECT_EQ(stream.head_text(), "abc");
  EXPECT_EQ(stream.tail_text(), "xyz");
}

TEST(Captured, a_sequence_that_only_the_cut_broke_is_left_out_and_no_repair) {
  const captured_output stream(to_bytes("a\xF0\x9F\x98"), to_bytes("\x98\x80z"), 1000);
  EXPECT_EQ(stream.text(), "a" + captured_output::cut_marker(stream.cut(), 1000) + "z");
  EXPECT_EQ(stream.repairs(), 0U);
  EXPECT_EQ(stream.head().size(), 4U) << "the raw bytes stay";
}

TEST(Captured, a_sequence_that_the_guest_broke_is_repaired_and_counted) {
  const captured_output stream(to_bytes("a\xFF\xC0\xAFz"), bytes(), 5);
  EXPECT_EQ(stream.text(), "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
  EXPECT_EQ(stream.repairs(), 3U);
  EXPECT_EQ(as_text(stream.head()), "a\xFF\xC0\xAFz");
}

TEST(Captured, a_sequence_the_guest_left_unfinished_at_its_end_is_repaired) {
  const captured_output stream = whole("a\xF0\x9F\x98");
  EXPECT_EQ(stream.text(), "a\xEF\xBF\xBD");
  EXPECT_EQ(stream.repairs(), 1U);
}

TEST(Captured, nothing_kept_of_something_is_only_the_marker) {
  const captured_output stream(bytes(), bytes(), 7);
  EXPECT_EQ(stream.cut(), 7U);
  EXPECT_EQ(stream.text(), captured_output::cut_marker(7, 7));
}

TEST(Captured, a_total_below_what_is_there_is_raised_to_it) {
  const captured_output stream(to_bytes("abc"), to_bytes("de"), 1);
  EXPECT_EQ(stream.total(), 5U);
  EXPECT_EQ(stream.cut(), 0U);
  EXPECT_EQ(stream.text(), "abcde");
}

TEST(Captured, any_bytes_give_valid_text) {
  std::string text;
  for (int i = 0; i < 256; ++i) text.push_back(static_cast<char>(i));
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const captured_output stream(to_bytes(text.substr(0, cut)), to_bytes(text.substr(cut)), 1000);
    EXPECT_TRUE(is_valid_utf8(stream.text()));
  }
}

}  // namespace
