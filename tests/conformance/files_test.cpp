// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/testing/detail/file_conformance.hpp>

#include "conformance/places.hpp"

namespace cofferdam::testing {

INSTANTIATE_TYPED_TEST_SUITE_P(here, file_conformance, cofferdam_test::here);

}  // namespace cofferdam::testing
