// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/printable_text.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using cofferdam::one_line;
using cofferdam::printable_text;
using cofferdam::detail::append_utf8;
using cofferdam::detail::decode_utf8;
using cofferdam::detail::is_valid_utf8;
using namespace std::string_literals;
using namespace std::string_view_literals;

/// Returns true if the text is valid UTF-8 without control characters and without characters that change the
/// direction of text. The check is independent of the code under test.
bool is_harmless(std::string_view text) {
  if (!is_valid_utf8(text)) return false;
  while (!text.empty()) {
    const auto unit = decode_utf8(text);
    const char32_t c = unit.code_point();
    if ((c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0)) return false;
    for (const char32_t bad : U"\u061C\u200E\u200F\u2028\u2029\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069"sv)
      if (c == bad) return false;
    if (c >= 0xE0000 && c < 0xE0080) return false;
    text.remove_prefix(unit.size());
  }
  return true;
}

TEST(PrintableText, plain_text_stays_as_it_is) {
  const std::string text = "two lines\n\tand ä, €, 漢字, 👩‍💻, back\\slash & <tags>\n";
  EXPECT_EQ(printable_text(text), text);
  EXPECT_EQ(printable_text(""), "");
}

TEST(PrintableText, colours_are_dropped) {
  EXPECT_EQ(printable_text("\x1b[1;31mred\x1b[0m \x1b[38;5;200mpink\x1b[m \x1b[38:2::1:2:3mrgb"), "red pink rgb");
}

TEST(PrintableText, the_reset_that_tput_prints_is_dropped) { EXPECT_EQ(printable_text("\x1b(B\x1b[mtext"), "text"); }

TEST(PrintableText, cursor_modes_are_dropped) {
  EXPECT_EQ(printable_text("\x1b[?25lbusy\x1b[?25h\x1b[?2004h"), "busy");
}

TEST(PrintableText, a_dos_line_end_is_a_line_end) {
  EXPECT_EQ(printable_text("a\r\nb\r\n"), "a\nb\n");
  EXPECT_EQ(printable_text("a\r\r\nb"), "a\nb");
}

TEST(PrintableText, a_progress_bar_is_its_last_state) {
  EXPECT_EQ(printable_text("  1%\r 50%\r100%\ndone\n"), "100%\ndone\n");
}

TEST(PrintableText, what_is_not_written_over_stays_as_on_a_terminal) {
  EXPECT_EQ(printable_text("downloading\rdone\n"), "doneloading\n");
  EXPECT_EQ(printable_text("äöü\rx"), "xöü");
}

TEST(PrintableText, a_line_ends_whole_wherever_the_cursor_stands) {
  EXPECT_EQ(printable_text("hello\rbye\nnext"), "byelo\nnext");
  EXPECT_EQ(printable_text("hello\r"), "hello");
  EXPECT_EQ(printable_text("\r\r\rhello"), "hello");
}

TEST(PrintableText, a_line_can_be_erased) {
  EXPECT_EQ(printable_text("downloading\r\x1b[Kdone"), "done");
  EXPECT_EQ(printable_text("downloading\x1b[2K\rdone"), "done");
  EXPECT_EQ(printable_text("first\nsecond\x1b[2K\x1b[1Gdone"), "first\ndone");
  EXPECT_EQ(printable_text("downloading\r\x1b[0Jdone"), "done");
  EXPECT_EQ(printable_text("kept\x1b[1K"), "kept");
}

TEST(PrintableText, the_cursor_moves_within_its_line) {
  EXPECT_EQ(printable_text("abcdef\x1b[3DX"), "abcXef");
  EXPECT_EQ(printable_text("abcdef\x1b[1000DX"), "Xbcdef");
  EXPECT_EQ(printable_text("abcdef\x1b[2G_"), "a_cdef");
  EXPECT_EQ(printable_text("abcdef\r\x1b[2C_"), "ab_def");
  // The parameter 0 means 1.
  EXPECT_EQ(printable_text("abcdef\x1b[0D_"), "abcde_");
}

