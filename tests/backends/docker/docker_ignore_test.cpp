// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/docker_ignore.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cofferdam;
using namespace std::string_view_literals;
using cofferdam::docker::detail::docker_ignore;
using cofferdam_test::code_of;
using cofferdam_test::sentence_of;
using names = std::vector<std::string>;

// The files in the build context for which the results of the docker command were recorded.
const names tree{"#hash",
                 ".env",
                 ".hidden",
                 "README.md",
                 "a/1.txt",
                 "a/b/2.txt",
                 "a/b/c/3.txt",
                 "a/b/c/keep.txt",
                 "docs/README.md",
                 "docs/other.md",
                 "logs/keep.log",
                 "logs/x.log",
                 "node_modules/x/f",
                 "root.log",
                 "sp ace.txt",
                 "src/main.c",
                 "src/node_modules/y/f",
                 "tmp1/t",
                 "x[1].txt"};

names dropped(std::string_view text) {
  const docker_ignore rules(text);
  names out;
  for (const std::string& path : tree)
    if (rules.ignored(path)) out.push_back(path);
  return out;
}

names kept(std::string_view text) {
  const docker_ignore rules(text);
  names in;
  for (const std::string& path : tree)
    if (!rules.ignored(path)) in.push_back(path);
  return in;
}

TEST(DockerIgnore, a_name_without_a_slash_is_only_the_one_at_the_top) {
  EXPECT_EQ(dropped("node_modules"), names{"node_modules/x/f"});
  EXPECT_EQ(dropped("**/node_modules"), (names{"node_modules/x/f", "src/node_modules/y/f"}));
  EXPECT_EQ(dropped("*.log"), names{"root.log"});
}

TEST(DockerIgnore, the_last_pattern_that_matches_decides) {
  EXPECT_EQ(kept("*\n!a"), (names{"a/1.txt", "a/b/2.txt", "a/b/c/3.txt", "a/b/c/keep.txt"}));
  EXPECT_EQ(kept("**\n!src/main.c"), names{"src/main.c"});
  EXPECT_EQ(dropped("*.log\n!logs/keep.log"), names{"root.log"});
  EXPECT_EQ(dropped("**/*.log\n!logs/keep.log"), (names{"logs/x.log", "root.log"}));
  EXPECT_EQ(dropped("logs\n!logs/keep.log"), names{"logs/x.log"});
  EXPECT_EQ(dropped("!logs/keep.log\nlogs"), (names{"logs/keep.log", "logs/x.log"}));
  EXPECT_EQ(dropped("docs/*\n!docs/README.md"), names{"docs/other.md"});
  EXPECT_EQ(dropped("**/*.md\n!**/README.md"), names{"docs/other.md"});
  EXPECT_EQ(dropped("a\n!a/b\na/b/c/keep.txt"), (names{"a/1.txt", "a/b/c/keep.txt"}));
}

TEST(DockerIgnore, slashes_at_the_ends_change_nothing) {
  const names below{"a/b/2.txt", "a/b/c/3.txt", "a/b/c/keep.txt"};
  for (const std::string_view text : {"a/b", "/a/b", "a/b/", "//a///b//", "./a/./b", "a/x/../b", "/a/b\r\n", "\ta/b ",
                                      "\xef\xbb\xbf"
                                      "a/b",
                                      "a/b\xc2\xa0", "!x\na/b\n! x"})
    EXPECT_EQ(dropped(text), below) << text;
}

TEST(DockerIgnore, a_star_stays_within_a_name_and_two_do_not) {
  EXPECT_EQ(dropped("a/*/c"), (names{"a/b/c/3.txt", "a/b/c/keep.txt"}));
  EXPECT_EQ(dropped("a/**/keep.txt"), names{"a/b/c/keep.txt"});
  EXPECT_EQ(dropped("a/**/1.txt"), names{"a/1.txt"});
  EXPECT_EQ(dropped("a/**").size(), 4U);
  EXPECT_EQ(dropped("**").size(), tree.size());
  EXPECT_EQ(dropped("**/*").size(), tree.size());
  EXPECT_EQ(dropped("*").size(), tree.size());
  EXPECT_EQ(dropped("**.log"), (names{"logs/keep.log", "logs/x.log", "root.log"}));
  EXPECT_EQ(dropped("a**1.txt"), names{"a/1.txt"});
  // The pattern `**` matches whole folders, not characters.
  EXPECT_EQ(dropped("a**.txt"), names{});
  EXPECT_EQ(dropped("**s/x.log"), names{"logs/x.log"});
  EXPECT_EQ(dropped("root.???"), names{"root.log"});
  EXPECT_EQ(dropped("a?1.txt"), names{});
  EXPECT_FALSE(docker_ignore("a/**").ignored("a"));
}

