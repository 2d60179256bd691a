// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/testing/runner_conformance.hpp>

#include "conformance/places.hpp"

namespace cofferdam::testing {

using cofferdam_test::runner_here;

INSTANTIATE_TYPED_TEST_SUITE_P(here, code_run_conformance, runner_here);
INSTANTIATE_TYPED_TEST_SUITE_P(here, code_output_conformance, runner_here);
INSTANTIATE_TYPED_TEST_SUITE_P(here, code_value_conformance, runner_here);
INSTANTIATE_TYPED_TEST_SUITE_P(here, code_function_conformance, runner_here);
INSTANTIATE_TYPED_TEST_SUITE_P(here, code_context_conformance, runner_here);
INSTANTIATE_TYPED_TEST_SUITE_P(here, code_deadline_conformance, runner_here);
INSTANTIATE_TYPED_TEST_SUITE_P(here, code_file_conformance, runner_here);
INSTANTIATE_TYPED_TEST_SUITE_P(here, code_process_conformance, runner_here);

}  // namespace cofferdam::testing
