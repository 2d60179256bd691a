// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The `main` function of the test programs.

#include "support/run_all_tests.hpp"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
/// Asio destroys a shared executor after an atomic fence (`ref_count_down`). ThreadSanitizer does not support fences,
/// and reports a race with the previous owner. This suppresses the false report, if there is an llvm-symbolizer. An
/// unsuppressed report would also be inherited by forked programs, which then exit with status 66.
extern "C" const char* __tsan_default_suppressions() {
  return "race:asio::execution::detail::shared_target_executor::~shared_target_executor\n";
}

/// Some tests fork a program that starts threads. By default, ThreadSanitizer ends such a program if a thread of an
/// earlier test existed at the fork, for example one of Asio's system executor.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif
#endif

int main(int argc, char** argv) { return cofferdam_test::run_all_tests(argc, argv); }
