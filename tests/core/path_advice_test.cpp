// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/path_advice.hpp>

#include <gtest/gtest.h>

namespace {

using cofferdam::outside_path;

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

}  // namespace
