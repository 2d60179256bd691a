// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/code/unfenced.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace unfenced_test {

using cofferdam::detail::unfenced;

TEST(Unfenced, a_fence_is_removed_and_the_lines_keep_their_numbers) {
  EXPECT_EQ(unfenced("```python\nx = 1\nx\n```"), "\nx = 1\nx\n");
  EXPECT_EQ(unfenced("\n \n```py \r\nx\n``` \n\n"), "\n \n\nx\n");
  EXPECT_EQ(unfenced("```\nx\n```\n"), "\nx\n");
  EXPECT_EQ(unfenced("~~~~ python\nx = '''\n~~~\n'''\n~~~~"), "\nx = '''\n~~~\n'''\n");
  EXPECT_EQ(unfenced("```\n```"), "\n");
  EXPECT_EQ(unfenced("  ```python\n  x\n  ```"), "  \n  x\n");
}

TEST(Unfenced, everything_else_stays_as_it_is) {
  const std::vector<std::string> kept{
      "",
      " \n",
      "x = 1",
      "```python",
      "```python\nx",
      "```python x\n```",
      "Here:\n```\nx\n```",
      "```\nx\n```\nDone.",
      "```\nx\n```\ntext\n```\ny\n```",
      "````\nx\n```",
      "``\nx\n``",
      "`x`",
      "x = '''\n```\na\n```'''",
      "```\nx ```",
      "~~~\nx\n```",
      "```",
      "``````",
      "```\n",
  };
  for (const std::string& code : kept) EXPECT_EQ(unfenced(code), code);
}

}  // namespace unfenced_test
