// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Runs the tests of the program of notebooks, notebook_test.py, with each Python of this machine.

#include "code/python_support.hpp"
#include "support/paths.hpp"
#include "support/run_shell.hpp"

#include <gtest/gtest.h>

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
                                cofferdam_test::source_path("tests/code/notebook_test.py") + "'";
    const cofferdam_test::shell_result tests = cofferdam_test::run_shell(command);
    EXPECT_EQ(tests.status, 0) << candidate.program << "\n" << tests.output;
  }
  EXPECT_TRUE(is_tested);
}

}  // namespace
