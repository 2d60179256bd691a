// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/core/number_text.hpp>

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>

namespace number_text_tests {

namespace {

using cofferdam::detail::number_from;
using cofferdam::detail::number_from_stream;
using cofferdam::detail::number_text;

TEST(NumberText, is_what_people_write) {
  using limits = std::numeric_limits<double>;
  const struct {
    double number;
    const char* text;
  } table[] = {
      {0, "0.0"},
      {-0.0, "-0.0"},
      {1, "1.0"},
      {12, "12.0"},
      {-12.5, "-12.5"},
      {0.1, "0.1"},
      {0.1 + 0.2, "0.30000000000000004"},
      {1.0 / 3, "0.3333333333333333"},
      {100000, "100000.0"},
      {123456789.125, "123456789.125"},
      {1e15, "1000000000000000.0"},
      {9007199254740993.0, "9007199254740992.0"},
      {9999999999999998.0, "9999999999999998.0"},
      {1e16, "1e+16"},
      {1.5e300, "1.5e+300"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {0.000012345, "1.2345e-05"},
      {limits::max(), "1.7976931348623157e+308"},
      {limits::lowest(), "-1.7976931348623157e+308"},
      {limits::min(), "2.2250738585072014e-308"},
      {limits::denorm_min(), "5e-324"},
      {limits::infinity(), "inf"},
      {-limits::infinity(), "-inf"},
      {limits::quiet_NaN(), "nan"},
  };
  for (const auto& row : table) EXPECT_EQ(number_text(row.number), row.text);
}

TEST(NumberText, reads_back_as_the_same_number) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t bits = random();
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    // Skips infinities and NaN.
    if (!(number - number == 0)) continue;
    const std::string text = number_text(number);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    ASSERT_EQ(std::memcmp(&back, &number, sizeof number), 0) << text;
    ASSERT_EQ(number_from(text), number) << text;
    if (i % 10 == 0 && std::isnormal(number)) {
      ASSERT_EQ(number_from_stream(text), number) << text;
    }
  }
}

TEST(NumberText, only_a_text_that_is_a_number_as_a_whole_is_read) {
  for (const char* const text :
       {"", "-", "+1", " 1", "1 ", "1,5", "0x10", "1e", "e5", "--1", "1.5.2", "in", "nano", "1e999"}) {
    EXPECT_EQ(number_from(text), std::nullopt) << text;
    EXPECT_EQ(number_from_stream(text), std::nullopt) << text;
  }
  for (const auto& [text, number] :
       {std::pair("1", 1.0), {"-0.5", -0.5}, {".5", 0.5}, {"1e+16", 1e16}, {"2E3", 2000.0}}) {
    EXPECT_EQ(number_from(text), number) << text;
    EXPECT_EQ(number_from_stream(text), number) << text;
  }
  for (const auto read : {&number_from<>, &number_from_stream}) {
    EXPECT_EQ(read("inf"), std::numeric_limits<double>::infinity());
    EXPECT_EQ(read("-inf"), -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(read("nan").value_or(0)));
  }
}

}  // namespace

}  // namespace number_text_tests
