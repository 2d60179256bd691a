// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/transfer_result.hpp>

#include <gtest/gtest.h>

#include <concepts>
#include <string>
#include <utility>
#include <vector>

namespace transfer_tests {

namespace {

using namespace cofferdam;

static_assert(std::same_as<decltype(std::declval<transfer_result>().files()), std::vector<transferred_file>>);
static_assert(std::same_as<decltype(std::declval<transfer_result>().failed()), std::vector<failed_file>>);
static_assert(std::same_as<decltype(std::declval<transfer_result&>().files()), const std::vector<transferred_file>&>);
static_assert(std::same_as<decltype(std::declval<transferred_file>().destination()), std::string>);
static_assert(std::same_as<decltype(std::declval<failed_file>().source()), std::string>);
static_assert(std::same_as<decltype(std::declval<directory_entry>().path()), std::string>);
static_assert(std::same_as<decltype(std::declval<const directory_entry&>().path()), const std::string&>);

// If files() of a temporary returned a reference, this loop would read freed memory.
TEST(Transfer, a_loop_over_the_files_of_a_temporary_sees_them) {
  const std::string name(100, 'n');
  const auto make_report = [&] {
    transfer_result report;
    report.add(transferred_file(name, name, 3));
    return report;
  };
  std::string sources;
  for (const transferred_file& file : make_report().files()) sources += file.source();
  EXPECT_EQ(sources, name);
}

}  // namespace

}  // namespace transfer_tests
