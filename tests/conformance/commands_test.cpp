// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/testing/detail/command_conformance.hpp>
#include <cofferdam/testing/detail/lifetime_conformance.hpp>
#include <cofferdam/testing/detail/streaming_conformance.hpp>
#include <cofferdam/testing/detail/terminal_conformance.hpp>

#include "conformance/places.hpp"

namespace cofferdam::testing {

INSTANTIATE_TYPED_TEST_SUITE_P(here, command_conformance, cofferdam_test::here);
INSTANTIATE_TYPED_TEST_SUITE_P(here, lifetime_conformance, cofferdam_test::here);
INSTANTIATE_TYPED_TEST_SUITE_P(here, streaming_conformance, cofferdam_test::here);
INSTANTIATE_TYPED_TEST_SUITE_P(here, terminal_conformance, cofferdam_test::here);

}  // namespace cofferdam::testing
