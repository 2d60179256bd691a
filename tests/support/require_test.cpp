// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include "support/require.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace {

/// Sets the environment variable COFFERDAM_REQUIRE. The destructor restores the old value.
class required {
 public:
  explicit required(const char* list) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, list, 1);
  }
  required(const required&) = delete;
  required& operator=(const required&) = delete;
  ~required() {
    if (before_)
      setenv(name, before_->c_str(), 1);
    else
      unsetenv(name);
  }

 private:
  static constexpr const char* name = "COFFERDAM_REQUIRE";
  std::optional<std::string> before_;
};

void needs_the_impossible() { COFFERDAM_NEEDS("impossible", false, "nothing"); }

}  // namespace

TEST(Require, names_are_whole_items_of_the_list) {
  const required list("openat2,docker");
  EXPECT_TRUE(cofferdam_test::is_required("openat2"));
  EXPECT_TRUE(cofferdam_test::is_required("docker"));
  EXPECT_FALSE(cofferdam_test::is_required("dock"));
  EXPECT_FALSE(cofferdam_test::is_required(""));
}

TEST(Require, all_names_everything) {
  const required list("all");
  EXPECT_TRUE(cofferdam_test::is_required("anything"));
}

TEST(Require, what_is_required_and_not_here_fails) {
  const required list("impossible");
  EXPECT_FATAL_FAILURE(needs_the_impossible(), "which is not here; not proven: nothing");
}

TEST(Require, what_is_here_goes_on) {
  bool reached = false;
  const auto body = [&] {
    COFFERDAM_NEEDS("possible", true, "nothing");
    reached = true;
  };
  body();
  EXPECT_TRUE(reached);
}
