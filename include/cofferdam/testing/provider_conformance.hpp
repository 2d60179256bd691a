// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// Checks for your own backend: the same that cofferdam's own backends pass.
//
//   #include <cofferdam/testing/provider_conformance.hpp>
//   struct mine {
//     static auto provider() { return my_provider(); }   // a recipe; each check opens an environment of its own
//   };
//   namespace cofferdam::testing {
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, command_conformance, mine);
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, file_conformance, mine);
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, lifetime_conformance, mine);
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, streaming_conformance, mine);   // where it models streaming_environment
//   }
//
// Needs GoogleTest, and a guest with sh, coreutils, grep and seq. The checks test what happens, never how fast: all
// time limits are long enough for a loaded machine.

#include <cofferdam/testing/detail/command_conformance.hpp>
#include <cofferdam/testing/detail/file_conformance.hpp>
#include <cofferdam/testing/detail/lifetime_conformance.hpp>
#include <cofferdam/testing/detail/streaming_conformance.hpp>
#include <cofferdam/testing/detail/terminal_conformance.hpp>
