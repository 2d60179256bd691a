// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/net/untrusted_json.hpp>

#include <boost/json/error.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <system_error>

namespace {

using cofferdam::detail::parse_untrusted_json;

std::string members(std::size_t count) {
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  return text + "}";
}

/// Parses `text` and returns it as JSON again. Returns "refused" for an object with too many members, and "broken" for
/// invalid JSON.
std::string read(const std::string& text) {
  std::error_code failure;
  const boost::json::value value = parse_untrusted_json(text, failure);
  if (failure == std::error_code(boost::json::make_error_code(boost::json::error::object_too_large))) return "refused";
  return failure ? "broken" : boost::json::serialize(value);
}

}  // namespace

TEST(UntrustedJson, reads_what_boost_reads) {
  for (const std::string text : {R"({})", R"([1,-2,18446744073709551615,"\u00e9\n",null,true,{"a":[{}]}])", R"("x")"})
    EXPECT_EQ(read(text), boost::json::serialize(boost::json::parse(text)));
  EXPECT_EQ(read(members(1000)), members(1000));
  const std::string long_array = "[" + std::string(20000, ' ') + members(1000) + "," + members(1000) + "]";
  EXPECT_EQ(read(long_array), boost::json::serialize(boost::json::parse(long_array)));
}

TEST(UntrustedJson, refuses_an_object_with_many_members_wherever_it_is) {
  const std::string large = members(1001);
  EXPECT_EQ(read(large), "refused");
  EXPECT_EQ(read("[1,{\"a\":" + large + "}]"), "refused");
  EXPECT_EQ(read("[" + members(1000) + "," + large + "]"), "refused");
  std::string same = "{";  // members with equal names count too
  for (int i = 0; i < 1001; ++i) same += i == 0 ? R"("":1)" : R"(,"":1)";
  EXPECT_EQ(read(same + "}"), "refused");
}

TEST(UntrustedJson, what_is_none_is_broken) {
  const std::string large = members(1001);
  for (const std::string& text : {std::string("{"), large + "}", large.substr(0, large.size() - 1), "[" + large,
                                  std::string(40, '[') + large + std::string(40, ']')})
    EXPECT_EQ(read(text), "broken") << text.substr(0, 10);
}
