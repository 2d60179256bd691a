// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The main of the test programs.

#include "support/run_all_tests.hpp"

int main(int argc, char** argv) { return cofferdam_test::run_all_tests(argc, argv); }
