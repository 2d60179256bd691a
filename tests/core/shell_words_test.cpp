// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/core/shell_words.hpp>

#include <gtest/gtest.h>

#include <cctype>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace {

using cofferdam::detail::join_shell_words;
using cofferdam::detail::parsed_words;
using cofferdam::detail::quote_shell_word;
using cofferdam::detail::shell_refusal;
using cofferdam::detail::split_shell_words;
using namespace std::string_literals;
using words = std::vector<std::string>;

struct accepted_line {
  std::string line;
  words expected;
};

const std::vector<accepted_line>& accepted_lines() {
  static const std::vector<accepted_line> lines = {
      {"ls", {"ls"}},
      {" \t ls\t -l  ", {"ls", "-l"}},
      {"echo \"a;b\"", {"echo", "a;b"}},
      {"grep 'a|b' f", {"grep", "a|b", "f"}},
      {"echo \\;", {"echo", ";"}},
      {"echo 'it'\"'\"'s $HOME'", {"echo", "it's $HOME"}},
      {"echo '' \"\"", {"echo", "", ""}},
      {"echo a''b\"\"c", {"echo", "abc"}},
      {"\\ls", {"ls"}},
      {"\"ls\"", {"ls"}},
      {"l''s", {"ls"}},
      {"ls ' ' \\ x", {"ls", " ", " x"}},
      {R"(echo "a\$b\`c\"d\\e\f\'g")", {"echo", R"(a$b`c"d\e\f\'g)"}},
      {R"(echo 'a\b')", {"echo", R"(a\b)"}},
      {R"(echo \a\\\'\"\$\`)", {"echo", R"(a\'"$`)"}},
      {"find . -name \\*.cpp -exec wc {} \\;", {"find", ".", "-name", "*.cpp", "-exec", "wc", "{}", ";"}},
      {"xargs -I{} echo a{}b", {"xargs", "-I{}", "echo", "a{}b"}},
      {"git show stash@{0} HEAD~1 v1^ a:b", {"git", "show", "stash@{0}", "HEAD~1", "v1^", "a:b"}},
      {"find . ! -name x", {"find", ".", "!", "-name", "x"}},
      {"grep \"foo$\" f", {"grep", "foo$", "f"}},
      {"grep -E \"(a$|b$)\" f", {"grep", "-E", "(a$|b$)", "f"}},
      {"grep foo$ f$", {"grep", "foo$", "f$"}},
      {"sed \"s/x$/y/\"", {"sed", "s/x$/y/"}},
      {"echo a#b \\#c \"#d\" ''#e", {"echo", "a#b", "#c", "#d", "#e"}},
      {"env A=b c", {"env", "A=b", "c"}},
      {"echo a~ \\~ \"~\" a/~", {"echo", "a~", "~", "~", "a/~"}},
      {"echo if then { } time", {"echo", "if", "then", "{", "}", "time"}},
      {"echo a,b c..d }a a}", {"echo", "a,b", "c..d", "}a", "a}"}},
      {"echo {a\\,b} {a','b} {1\".\".3}", {"echo", "{a,b}", "{a,b}", "{1..3}"}},
      {"echo 'one\ntwo' \"three\nfour\"", {"echo", "one\ntwo", "three\nfour"}},
      {"echo a \\\n  b\\\nc \"d\\\ne\"", {"echo", "a", "bc", "de"}},
      {"echo '\r\v\f\x1b'", {"echo", "\r\v\f\x1b"}},
      {"cat résumé 漢字 😀", {"cat", "résumé", "漢字", "😀"}},
      {"echo '；' \\；", {"echo", "；", "；"}},
      // The first letter is Cyrillic, so the name is another program, which no pattern for `cat` matches.
      {"сat f", {"сat", "f"}},
      {"./a /b/c ../d", {"./a", "/b/c", "../d"}},
  };
  return lines;
}

TEST(ShellWords, plain_commands_are_split_as_the_shell_splits_them) {
  for (const accepted_line& each : accepted_lines()) {
    const parsed_words parsed = split_shell_words(each.line);
    ASSERT_TRUE(parsed.ok()) << each.line << ": " << parsed.construct() << " at " << parsed.position();
    EXPECT_EQ(parsed.words(), each.expected) << each.line;
    EXPECT_EQ(parsed.reason(), shell_refusal::none);
    EXPECT_EQ(parsed.position(), 0u);
    EXPECT_TRUE(parsed.construct().empty());
  }
}

struct refused_line {
  std::string line;
  shell_refusal reason;
  std::size_t position;
};

const std::vector<refused_line>& refused_lines() {
  constexpr auto syntax = shell_refusal::shell_syntax;
  constexpr auto assignment = shell_refusal::shell_assignment;
  constexpr auto unsafe = shell_refusal::unsafe_text;
  static const std::vector<refused_line> lines = {
      {"", shell_refusal::empty_command, 0},
      {" \t ", shell_refusal::empty_command, 0},
      {"\\\n", shell_refusal::empty_command, 0},
      {"'' a", shell_refusal::empty_command, 0},
      {"ls; id", syntax, 2},
      {"ls & id", syntax, 3},
      {"ls && id", syntax, 3},
      {"ls | id", syntax, 3},
      {"ls > x", syntax, 3},
      {"ls 2>x", syntax, 4},
      {"ls < x", syntax, 3},
      {"cat <<EOF", syntax, 4},
      {"cat <<<x", syntax, 4},
      {"(ls)", syntax, 0},
      {"ls )", syntax, 3},
      {"f() ls", syntax, 1},
      {"cat <(ls)", syntax, 4},
      {"ls `id`", syntax, 3},
      {"ls \"`id`\"", syntax, 4},
      {"ls $(id)", syntax, 3},
      {"ls \"$(id)\"", syntax, 4},
      {"ls \"a\\\\$(id)\"", syntax, 7},
      {"ls $HOME", syntax, 3},
      {"ls ${IFS}", syntax, 3},
      {"ls $((1))", syntax, 3},
      {"ls $'\\x3b'", syntax, 3},
      {"ls $\"a\"", syntax, 3},
      {"ls \"$'a'\"", syntax, 4},
      {"ls $\\\n(id)", syntax, 3},
      {"ls \"$\\\n(id)\"", syntax, 4},
      {"ls \"a$", syntax, 5},
      {"ls *", syntax, 3},
      {"ls a?", syntax, 4},
      {"ls [a]", syntax, 3},
      {"[ -f x ]", syntax, 0},
      {"ls {a,b}", syntax, 3},
      {"ls {1..3}", syntax, 3},
      {"ls a{},b}", syntax, 4},
      {"ls {1.\\\n.3}", syntax, 3},
      {"{touch,/canary}", syntax, 0},
      {"ls ~", syntax, 3},
      {"ls ~root", syntax, 3},
      {"ls a=~", syntax, 5},
      {"ls a=b:~", syntax, 7},
      {"ls --x=~", syntax, 7},
      {"ls \\\n~", syntax, 5},
      {"ls # c", syntax, 3},
      {"# c", syntax, 0},
      {"ls \\\n# c", syntax, 5},
      {"! ls", syntax, 0},
      {"!!", syntax, 0},
      {"!ls", syntax, 0},
      {"%1 a", syntax, 0},
      {"'%1' a", syntax, 0},
      {"if ls", syntax, 0},
      {"i\\\nf ls", syntax, 0},
      {"time ls", syntax, 0},
      {"\"time\" ls", syntax, 0},
      {"{ ls", syntax, 0},
      {"} ls", syntax, 0},
      {"coproc ls", syntax, 0},
      {"export A", syntax, 0},
      {"declare A", syntax, 0},
      {"eval ls", syntax, 0},
      {"FOO=1 ls", assignment, 0},
      {"FOO+=1", assignment, 0},
      {"  a=b/ls", assignment, 2},
      {"\"a=b\" c", assignment, 0},
      {"ls '", syntax, 3},
      {"ls \"", syntax, 3},
      {"ls \"a\\\"", syntax, 3},
      {"ls \\", syntax, 3},
      {"ls\nid", syntax, 2},
      {"ls\r\nid", syntax, 2},
      {"ls\rid", syntax, 2},
      {"ls\vid", syntax, 2},
      {"ls\fid", syntax, 2},
      {"ls\x1b", syntax, 2},
      {"ls\x7f", syntax, 2},
      {"ls \\\r", syntax, 4},
      {"ls '\x01'", syntax, 4},
      {"ls \"\x7f\"", syntax, 4},
      {"ls \xc2\x85id", syntax, 3},
      {"ls\xe2\x80\xa8id", syntax, 2},
      {"ls\xc2\xa0id", syntax, 2},
      {"ls\xe3\x80\x80id", syntax, 2},
      {"ls； id", syntax, 2},
      {"ls ｜ id", syntax, 3},
      {"ls ＆ id", syntax, 3},
      {"ls ＜ id", syntax, 3},
      {"ls ＞ id", syntax, 3},
      {"ls （id）", syntax, 3},
      {"ls ＄id", syntax, 3},
      {"ls ｀id｀", syntax, 3},
      {"ls\xcd\xbe id", syntax, 2},  // U+037E is the Greek question mark
      {"ls ＂id＂", syntax, 3},
      {"ls ＇id＇", syntax, 3},
      {"ls ＼id", syntax, 3},
      {"ls id）", syntax, 5},
      {"ls \0id"s, unsafe, 3},
      {"ls '\0'"s, unsafe, 4},
      {"ls \"\0\""s, unsafe, 4},
      {"ls \\\0"s, unsafe, 4},
      {"ls \xff", unsafe, 3},
      {"ls '\xc0\x80'", unsafe, 4},
      {"ls \"\xed\xa0\x80\"", unsafe, 4},
      {"ls \\\xf5\x80\x80\x80", unsafe, 4},
      {"ls \xe2\x82", unsafe, 3},
      {"ls '\xe2\x80\xae'", unsafe, 4},
      {"ls \"\xe2\x81\xa6\"", unsafe, 4},
      {"ls a\xd8\x9c", unsafe, 4},
  };
  return lines;
}

TEST(ShellWords, whatever_a_shell_would_act_on_is_refused_where_it_stands) {
  for (const refused_line& each : refused_lines()) {
    const parsed_words parsed = split_shell_words(each.line);
    EXPECT_FALSE(parsed.ok()) << each.line;
    EXPECT_TRUE(parsed.words().empty());
    EXPECT_EQ(to_string(parsed.reason()), to_string(each.reason)) << each.line;
    EXPECT_EQ(parsed.position(), each.position) << each.line;
    EXPECT_FALSE(parsed.construct().empty()) << each.line;
  }
}

TEST(ShellWords, the_seeds_cases_of_refusal_keep_their_reason) {
  const auto reason = [](std::string_view line) { return split_shell_words(line).reason(); };
  for (const char* line : {"ls; id", "ls > x", "ls `id`", "ls $(id)", "ls\nid"})
    EXPECT_EQ(reason(line), shell_refusal::shell_syntax) << line;
  for (const char* line : {"FOO=1 ls", "a=b/ls"}) EXPECT_EQ(reason(line), shell_refusal::shell_assignment) << line;
  for (const char* line : {"ls '>' x", "ls \\; id", "find . -exec echo {} ';'", "'ls'", " ls", "/bin/ls", "env ls"})
    EXPECT_EQ(reason(line), shell_refusal::none) << line;
}

TEST(ShellWords, quoting_is_that_of_shlex) {
  EXPECT_EQ(quote_shell_word(""), "''");
  EXPECT_EQ(quote_shell_word("azAZ09_@%+=:,./-"), "azAZ09_@%+=:,./-");
  EXPECT_EQ(quote_shell_word("a b"), "'a b'");
  EXPECT_EQ(quote_shell_word("it's"), "'it'\"'\"'s'");
  EXPECT_EQ(quote_shell_word("'"), "''\"'\"''");
  EXPECT_EQ(quote_shell_word("~"), "'~'");
  EXPECT_EQ(quote_shell_word("{}"), "'{}'");
  EXPECT_EQ(quote_shell_word("é"), "'é'");
  for (int c = 1; c < 128; ++c) {
    const std::string word(1, static_cast<char>(c));
    const bool plain = std::string_view("_@%+=:,./-").find(word) != std::string_view::npos || std::isalnum(c) != 0;
    EXPECT_EQ(quote_shell_word(word) == word, plain) << c;
  }
  EXPECT_EQ(join_shell_words({}), "");
  EXPECT_EQ(join_shell_words({"echo", "a b", "", "c"}), "echo 'a b' '' c");
  EXPECT_EQ(join_shell_words({"", "a"}), "'' a");
}

TEST(ShellWords, the_canonical_text_reads_back_into_the_same_words) {
  for (const accepted_line& each : accepted_lines()) {
    const std::string canonical = join_shell_words(each.expected);
    const parsed_words parsed = split_shell_words(canonical);
    ASSERT_TRUE(parsed.ok()) << canonical << ": " << parsed.construct();
    EXPECT_EQ(parsed.words(), each.expected);
    EXPECT_EQ(join_shell_words(parsed.words()), canonical);
  }
}

TEST(ShellWords, every_prefix_of_every_case_is_answered) {
  const auto try_prefixes = [](const std::string& line) {
    for (std::size_t length = 0; length <= line.size(); ++length) {
      // The prefix is a separate string, so that a sanitizer detects a read behind its end.
      const std::string prefix = line.substr(0, length);
      const parsed_words parsed = split_shell_words(prefix);
      if (parsed.ok()) {
        EXPECT_FALSE(parsed.words().empty());
        EXPECT_EQ(split_shell_words(join_shell_words(parsed.words())).words(), parsed.words()) << prefix;
      } else {
        EXPECT_LE(parsed.position(), prefix.size());
        EXPECT_FALSE(parsed.construct().empty());
      }
    }
  };
  for (const accepted_line& each : accepted_lines()) try_prefixes(each.line);
  for (const refused_line& each : refused_lines()) try_prefixes(each.line);
}

TEST(ShellWords, limits_fail_closed) {
  const std::string longest = "echo " + std::string(cofferdam::detail::max_shell_line - 5, 'a');
  EXPECT_TRUE(split_shell_words(longest).ok());
  EXPECT_EQ(split_shell_words(longest + "a").reason(), shell_refusal::too_long);
  std::string many = "echo";
  for (std::size_t i = 1; i < cofferdam::detail::max_shell_words; ++i) many += " a";
  EXPECT_EQ(split_shell_words(many).words().size(), cofferdam::detail::max_shell_words);
  EXPECT_EQ(split_shell_words(many + " a").reason(), shell_refusal::too_long);
  EXPECT_EQ(split_shell_words(many + " a;").reason(), shell_refusal::shell_syntax);
}

TEST(ShellWords, the_longest_lines_take_linear_time) {
  const std::string parts[] = {"a", "''", "\"\"", "\\a", "a ", "{}", "\\\n", "\"\\\n\"", "é", "$ ", "'\"'\"'"};
  for (const std::string& part : parts) {
    std::string line = "echo ";
    while (line.size() + part.size() <= cofferdam::detail::max_shell_line) line += part;
    const auto start = std::chrono::steady_clock::now();
    const parsed_words parsed = split_shell_words(line);
    const auto elapsed = std::chrono::steady_clock::now() - start;
    EXPECT_TRUE(parsed.ok() || parsed.reason() == shell_refusal::too_long) << part << ": " << parsed.construct();
    // Linear code takes about 1 ms, and quadratic code many seconds.
    EXPECT_LT(elapsed, std::chrono::milliseconds(500)) << part;
  }
}

TEST(ShellWords, every_refusal_has_a_name) {
  for (int value = 0; value <= static_cast<int>(shell_refusal::too_long); ++value)
    EXPECT_NE(to_string(static_cast<shell_refusal>(value)), "unknown");
}

}  // namespace
