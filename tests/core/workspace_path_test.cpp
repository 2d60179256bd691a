// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/workspace_path.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using cofferdam::exec_errc;
using cofferdam::workspace_path;
using cofferdam::workspace_path_or_root;
using namespace std::string_literals;

exec_errc refusal(std::string_view path, std::string_view root = {}) {
  try {
    const std::string accepted = workspace_path(path, root);
    ADD_FAILURE() << "accepted " << path << " as " << accepted;
  } catch (const cofferdam::error& failure) {
    return static_cast<exec_errc>(failure.code().value());
  }
  return exec_errc{};
}

TEST(WorkspacePath, one_spelling_for_one_file) {
  EXPECT_EQ(workspace_path("a/b"), "a/b");
  EXPECT_EQ(workspace_path("./a//b/"), "a/b");
  EXPECT_EQ(workspace_path("a/./b/."), "a/b");
  EXPECT_EQ(workspace_path("a/"), "a");
}

TEST(WorkspacePath, odd_bytes_are_part_of_a_name) {
  for (const std::string& name :
       {"~"s, "~/x"s, "-rf"s, "a b"s, "$(id)"s, "\n"s, "\xff\xfe"s, "..."s, "..a"s, "a.."s, "*"s, "\\"s, "CON"s, "a."s})
    EXPECT_EQ(workspace_path(name), name);
}

TEST(WorkspacePath, empty_is_refused) { EXPECT_EQ(refusal(""), exec_errc::invalid_argument); }

TEST(WorkspacePath, a_nul_byte_is_refused) {
  EXPECT_EQ(refusal("a\0b"s), exec_errc::invalid_argument);
  EXPECT_EQ(refusal("a\0"s), exec_errc::invalid_argument);
}

TEST(WorkspacePath, every_dot_dot_is_refused) {
  for (const std::string_view path : {"..", "../x", "a/..", "a/../b", "a/../../x", "a/b/..", "./..", "../", "a//..//b"})
    EXPECT_EQ(refusal(path), exec_errc::outside_workspace) << path;
}

TEST(WorkspacePath, absolute_is_refused_without_a_root) {
  for (const std::string_view path : {"/", "//", "/etc/passwd", "//etc", "/w/x"})
    EXPECT_EQ(refusal(path), exec_errc::outside_workspace) << path;
}

TEST(WorkspacePath, absolute_beneath_the_root_becomes_relative) {
  EXPECT_EQ(workspace_path("/w/x", "/w"), "x");
  EXPECT_EQ(workspace_path("/w//x/./y", "/w/"), "x/y");
  EXPECT_EQ(workspace_path("//w/x", "/w"), "x");
  EXPECT_EQ(workspace_path("/x", "/"), "x");
  EXPECT_EQ(workspace_path("x", "/w"), "x");
}

TEST(WorkspacePath, the_root_is_compared_name_by_name) {
  EXPECT_EQ(refusal("/w-evil/x", "/w"), exec_errc::outside_workspace);
  EXPECT_EQ(refusal("/workspace2/x", "/workspace"), exec_errc::outside_workspace);
  EXPECT_EQ(refusal("/W/x", "/w"), exec_errc::outside_workspace);
  EXPECT_EQ(refusal("/", "/w"), exec_errc::outside_workspace);
}

TEST(WorkspacePath, dot_dot_after_the_root_is_refused) {
  EXPECT_EQ(refusal("/w/../etc/passwd", "/w"), exec_errc::outside_workspace);
  EXPECT_EQ(refusal("/w/..", "/w"), exec_errc::outside_workspace);
}

TEST(WorkspacePath, a_relative_root_is_none) { EXPECT_EQ(refusal("/w/x", "w"), exec_errc::outside_workspace); }

TEST(WorkspacePath, the_workspace_itself_only_where_it_is_asked_for) {
  for (const std::string_view path : {".", "./", "././."}) {
    EXPECT_EQ(workspace_path_or_root(path), ".");
    EXPECT_EQ(refusal(path), exec_errc::invalid_argument);
  }
  EXPECT_EQ(workspace_path_or_root("/w", "/w"), ".");
  EXPECT_EQ(workspace_path_or_root("/w/", "/w"), ".");
  EXPECT_EQ(refusal("/w", "/w"), exec_errc::invalid_argument);
}

TEST(WorkspacePath, the_longest_name_passes_and_one_more_byte_does_not) {
  EXPECT_EQ(workspace_path(std::string(255, 'n')).size(), 255U);
  EXPECT_EQ(refusal(std::string(256, 'n')), exec_errc::invalid_argument);
  EXPECT_EQ(refusal("a/" + std::string(256, 'n') + "/b"), exec_errc::invalid_argument);
}

TEST(WorkspacePath, the_longest_path_passes_and_one_more_byte_does_not) {
  std::string path;
  while (path.size() < 4095) path += path.size() % 2 == 0 ? 'd' : '/';
  EXPECT_EQ(workspace_path(path), path);
  EXPECT_EQ(refusal(path + "/d"), exec_errc::invalid_argument);
}

TEST(WorkspacePath, what_normalising_takes_away_does_not_count_as_length) {
  EXPECT_EQ(workspace_path(std::string(10000, '/').insert(0, "a") + "b"), "a/b");
}

TEST(WorkspacePath, the_sentence_names_the_path_and_escapes_it) {
  try {
    workspace_path("../\x1b[31m\nforged");
    FAIL();
  } catch (const cofferdam::error& failure) {
    const std::string_view text = failure.what();
    EXPECT_EQ(text.find('\x1b'), text.npos);
    EXPECT_EQ(text.find('\n'), text.npos);
    EXPECT_NE(text.find("forged"), text.npos);
    EXPECT_NE(text.find(".."), text.npos);
  }
}

TEST(WorkspacePath, a_long_path_does_not_fill_the_sentence) {
  try {
    workspace_path(std::string(100000, 'x'));
    FAIL();
  } catch (const cofferdam::error& failure) {
    EXPECT_LT(std::string_view(failure.what()).size(), 400U);
  }
}

}  // namespace