TEST(PrintableText, a_jump_to_the_right_is_one_blank) {
  EXPECT_EQ(printable_text("a\x1b[60000Cb"), "a b");
  EXPECT_EQ(printable_text("abc\r\x1b[99999999999999999999Cx"), "abc x");
}

TEST(PrintableText, a_move_to_another_line_begins_a_new_one_and_loses_nothing) {
  EXPECT_EQ(printable_text("one\x1b[1Atwo"), "one\ntwo");
  EXPECT_EQ(printable_text("\x1b[H\x1b[2Jscreen"), "screen");
  EXPECT_EQ(printable_text("old\x1b[2J\x1b[1;1Hnew"), "old\nnew");
  EXPECT_EQ(printable_text("one\x1b"
                           "Mtwo"),
            "one\ntwo");
  EXPECT_EQ(printable_text("one\rx\x1b[Btwo"), "xne\ntwo");
}

TEST(PrintableText, backspaces_are_applied) {
  EXPECT_EQ(printable_text("abc\b\bX"), "aXc");
  // Old man pages print bold letters in this way.
  EXPECT_EQ(printable_text("N\bNA\bAM\bME\bE"), "NAME");
  EXPECT_EQ(printable_text("\b\b\bstart"), "start");
  EXPECT_EQ(printable_text("one\n\btwo"), "one\ntwo");
  EXPECT_EQ(printable_text("😀\bx"), "x");
}

TEST(PrintableText, the_text_of_a_hyperlink_stays_and_its_wrapping_goes) {
  EXPECT_EQ(printable_text("see \x1b]8;;https://example.org/\x1b\\the page\x1b]8;;\x1b\\."), "see the page.");
  EXPECT_EQ(printable_text("see \x1b]8;id=1;https://example.org/\x07the page\x1b]8;;\x07."), "see the page.");
}

TEST(PrintableText, a_hyperlink_without_an_end_is_shown) {
  EXPECT_EQ(printable_text("\x1b]8;;https://example.org/ and all the rest"),
            "\\x1b]8;;https://example.org/ and all the rest");
  EXPECT_EQ(printable_text("\x1b]8;;a\nb\x07"), "\\x1b]8;;a\nb\\x07");
}

