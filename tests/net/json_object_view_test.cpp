// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/net/json_object_view.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace cofferdam::detail;

namespace {

boost::json::object parsed(const char* text) { return boost::json::parse(text).as_object(); }

TEST(JsonObjectView, a_member_of_another_kind_is_nothing) {
  const boost::json::object object = parsed(R"({"text":"a","object":{"in":1},"array":["x",2,"y"],"yes":true,"no":false,
      "null":null,"one":1})");
  for (const std::string_view key : {"text", "object", "array", "yes", "no", "null", "one", "absent"}) {
    const std::string why(key);
    EXPECT_EQ(member(object, key) != nullptr, key != "absent") << why;
    EXPECT_EQ(object_at(object, key) != nullptr, key == "object") << why;
    EXPECT_EQ(array_at(object, key) != nullptr, key == "array") << why;
    EXPECT_EQ(text_at(object, key), key == "text" ? "a" : "") << why;
    EXPECT_EQ(if_text_at(object, key).has_value(), key == "text") << why;
    EXPECT_EQ(is_true_at(object, key), key == "yes") << why;
    EXPECT_EQ(number_at(object, key).has_value(), key == "one") << why;
    EXPECT_EQ(count_at(object, key).has_value(), key == "one") << why;
    EXPECT_EQ(texts_at(object, key), key == "array" ? std::vector<std::string>({"x", "y"}) : std::vector<std::string>())
        << why;
  }
}

TEST(JsonObjectView, an_empty_text_is_a_text) {
  const boost::json::object object = parsed(R"({"text":""})");
  EXPECT_EQ(if_text_at(object, "text"), std::string_view());
  EXPECT_EQ(if_text_at(object, "other"), std::nullopt);
}

TEST(JsonObjectView, of_no_object_every_member_is_nothing) {
  const boost::json::object object = parsed(R"({"a":{"b":{"c":"deep"}}})");
  EXPECT_EQ(text_at(object_at(object_at(object, "a"), "b"), "c"), "deep");
  EXPECT_EQ(text_at(object_at(object_at(object, "x"), "b"), "c"), "");
  EXPECT_EQ(number_at(object_at(object, "x"), "c"), std::nullopt);
  EXPECT_EQ(member(nullptr, "a"), nullptr);
}

TEST(JsonObjectView, numbers_whichever_way_they_are_written) {
  struct row {
    const char* text;
    std::optional<std::int64_t> number;
    std::optional<std::uint64_t> count;
  };
  for (const row& each :
       {row{"0", 0, 0}, row{"-1", -1, std::nullopt}, row{"7.0", 7, 7}, row{"7.5", std::nullopt, std::nullopt},
        row{"1e3", 1000, 1000}, row{"1e300", std::nullopt, std::nullopt},
        row{"9223372036854775807", INT64_MAX, INT64_MAX}, row{"18446744073709551615", std::nullopt, UINT64_MAX},
        row{"-9223372036854775808", INT64_MIN, std::nullopt}}) {
    const boost::json::object object = parsed((std::string("{\"n\":") + each.text + "}").c_str());
    EXPECT_EQ(number_at(object, "n"), each.number) << each.text;
    EXPECT_EQ(count_at(object, "n"), each.count) << each.text;
  }
}

}  // namespace
