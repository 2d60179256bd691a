// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/local.hpp>
#include <cofferdam/testing/provider_conformance.hpp>

namespace cofferdam_test {

class bare_local {
 public:
  static auto provider() { return cofferdam::local().without_warning(); }
};

class local_without_warden {
 public:
  static auto provider() { return cofferdam::local().without_warning().warden(cofferdam::warden_policy::never); }
};

}  // namespace cofferdam_test

namespace cofferdam::testing {

INSTANTIATE_TYPED_TEST_SUITE_P(local, command_conformance, cofferdam_test::bare_local);
INSTANTIATE_TYPED_TEST_SUITE_P(local, file_conformance, cofferdam_test::bare_local);
INSTANTIATE_TYPED_TEST_SUITE_P(local, lifetime_conformance, cofferdam_test::bare_local);
INSTANTIATE_TYPED_TEST_SUITE_P(local, streaming_conformance, cofferdam_test::bare_local);
INSTANTIATE_TYPED_TEST_SUITE_P(local, terminal_conformance, cofferdam_test::bare_local);
INSTANTIATE_TYPED_TEST_SUITE_P(without_warden, command_conformance, cofferdam_test::local_without_warden);
INSTANTIATE_TYPED_TEST_SUITE_P(without_warden, lifetime_conformance, cofferdam_test::local_without_warden);
INSTANTIATE_TYPED_TEST_SUITE_P(without_warden, streaming_conformance, cofferdam_test::local_without_warden);
INSTANTIATE_TYPED_TEST_SUITE_P(without_warden, terminal_conformance, cofferdam_test::local_without_warden);

}  // namespace cofferdam::testing
