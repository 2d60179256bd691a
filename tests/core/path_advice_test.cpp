// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/core/path_advice.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace {

using cofferdam::detail::outside_path;

constexpr const char* root = "/tmp/box/workspace";
constexpr const char* box = "/tmp/box";

TEST(PathAdvice, names_the_first_path_that_leads_out) {
  EXPECT_EQ(outside_path("ls /etc", root), "/etc");
  EXPECT_EQ(outside_path("cd /tmp && ls", root), "/tmp");
  EXPECT_EQ(outside_path("cat /root/.ssh/id_rsa /etc/passwd", root), "/root/.ssh/id_rsa");
  EXPECT_EQ(outside_path("cat ~root/.bashrc", root), "~root/.bashrc");
  EXPECT_EQ(outside_path("cat /proc/self/environ", root), "/proc/self/environ");
  EXPECT_EQ(outside_path("x=/etc; cat $x/passwd", root), "/etc");
  EXPECT_EQ(outside_path("cd ..; ls", root), "..");
  EXPECT_EQ(outside_path("cat a/../../b", root), "a/../../b");
  EXPECT_EQ(outside_path("cat </etc/passwd", root), "/etc/passwd");
  EXPECT_EQ(outside_path("tool --file=/home/u/x", root), "/home/u/x");
  EXPECT_EQ(outside_path("cat '/var/log/syslog'", root), "/var/log/syslog");
  EXPECT_EQ(outside_path("cat /usr/../etc/passwd", root), "/usr/../etc/passwd");
}

TEST(PathAdvice, leaves_ordinary_lines_alone) {
  for (const char* line :
       {"", "ls -la", "cat proj/etc/config.ini", "mkdir -p build/tmp/x", "curl https://example.com/home/index.html",
        "sed s/var/home/ f", "cat ~/x", "cd ~", "cat $HOME/x", "echo /", "echo '</stdout>'", "/usr/bin/env python3",
        "cmd > /dev/null 2>&1", "a..b", "echo ...", "git show HEAD~1", "awk '/etc/ {print}'"})
    EXPECT_EQ(outside_path(line, root), line == std::string("awk '/etc/ {print}'") ? "/etc/" : "") << line;
}

TEST(PathAdvice, the_workspace_s_own_paths_are_inside) {
  EXPECT_EQ(outside_path("cat /tmp/box/workspace/a", root, box), "");
  EXPECT_EQ(outside_path("cat /tmp/box/tmp/a", root, box), "");
  EXPECT_EQ(outside_path("cat /tmp/box-evil/a", root, box), "/tmp/box-evil/a");
}

TEST(PathAdvice, the_words_of_a_program_are_judged_one_by_one) {
  using words = std::vector<std::string>;
  const auto found = [](const words& arguments, std::size_t depth = 0) {
    return outside_path(arguments, root, box, depth);
  };
  EXPECT_EQ(found({"cat", "/etc/hostname"}), "/etc/hostname");
  EXPECT_EQ(found({"cat", "a", "/home/u/my file"}), "/home/u/my file");
  EXPECT_EQ(found({"tool", "--file=/home/u/x"}), "/home/u/x");
  EXPECT_EQ(found({"dd", "if=../x"}), "../x");
  EXPECT_EQ(found({"cat", "a/../../b"}), "a/../../b");
  EXPECT_EQ(found({"cat", "/tmp/box/workspace/../../x"}), "/tmp/box/workspace/../../x");
  EXPECT_EQ(found({"cat", "../a"}, 1), "");
  EXPECT_EQ(found({"cat", "../../a"}, 1), "../../a");
  EXPECT_EQ(found({"/home/u/bin/python3", "-c", "print('/etc/x')\nopen('..')", "a/..", "/usr/share/dict", "/"}), "");
  EXPECT_EQ(found({"cat", "/tmp/box/workspace/a", "/tmp/box/tmp/b", "proj/etc/x", "s/var/home/", "~x"}), "");
  EXPECT_EQ(found({}), "");
}

}  // namespace
