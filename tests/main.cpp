// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The main of the test programs.

#include "support/run_all_tests.hpp"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
/// Asio ends the last of several owners of an executor behind a fence (`ref_count_down`), and ThreadSanitizer does not
/// follow fences: it calls that a race with the owner before.
extern "C" const char* __tsan_default_suppressions() {
  return "race:asio::execution::detail::shared_target_executor::~shared_target_executor\n";
}
#endif
#endif

int main(int argc, char** argv) { return cofferdam_test::run_all_tests(argc, argv); }
