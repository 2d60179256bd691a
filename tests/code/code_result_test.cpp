// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests that members of a temporary code_result return values, because references would dangle.

#include <cofferdam/code/code_result.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <concepts>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace code_result_tests {

namespace {

using namespace cofferdam;

static_assert(std::same_as<decltype(std::declval<code_result>().out()), captured_output>);
static_assert(std::same_as<decltype(std::declval<code_result>().value()), std::optional<boost::json::value>>);
static_assert(std::same_as<decltype(std::declval<code_result>().failure()), std::optional<code_error>>);
static_assert(std::same_as<decltype(std::declval<code_result>().files()), std::vector<generated_file>>);
static_assert(std::same_as<decltype(std::declval<code_result>().isolation()), isolation_report>);
static_assert(std::same_as<decltype(std::declval<code_error>().traceback()), std::string>);
static_assert(
    std::same_as<decltype(std::declval<const code_result&>().value()), const std::optional<boost::json::value>&>);
static_assert(std::same_as<decltype(std::declval<tools::tool_result>().text()), std::string>);
static_assert(std::same_as<decltype(std::declval<const tools::tool_result&>().text()), const std::string&>);

TEST(CodeResult, a_loop_over_the_files_of_a_temporary_sees_them) {
  const std::string name(100, 'n');
  const auto make_result = [&] {
    code_result result;
    result.files({generated_file(name, 3, true)}, true).value(boost::json::value(12.0), true, std::string(100, 'v'));
    return result;
  };
  std::string paths;
  for (const generated_file& file : make_result().files()) paths += file.path();
  EXPECT_EQ(paths, name);
  const std::string& text = make_result().value_text();
  EXPECT_EQ(text, std::string(100, 'v'));
  const auto& value = make_result().value();
  EXPECT_EQ(value->as_double(), 12.0);
}

}  // namespace

}  // namespace code_result_tests
