// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/local.hpp>
#include <cofferdam/testing/provider_conformance.hpp>

namespace cofferdam_test {

class bare_local {
 public:
  static auto provider() { return cofferdam::local().without_warning(); }
};

}  // namespace cofferdam_test

namespace cofferdam::testing {

INSTANTIATE_TYPED_TEST_SUITE_P(local, command_conformance, cofferdam_test::bare_local);
INSTANTIATE_TYPED_TEST_SUITE_P(local, file_conformance, cofferdam_test::bare_local);
INSTANTIATE_TYPED_TEST_SUITE_P(local, lifetime_conformance, cofferdam_test::bare_local);
INSTANTIATE_TYPED_TEST_SUITE_P(local, streaming_conformance, cofferdam_test::bare_local);

}  // namespace cofferdam::testing