TEST(PrintableText, strings_for_the_terminal_are_shown) {
  EXPECT_EQ(printable_text("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(printable_text("\x1b]52;c;cm0gLXJm\x1b\\"), "\\x1b]52;c;cm0gLXJm\\x1b\\");
  EXPECT_EQ(printable_text("\x1bP1$r\x1b\\"), "\\x1bP1$r\\x1b\\");
  EXPECT_EQ(printable_text("\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\"),
            "\\x1b_apc\\x1b\\\\x1b^pm\\x1b\\\\x1bXsos\\x1b\\");
}

TEST(PrintableText, questions_to_the_terminal_are_shown) {
  EXPECT_EQ(printable_text("\x1b[6n\x1b[c\x1b[>c\x1b[!p"), "\\x1b[6n\\x1b[c\\x1b[>c\\x1b[!p");
  EXPECT_EQ(printable_text("\x1b"
                           "c"),
            "\\x1b"
            "c");
}

TEST(PrintableText, an_unfinished_sequence_is_shown_and_hides_nothing) {
  EXPECT_EQ(printable_text("\x1b"), "\\x1b");
  EXPECT_EQ(printable_text("\x1b["), "\\x1b[");
  EXPECT_EQ(printable_text("\x1b[31"), "\\x1b[31");
  EXPECT_EQ(printable_text("\x1b[31\nnext"), "\\x1b[31\nnext");
  EXPECT_EQ(printable_text("\x1b(0x"), "\\x1b(0x");
  EXPECT_EQ(printable_text("\x1b[" + std::string(100, '1') + "mx"), "\\x1b[" + std::string(100, '1') + "mx");
}

TEST(PrintableText, control_characters_are_shown) {
  EXPECT_EQ(printable_text("\0\a\v\f\x1f\x7f"sv), "\\x00\\x07\\x0b\\x0c\\x1f\\x7f");
}

TEST(PrintableText, eight_bit_controls_are_shown_and_do_nothing) {
  EXPECT_EQ(printable_text("\xC2\x9B"
                           "31mred\xC2\x85next\xC2\x9D"
                           "0;t\xC2\x9C"),
            "\\u009b31mred\\u0085next\\u009d0;t\\u009c");
}

TEST(PrintableText, bidirectional_controls_are_shown) {
  EXPECT_EQ(printable_text("access\u202E//\u2066x\u2069\u200F\u061C"), "access\\u202e//\\u2066x\\u2069\\u200f\\u061c");
}

TEST(PrintableText, other_line_separators_are_shown) {
  EXPECT_EQ(printable_text("a\u2028b\u2029"), "a\\u2028b\\u2029");
}

TEST(PrintableText, invisible_tag_characters_are_shown) {
  EXPECT_EQ(printable_text("hi\U000E0041\U000E007F"), "hi\\U000e0041\\U000e007f");
}

TEST(PrintableText, broken_utf8_is_repaired) {
  EXPECT_EQ(printable_text("a\xFF\xC3"), "a\uFFFD\uFFFD");
  EXPECT_EQ(printable_text("a\xFF\rb"), "b\uFFFD");
}

/// Applies the same rules as printable_text() without its optimisations: each line is an array of cells.
std::string slow_screen(const std::vector<std::string>& script) {
  std::string out;
  std::u32string cells;
  std::size_t cursor = 0;
  const auto flush = [&] {
    for (const char32_t c : cells) append_utf8(out, c);
    cells.clear();
    cursor = 0;
  };
  for (const std::string& step : script) {
    if (step == "\n" || step == "\r\n") {
      flush();
      out += '\n';
    } else if (step == "\r" || step == "\x1b[G") {
      cursor = 0;
    } else if (step == "\b" || step == "\x1b[D") {
      if (cursor > 0) --cursor;
    } else if (step == "\x1b[3D") {
      cursor -= std::min<std::size_t>(cursor, 3);
    } else if (step == "\x1b[4G") {
      cursor = std::min<std::size_t>(cells.size(), 3);
    } else if (step == "\x1b[K") {
      cells.resize(cursor);
    } else if (step == "\x1b[2K") {
      cells.clear();
      cursor = 0;
    } else if (step == "\x1b[2C") {
      const std::size_t rest = cells.size() - cursor;
      cursor += std::min<std::size_t>(rest, 2);
      if (rest < 2) {
        cells.push_back(U' ');
        ++cursor;
      }
    } else if (step == "\x1b[A") {
      if (!cells.empty()) {
        flush();
        out += '\n';
      }
    } else if (step != "\x1b[31m") {
      for (std::string_view rest = step; !rest.empty();) {
        const auto unit = decode_utf8(rest);
        if (cursor == cells.size()) cells.push_back(U' ');
        cells[cursor++] = unit.code_point();
        rest.remove_prefix(unit.size());
      }
    }
  }
  flush();
  return out;
}

TEST(PrintableText, random_scripts_look_as_on_a_slow_screen) {
  const std::string steps[] = {"a",      "word",    "ä",       "€",      "😀",       "\t",      "\n",
                               "\r\n",   "\r",      "\b",      "\x1b[G", "\x1b[D",   "\x1b[3D", "\x1b[4G",
                               "\x1b[K", "\x1b[2K", "\x1b[2C", "\x1b[A", "\x1b[31m", " ",       "42%"};
  std::mt19937 random(3);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::string> script;
    std::string text;
    for (auto count = random() % 30; count > 0; --count) {
      script.push_back(steps[random() % std::size(steps)]);
      // Skips a "\n" after "\r", because together they are the line break that is another step.
      if (script.back() == "\n" && !text.empty() && text.back() == '\r')
        script.pop_back();
      else
        text += script.back();
    }
    ASSERT_EQ(printable_text(text), slow_screen(script)) << ::testing::PrintToString(text);
  }
}

