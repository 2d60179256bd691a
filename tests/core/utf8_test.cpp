// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/core/utf8.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>

namespace {

using cofferdam::detail::append_repaired_utf8;
using cofferdam::detail::append_utf8;
using cofferdam::detail::decode_utf8;
using cofferdam::detail::is_valid_utf8;
using cofferdam::detail::utf8_unit;
using cofferdam::detail::without_cut_end;
using cofferdam::detail::without_cut_start;
using namespace std::string_literals;
using namespace std::string_view_literals;

static_assert(decode_utf8("\xF0\x9F\x98\x80"sv).code_point() == U'\U0001F600');
static_assert(decode_utf8("\xF0\x9F\x98\x80"sv).size() == 4);
static_assert(sizeof(utf8_unit) <= 8);

const std::string replacement = "\xEF\xBF\xBD";

struct repaired {
  std::string text;
  std::size_t count = 0;
  bool operator==(const repaired&) const = default;
};

repaired repair(std::string_view raw) {
  repaired result;
  result.count = append_repaired_utf8(result.text, raw);
  return result;
}

/// The decoder of the WHATWG Encoding Standard, section 8.1.1, implemented literally. It is the reference for the
/// library's decoder.
repaired whatwg_repair(std::string_view raw) {
  repaired result;
  char32_t code_point = 0;
  unsigned bytes_seen = 0;
  unsigned needed = 0;
  unsigned lower = 0x80;
  unsigned upper = 0xBF;
  const auto broken = [&] {
    result.text += replacement;
    ++result.count;
  };
  std::size_t i = 0;
  while (true) {
    if (i == raw.size()) {
      if (needed != 0) broken();
      return result;
    }
    const auto byte = static_cast<unsigned char>(raw[i++]);
    if (needed == 0) {
      if (byte <= 0x7F) {
        result.text.push_back(static_cast<char>(byte));
      } else if (byte >= 0xC2 && byte <= 0xDF) {
        needed = 1;
        code_point = byte & 0x1FU;
      } else if (byte >= 0xE0 && byte <= 0xEF) {
        if (byte == 0xE0) lower = 0xA0;
        if (byte == 0xED) upper = 0x9F;
        needed = 2;
        code_point = byte & 0xFU;
      } else if (byte >= 0xF0 && byte <= 0xF4) {
        if (byte == 0xF0) lower = 0x90;
        if (byte == 0xF4) upper = 0x8F;
        needed = 3;
        code_point = byte & 0x7U;
      } else {
        broken();
      }
      continue;
    }
    if (byte < lower || byte > upper) {
      code_point = 0;
      needed = bytes_seen = 0;
      lower = 0x80;
      upper = 0xBF;
      --i;  // the standard's "restore byte to the stream"
      broken();
      continue;
    }
    lower = 0x80;
    upper = 0xBF;
    code_point = (code_point << 6) | (byte & 0x3FU);
    if (++bytes_seen != needed) continue;
    append_utf8(result.text, code_point);
    code_point = 0;
    needed = bytes_seen = 0;
  }
}

TEST(Utf8, every_code_point_survives_encoding_and_decoding) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, c);
    const utf8_unit unit = decode_utf8(text);
    ASSERT_TRUE(unit.valid()) << static_cast<unsigned>(c);
    ASSERT_EQ(unit.code_point(), c);
    ASSERT_EQ(unit.size(), text.size());
  }
}

TEST(Utf8, what_is_no_scalar_value_is_appended_as_the_replacement) {
  for (const char32_t c : {char32_t{0xD800}, char32_t{0xDFFF}, char32_t{0x110000}, char32_t{0xFFFFFFFF}}) {
    std::string text;
    append_utf8(text, c);
    EXPECT_EQ(text, replacement);
  }
}

TEST(Utf8, the_examples_of_the_unicode_standard_get_their_replacements) {
  const auto times = [](int count) {
    std::string text;
    while (count-- > 0) text += replacement;
    return text;
  };
  // The examples of Unicode 15, tables 3-8 to 3-11.
  EXPECT_EQ(repair("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41").text, times(8) + "A");
  EXPECT_EQ(repair("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41").text, times(8) + "A");
  EXPECT_EQ(repair("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42").text, times(5) + "A" + times(2) + "B");
  EXPECT_EQ(repair("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41").text, times(4) + "A");
}

