// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/files/glob.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

namespace {

using cofferdam::detail::glob;
using namespace std::string_literals;

bool matches(const std::string& pattern, std::string_view path) { return glob(pattern).matches(path); }

TEST(Glob, a_star_takes_any_number_of_characters_of_one_name) {
  EXPECT_TRUE(matches("*.csv", "a.csv"));
  EXPECT_TRUE(matches("a*", "a"));
  EXPECT_TRUE(matches("a*c*e", "abcde"));
  EXPECT_TRUE(matches("a*bc", "abcbc"));
  EXPECT_FALSE(matches("*.csv", "a.csv.gz"));
  EXPECT_FALSE(matches("*.csv", "d/a.csv"));
  EXPECT_FALSE(matches("a*c", "ab"));
}

TEST(Glob, a_question_mark_takes_exactly_one_character) {
  EXPECT_TRUE(matches("?", "a"));
  EXPECT_TRUE(matches("??", "ab"));
  EXPECT_FALSE(matches("?", ""));
  EXPECT_FALSE(matches("?", "ab"));
  EXPECT_FALSE(matches("a?b", "a/b"));
}

TEST(Glob, a_character_is_a_code_point_or_a_broken_byte) {
  EXPECT_TRUE(matches("?", "\xc3\xa9"));
  EXPECT_FALSE(matches("??", "\xc3\xa9"));
  EXPECT_FALSE(matches("*??", "\xc3\xa9"));
  EXPECT_FALSE(matches("*[!\xc3\xa9]", "\xc3\xa9"));
  EXPECT_TRUE(matches("[\xc3\xa0-\xc3\xbc]", "\xc3\xa9"));
  EXPECT_TRUE(matches("?", "\xff"));
  EXPECT_TRUE(matches("a\xff*", "a\xff\xfe"));
  EXPECT_FALSE(matches("a\xfe", "a\xff"));
}

TEST(Glob, a_set_takes_one_of_its_characters) {
  EXPECT_TRUE(matches("[abc]", "b"));
  EXPECT_TRUE(matches("[a-c]x", "bx"));
  EXPECT_TRUE(matches("[a-cx-z]", "y"));
  EXPECT_FALSE(matches("[a-c]", "d"));
  EXPECT_FALSE(matches("[a-c]", "B"));
  EXPECT_FALSE(matches("[c-a]", "b"));
}

TEST(Glob, a_negated_set_takes_one_of_the_others) {
  EXPECT_TRUE(matches("[!a]", "b"));
  EXPECT_TRUE(matches("[^a-c]", "d"));
  EXPECT_FALSE(matches("[!a]", "a"));
  EXPECT_FALSE(matches("[!a]", ""));
}

TEST(Glob, brackets_and_dashes_can_be_members) {
  EXPECT_TRUE(matches("[]]", "]"));
  EXPECT_TRUE(matches("[!]]", "a"));
  EXPECT_TRUE(matches("[a-]", "-"));
  EXPECT_TRUE(matches("[-a]", "-"));
  EXPECT_TRUE(matches("[[]", "["));
  EXPECT_TRUE(matches("[\\]]", "]"));
}

TEST(Glob, a_bracket_that_is_not_closed_stands_for_itself) {
  EXPECT_TRUE(matches("a[b", "a[b"));
  EXPECT_TRUE(matches("*[", "x["));
  EXPECT_TRUE(matches("[", "["));
  EXPECT_TRUE(matches("[!", "[!"));
  EXPECT_TRUE(matches("[]", "[]"));
  EXPECT_TRUE(matches("[a/b]", "[a/b]"));
}

TEST(Glob, a_backslash_takes_the_meaning_away) {
  EXPECT_TRUE(matches("\\*", "*"));
  EXPECT_FALSE(matches("\\*", "a"));
  EXPECT_TRUE(matches("data\\[1\\].csv", "data[1].csv"));
  EXPECT_TRUE(matches("\\\\", "\\"));
  EXPECT_TRUE(matches("a\\", "a\\"));
}

TEST(Glob, two_stars_take_any_number_of_names) {
  EXPECT_TRUE(matches("**/x", "x"));
  EXPECT_TRUE(matches("**/x", "a/b/x"));
  EXPECT_TRUE(matches("*/**/x", "a/x"));
  EXPECT_TRUE(matches("*/**/x", "a/b/c/x"));
  EXPECT_FALSE(matches("*/**/x", "x"));
  EXPECT_FALSE(matches("**/x", "a/xx"));
  EXPECT_TRUE(matches("**/a/**/b", "a/c/a/d/b"));
  EXPECT_TRUE(matches("**/**/x", "x"));
}

TEST(Glob, two_stars_at_the_end_take_at_least_one_name) {
  EXPECT_TRUE(matches("**", "a"));
  EXPECT_TRUE(matches("**", "a/b"));
  EXPECT_TRUE(matches("*/**", "a/b/c"));
  EXPECT_FALSE(matches("*/**", "a"));
}

TEST(Glob, two_stars_inside_a_name_are_two_stars) {
  EXPECT_TRUE(matches("a**b", "axxb"));
  EXPECT_FALSE(matches("a**b", "a/b"));
}

TEST(Glob, a_leading_dot_must_be_written) {
  for (const char* pattern : {"*", "?a", "[.]a", "[!x]a", "**", "**/.a/b", "**/*"})
    EXPECT_FALSE(matches(pattern, ".a")) << pattern;
  EXPECT_TRUE(matches(".*", ".a"));
  EXPECT_TRUE(matches("\\.a", ".a"));
  EXPECT_TRUE(matches("**/.a", "b/.a"));
  EXPECT_FALSE(matches("**/a", ".b/a"));
  EXPECT_TRUE(matches("**/.b/a", "c/.b/a"));
  EXPECT_TRUE(matches("a*", "a.b"));
}

TEST(Glob, case_matters) { EXPECT_FALSE(matches("*.CSV", "a.csv")); }

TEST(Glob, a_slash_at_the_end_changes_nothing) {
  EXPECT_TRUE(matches("a*/", "ab"));
  EXPECT_TRUE(matches("./a*//b", glob("./a*//b").prefix() + "ab/b"));
}

TEST(Glob, the_prefix_is_what_comes_before_the_first_pattern) {
  EXPECT_EQ(glob("logs/2024/**/*.txt").prefix(), "logs/2024");
  EXPECT_EQ(glob("*.csv").prefix(), "");
  EXPECT_EQ(glob("/data/x/*.csv").prefix(), "/data/x");
  EXPECT_EQ(glob("/*").prefix(), "/");
  EXPECT_EQ(glob("../a/*").prefix(), "../a");
  EXPECT_EQ(glob("a\\[1\\]/*").prefix(), "a[1]");
  EXPECT_EQ(glob("a/b").prefix(), "a");
  EXPECT_TRUE(glob("logs/**/*.txt").matches("x/y.txt"));
  EXPECT_TRUE(glob("a/b").matches("b"));
}

TEST(Glob, is_pattern_knows_what_is_escaped) {
  EXPECT_TRUE(glob::is_pattern("a*"));
  EXPECT_TRUE(glob::is_pattern("a?"));
  EXPECT_TRUE(glob::is_pattern("a[1]"));
  EXPECT_FALSE(glob::is_pattern("a\\*"));
  EXPECT_FALSE(glob::is_pattern("a{b,c}"));
  EXPECT_FALSE(glob::is_pattern(""));
}

TEST(Glob, what_no_path_can_be_is_refused) {
  for (const std::string& pattern : {""s, "a\0b"s, std::string(4096, 'a')})
    EXPECT_THROW(glob{pattern}, cofferdam::error);
}

TEST(Glob, a_directory_without_possible_matches_is_not_entered) {
  EXPECT_TRUE(glob("*.csv").may_match_beneath(""));
  EXPECT_FALSE(glob("*.csv").may_match_beneath("a"));
  EXPECT_TRUE(glob("a*/b").may_match_beneath("ax"));
  EXPECT_FALSE(glob("a*/b").may_match_beneath("bx"));
  EXPECT_TRUE(glob("**/b").may_match_beneath("x/y/z"));
  EXPECT_FALSE(glob("**/b").may_match_beneath("x/.git"));
  EXPECT_TRUE(glob("**/.git/b").may_match_beneath("x/.git"));
  EXPECT_FALSE(glob("a*/**/b").may_match_beneath("b/c"));
}

TEST(Glob, knows_when_it_takes_whole_trees) {
  EXPECT_TRUE(glob("a/**").matches_whole_trees());
  EXPECT_TRUE(glob("**/*").matches_whole_trees());
  EXPECT_FALSE(glob("**/*.txt").matches_whole_trees());
  EXPECT_FALSE(glob("a/*").matches_whole_trees());
}

TEST(Glob, hard_patterns_take_a_bounded_time) {
  const auto start = std::chrono::steady_clock::now();
  std::string stars;
  for (int i = 0; i < 100; ++i) stars += "a*";
  EXPECT_FALSE(matches(stars + "b", std::string(255, 'a')));
  std::string any;
  std::string deep;
  for (int i = 0; i < 600; ++i) any += "**/a/";
  for (int i = 0; i < 2000; ++i) deep += "a/";
  EXPECT_FALSE(matches(any + "x", deep));
  EXPECT_FALSE(matches("**/**/**/**/**/x", deep));
  EXPECT_FALSE(matches("*" + std::string(4000, '['), std::string(255, '[')));
  EXPECT_FALSE(matches("*[" + std::string(2000, 'b') + "]*[" + std::string(2000, 'c') + "]", std::string(255, 'a')));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
