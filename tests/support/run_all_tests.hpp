// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// Runs the tests of a program, and lists the skipped tests with their reasons, so that no gap stays unnoticed.

#include "support/require.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <sys/resource.h>

namespace cofferdam_test {

struct skipped_test {
  std::string name;
  std::string why;
};

/// Records the skipped tests of a run, and the reasons.
class skip_account : public ::testing::EmptyTestEventListener {
 public:
  const std::vector<skipped_test>& skipped() const noexcept { return skipped_; }

 private:
  void OnTestEnd(const ::testing::TestInfo& test) override {
    if (!test.result()->Skipped()) return;
    std::string why;
    for (int i = 0; i < test.result()->total_part_count(); ++i) {
      const auto& part = test.result()->GetTestPartResult(i);
      if (part.skipped()) why += part.message();
    }
    if (why.empty()) why = "no reason given";
    skipped_.push_back({std::string(test.test_suite_name()) + "." + test.name(), why});
  }

  std::vector<skipped_test> skipped_;
};

/// Runs all tests of the program. The last line printed is `N passed, N failed, N skipped`.
/// \return  the exit status for `main`: 0 if no test failed; 1 also for a skipped test under COFFERDAM_REQUIRE=all.
inline int run_all_tests(int argc, char** argv) {
  // Prevents core dumps of failed tests, because the memory of tests and servers holds keys in plain text. A limit of 1
  // byte prevents core files and also, unlike 0, core handler programs: core(5).
  rlimit cores{};
  ::getrlimit(RLIMIT_CORE, &cores);
  cores.rlim_cur = std::min<rlim_t>(1, cores.rlim_max);
  ::setrlimit(RLIMIT_CORE, &cores);
  ::testing::InitGoogleTest(&argc, argv);
  auto* account = new skip_account;  // owned by GoogleTest after Append()
  ::testing::UnitTest::GetInstance()->listeners().Append(account);
  int code = RUN_ALL_TESTS();

  const auto& tests = *::testing::UnitTest::GetInstance();
  const int disabled = tests.reportable_disabled_test_count();
  const int skipped = tests.skipped_test_count() + disabled;
  if (skipped > 0) std::cout << "\nskipped: " << skipped << '\n';
  for (const auto& test : account->skipped()) std::cout << "  " << test.name << ": " << test.why << '\n';
  if (disabled > 0) std::cout << "  " << disabled << " disabled by their name\n";
  if (skipped > 0 && is_required("all")) {
    std::cout << "COFFERDAM_REQUIRE=all allows no skip\n";
    code = 1;
  }
  std::cout << tests.successful_test_count() << " passed, " << tests.failed_test_count() << " failed, " << skipped
            << " skipped" << std::endl;
  return code;
}

}  // namespace cofferdam_test
