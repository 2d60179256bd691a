// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// The whole suite again through an erased provider and every layer that changes nothing here: no operation is lost on
// the way, and none goes round.
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/middleware/limit_output.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/middleware/variables.hpp>
#include <cofferdam/testing/provider_conformance.hpp>

#include <chrono>

namespace cofferdam_test {

class layered_local {
 public:
  static auto provider() {
    using namespace cofferdam;
    return any_provider(local().without_warning()) | limit_output(1024 * 1024) | timeout(std::chrono::minutes(10)) |
           variables("COFFERDAM_TEST", "1");
  }
};

}  // namespace cofferdam_test

namespace cofferdam::testing {

INSTANTIATE_TYPED_TEST_SUITE_P(layered, command_conformance, cofferdam_test::layered_local);
INSTANTIATE_TYPED_TEST_SUITE_P(layered, file_conformance, cofferdam_test::layered_local);
INSTANTIATE_TYPED_TEST_SUITE_P(layered, lifetime_conformance, cofferdam_test::layered_local);
INSTANTIATE_TYPED_TEST_SUITE_P(layered, streaming_conformance, cofferdam_test::layered_local);

}  // namespace cofferdam::testing
