// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/net/readable_json.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <string>

namespace readable_json_tests {

namespace {

using cofferdam::readable_json;

TEST(ReadableJson, numbers_are_what_people_write) {
  const struct {
    const char* json;
    const char* readable;
  } table[] = {
      {"12.0", "12.0"},
      {"1.2E1", "12.0"},
      {"-0.5", "-0.5"},
      {"12", "12"},
      {"-12", "-12"},
      {"18446744073709551615", "18446744073709551615"},
      {"[]", "[]"},
      {"{}", "{}"},
      {"null", "null"},
      {"[1,1.0,-2.5,true,null,1e300]", "[1,1.0,-2.5,true,null,1e+300]"},
      {R"({"a":0.1,"b":{"c":[0.00001,7]}})", R"({"a":0.1,"b":{"c":[1e-05,7]}})"},
      {R"(["1.2E1","say \"1.2E1\"","\\",1.5,"\\\"3E0"])", R"(["1.2E1","say \"1.2E1\"","\\",1.5,"\\\"3E0"])"},
      {R"({"1.2E1":1.5})", R"({"1.2E1":1.5})"},
      {"\"\"", "\"\""},
  };
  for (const auto& row : table) {
    const boost::json::value value = boost::json::parse(row.json);
    EXPECT_EQ(readable_json(value), row.readable);
    EXPECT_EQ(boost::json::parse(readable_json(value)), value);
  }
}

TEST(ReadableJson, an_object_is_written_in_place) {
  boost::json::object object;
  object["mean"] = 12.0;
  EXPECT_EQ(readable_json(object), R"({"mean":12.0})");
}

}  // namespace

}  // namespace readable_json_tests
