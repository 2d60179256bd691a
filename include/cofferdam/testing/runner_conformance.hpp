// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// Test suites for a runner of Python code of your own. The runners of cofferdam pass the same tests.
//
//   #include <cofferdam/testing/runner_conformance.hpp>
//   struct mine {
//     static auto provider() { return my_provider() | python(); }   // a recipe
//   };
//   namespace cofferdam::testing {
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, code_run_conformance, mine);
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, code_output_conformance, mine);
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, code_value_conformance, mine);
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, code_function_conformance, mine);
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, code_context_conformance, mine);   // if it models context_runner
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, code_deadline_conformance, mine);
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, code_file_conformance, mine);
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, code_process_conformance, mine);   // if its code can start processes
//   }
//
// The suites need GoogleTest. The tests of one suite share a runner, except tests that end it. The tests check results
// and never speed: all time limits are long enough for a loaded machine.

#include <cofferdam/testing/detail/code_function_conformance.hpp>
#include <cofferdam/testing/detail/code_lifetime_conformance.hpp>
#include <cofferdam/testing/detail/code_output_conformance.hpp>
#include <cofferdam/testing/detail/code_run_conformance.hpp>
#include <cofferdam/testing/detail/code_value_conformance.hpp>