TEST(Utf8, all_four_byte_mixtures_of_border_bytes_are_repaired_as_the_standard_decoder_does) {
  const std::string borders =
      "\x00\x41\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0\xC1\xC2\xDF\xE0\xE1\xEC\xED\xEE\xEF\xF0\xF1\xF3\xF4\xF5\xFF"s;
  std::string raw(4, '\0');
  for (const char a : borders)
    for (const char b : borders)
      for (const char c : borders)
        for (const char d : borders) {
          raw = {a, b, c, d};
          const repaired ours = repair(raw);
          ASSERT_EQ(ours, whatwg_repair(raw)) << ::testing::PrintToString(raw);
          ASSERT_EQ(is_valid_utf8(raw), ours.count == 0) << ::testing::PrintToString(raw);
        }
}

TEST(Utf8, long_mixtures_are_repaired_as_the_standard_decoder_does) {
  std::mt19937 random(1);
  const std::string_view pieces[] = {"plain text, longer than a word",
                                     "\xC3\xA4",
                                     "\xE2\x82\xAC",
                                     "\xF0\x9F\x98\x80",
                                     "\xF0\x9F\x98",
                                     "\x98",
                                     "\xED\xA0\x80",
                                     "\xC0\x80",
                                     "\xFF",
                                     "\n",
                                     "\xF4\x90"};
  for (int round = 0; round < 3000; ++round) {
    std::string raw;
    for (auto count = random() % 12; count > 0; --count) raw += pieces[random() % std::size(pieces)];
    const repaired ours = repair(raw);
    ASSERT_EQ(ours, whatwg_repair(raw)) << ::testing::PrintToString(raw);
    ASSERT_TRUE(is_valid_utf8(ours.text));
  }
}

TEST(Utf8, repairing_appends_and_leaves_what_was_there) {
  std::string out = "kept ";
  EXPECT_EQ(append_repaired_utf8(out, "a\xFFz"), 1U);
  EXPECT_EQ(out, "kept a" + replacement + "z");
}

TEST(Utf8, a_text_cut_inside_a_sequence_loses_exactly_its_begin) {
  const std::string text = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80";
  const std::size_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(without_cut_end(text.substr(0, cut)).size(), whole[cut]) << cut;
}

TEST(Utf8, a_broken_end_that_nothing_could_complete_stays) {
  for (const std::string_view raw :
       {"a\xFF"sv, "a\x80"sv, "a\xC0"sv, "a\xED\xA0"sv, "a\xF5\x80"sv, "\xE0\x9F"sv, "\xF0\x9F\x98\x80\x80"sv})
    EXPECT_EQ(without_cut_end(raw), raw) << ::testing::PrintToString(raw);
  EXPECT_EQ(without_cut_end("\xE0\xF0\x90"sv), "\xE0"sv);
  EXPECT_EQ(without_cut_end(""sv), ""sv);
}

TEST(Utf8, a_text_that_starts_inside_a_sequence_loses_exactly_its_rest) {
  EXPECT_EQ(without_cut_start("\x9F\x98\x80z"sv), "z"sv);
  // No UTF-8 sequence has four continuation bytes.
  EXPECT_EQ(without_cut_start("\x80\x80\x80\x80z"sv), "\x80z"sv);
  EXPECT_EQ(without_cut_start("z\x80"sv), "z\x80"sv);
  EXPECT_EQ(without_cut_start("\x80"sv), ""sv);
  EXPECT_EQ(without_cut_start("\xC3\xA4"sv), "\xC3\xA4"sv);
  EXPECT_EQ(without_cut_start(""sv), ""sv);
}

TEST(Utf8, the_decoder_tells_cut_off_from_broken) {
  EXPECT_TRUE(decode_utf8("\xF0\x9F\x98"sv).incomplete());
  EXPECT_FALSE(decode_utf8("\xF0\x9F\x98"sv).valid());
  EXPECT_FALSE(decode_utf8("\xF0\x9F\x98z"sv).incomplete());
  EXPECT_EQ(decode_utf8("\xF0\x9F\x98z"sv).size(), 3U);
  EXPECT_EQ(decode_utf8("\xF0\x9F\x98z"sv).code_point(), U'\uFFFD');
}

}  // namespace