TEST(DockerIgnore, dots_and_case_are_nothing_special) {
  EXPECT_EQ(dropped(".*"), (names{".env", ".hidden"}));
  EXPECT_EQ(dropped("A"), names{});
  EXPECT_EQ(dropped("README?md"), names{"README.md"});
  EXPECT_EQ(dropped("READMExmd"), names{});
}

TEST(DockerIgnore, comments_stand_in_the_first_column_only) {
  EXPECT_EQ(dropped("#hash"), names{});
  EXPECT_EQ(dropped("\\#hash"), names{"#hash"});
  EXPECT_EQ(dropped(" #hash"), names{"#hash"});
  EXPECT_EQ(dropped("# a [ broken pattern"), names{});
}

TEST(DockerIgnore, blanks_around_a_pattern_go_and_those_in_it_stay) {
  EXPECT_EQ(dropped(" README.md "), names{"README.md"});
  EXPECT_EQ(dropped("sp ace.txt"), names{"sp ace.txt"});
}

TEST(DockerIgnore, sets_take_one_character) {
  EXPECT_EQ(dropped("x[[]1].txt"), names{"x[1].txt"});
  EXPECT_EQ(dropped("x\\[1].txt"), names{"x[1].txt"});
  EXPECT_EQ(dropped("tmp[0-9]"), names{"tmp1/t"});
  EXPECT_EQ(dropped("tmp[^0-9]"), names{});
  EXPECT_EQ(dropped("[\\#]hash"), names{"#hash"});
  // The character `!` does not negate a class.
  EXPECT_EQ(dropped("tmp[!1]"), names{"tmp1/t"});
  EXPECT_TRUE(docker_ignore("[\xc3\xa0-\xc3\xbc]").ignored("\xc3\xa9"));
  EXPECT_TRUE(docker_ignore("?").ignored("\xc3\xa9"));
  EXPECT_FALSE(docker_ignore("??").ignored("\xc3\xa9"));
  EXPECT_TRUE(docker_ignore("?\xff").ignored("\xfe\xff"));
}

TEST(DockerIgnore, what_leads_out_of_the_context_matches_nothing) {
  for (const std::string_view text : {"../a", "..", "/..", "a/../../a/b", "/", "."})
    EXPECT_EQ(dropped(text), names{}) << text;
}

TEST(DockerIgnore, what_is_no_pattern_is_an_error_with_its_line) {
  for (const std::string_view text :
       {"!", "! ", "!/", "! //", "[", "a[", "[]", "[^]", "[a-]", "[-a]", "[b-a]", "a\\", "[\\", "[a-\\"})
    EXPECT_EQ(code_of([&] { docker_ignore("x\n" + std::string(text)); }), exec_errc::invalid_argument) << text;
  EXPECT_NE(sentence_of([] { docker_ignore("a\n\n#\n["); }).find("line 4"), std::string::npos);
  EXPECT_EQ(code_of([] { docker_ignore(std::string(4096, 'x')); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { docker_ignore(std::string(docker_ignore::max_bytes + 1, '\n')); }),
            exec_errc::invalid_argument);
}

TEST(DockerIgnore, a_folder_is_passed_by_only_where_nothing_can_come_back) {
  EXPECT_TRUE(docker_ignore("logs").ignores_all_of("logs"));
  EXPECT_TRUE(docker_ignore("logs").ignores_all_of("logs/deep"));
  EXPECT_FALSE(docker_ignore("logs\n!**/keep").ignores_all_of("logs"));
  EXPECT_FALSE(docker_ignore("logs/*").ignores_all_of("logs"));
  EXPECT_FALSE(docker_ignore().ignores_all_of("logs"));
}

TEST(DockerIgnore, many_stars_cost_no_more_than_their_product) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "**/a*";
  const docker_ignore rules(text + "b");
  std::string path;
  for (int i = 0; i < 400; ++i) path += "aaaa/";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(rules.ignored(path + "c"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