TEST(PrintableText, any_bytes_come_out_harmless_and_bounded) {
  const std::string_view pieces[] = {
      "\x1b", "\x1b[", "\x1b]",    "\x1b]8;;", "\x1b\\",    "\x07",          "\r",     "\n",           "\b",
      "31m",  "2K",    "9999C",    "\x80",     "\xC2",      "\xC2\x9B",      "\u202E", "\U000E0041",   "\0"sv,
      "\x7F", "text",  "\xF0\x9F", "\x1bP",    "\x1b[999A", "\x1b[65535;1H", "\xFF",   "\xED\xA0\x80", "\u2028"};
  std::mt19937 random(5);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto count = random() % 20; count > 0; --count) text += pieces[random() % std::size(pieces)];
    const std::string shown = printable_text(text);
    ASSERT_TRUE(is_harmless(shown)) << ::testing::PrintToString(text) << "\n" << ::testing::PrintToString(shown);
    ASSERT_LE(shown.size(), 4 * text.size()) << ::testing::PrintToString(text);
    const std::string line = one_line(text, 50);
    ASSERT_TRUE(is_harmless(line));
    ASSERT_EQ(line.find('\n'), std::string::npos);
  }
}

TEST(PrintableText, no_input_makes_it_slow) {
  // Each of these texts would take hours if a control sequence could trigger another scan of the line or of the rest
  // of the text.
  const std::string line(500'000, 'x');
  for (const std::string_view piece : {"\x1b[1K"sv, "\x1b[2Kx"sv, "\rx"sv, "\x1b[65535C"sv, "\x1b[K"sv, "\x1b]8;"sv,
                                       "\x1b["sv, "\x1b[2K\x1b[9999Cx"sv, "\b"sv, "\x1b[65535D"sv, "\x1b[Ax"sv}) {
    std::string text = line;
    for (int i = 0; i < 200'000; ++i) text += piece;
    EXPECT_LE(printable_text(text).size(), 4 * text.size());
  }
}

TEST(OneLine, plain_text_stays_as_it_is) {
  EXPECT_EQ(one_line("ls -l 'my file' ä 😀"), "ls -l 'my file' ä 😀");
  EXPECT_EQ(one_line(""), "");
}

TEST(OneLine, everything_that_is_not_plainly_visible_is_escaped) {
  EXPECT_EQ(one_line("a\nb\rc\td\\e\"f\x1b[31m\0\x7f\u202E\u2028\xC2\x9B"sv),
            "a\\nb\\rc\\td\\\\e\\\"f\\x1b[31m\\x00\\x7f\\u202e\\u2028\\u009b");
}

TEST(OneLine, bytes_that_are_not_utf8_are_told_exactly) {
  EXPECT_EQ(one_line("a\xFF\xC0\xAFz\xF0\x9F"), "a\\xff\\xc0\\xafz\\xf0\\x9f");
}

TEST(OneLine, a_long_text_ends_in_dots_at_exactly_the_limit) {
  EXPECT_EQ(one_line("0123456789", 10), "0123456789");
  EXPECT_EQ(one_line("0123456789a", 10), "0123456...");
  EXPECT_EQ(one_line("ääääääääääää", 10), "äääääää...");
  EXPECT_EQ(one_line("abcdef", 0), "...");
}

TEST(OneLine, an_escape_is_never_cut) {
  const std::string text = "ab\n\x1b\u202E\U000E0041\xFF\xFE\"z";
  const std::string whole = one_line(text, 1000);
  for (std::size_t max_size = 3; max_size <= whole.size(); ++max_size) {
    std::string shown = one_line(text, max_size);
    ASSERT_LE(shown.size(), max_size);
    if (shown == whole) continue;
    ASSERT_TRUE(shown.ends_with("..."));
    shown.resize(shown.size() - 3);
    bool is_boundary = false;
    for (std::size_t end = 0; end <= text.size(); ++end)
      is_boundary = is_boundary || shown == one_line(text.substr(0, end), 1000);
    EXPECT_TRUE(is_boundary) << shown;
  }
}

TEST(OneLine, only_the_shown_part_of_a_huge_text_is_looked_at) {
  const std::string huge(50'000'000, '\n');
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(one_line(huge, 9), "\\n\\n\\n...");
}

}  // namespace
