// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/core/number_text.hpp>

#include <gtest/gtest.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>

namespace number_text_tests {

namespace {

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
  }
}

}  // namespace

}  // namespace number_text_tests
