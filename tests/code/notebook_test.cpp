// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Runs the tests of the program of notebooks, notebook_test.py, with each Python of this machine.

#include "code/python_support.hpp"
#include "support/paths.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

namespace {

using cofferdam_test::found_python;
using cofferdam_test::pythons;

TEST(PythonNotebook, passes_its_own_tests) {
  bool is_tested = false;
  for (const found_python& candidate : pythons()) {
    if (candidate.major < 3 || (candidate.major == 3 && candidate.minor < 8)) continue;
    is_tested = true;
    const std::string command = "COFFERDAM_TEST_PYTHON='" + candidate.program + "' python3 '" +
                                cofferdam_test::source_path("tests/code/notebook_test.py") + "' 2>&1";
    std::FILE* const tests = ::popen(command.c_str(), "r");
    ASSERT_NE(tests, nullptr);
    std::string output;
    std::array<char, 4096> piece{};
    for (std::size_t count = 1; count > 0;) {
      count = std::fread(piece.data(), 1, piece.size(), tests);
      output.append(piece.data(), count);
    }
    EXPECT_EQ(::pclose(tests), 0) << candidate.program << "\n" << output;
  }
  EXPECT_TRUE(is_tested);
}

}  // namespace
