// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// Test suites for a backend of your own. The backends of cofferdam pass the same tests.
//
//   #include <cofferdam/testing/provider_conformance.hpp>
//   struct mine {
//     static auto provider() { return my_provider(); }   // each check opens its own environment
//   };
//   namespace cofferdam::testing {
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, command_conformance, mine);
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, file_conformance, mine);
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, lifetime_conformance, mine);
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, streaming_conformance, mine);   // if it models streaming_environment
//   }
//
// The suites need GoogleTest. The environments need sh, coreutils, grep and seq. The tests check results and never
// speed: all time limits are long enough for a loaded machine.

#include <cofferdam/testing/detail/command_conformance.hpp>
#include <cofferdam/testing/detail/file_conformance.hpp>
#include <cofferdam/testing/detail/lifetime_conformance.hpp>
#include <cofferdam/testing/detail/streaming_conformance.hpp>
#include <cofferdam/testing/detail/terminal_conformance.hpp>
