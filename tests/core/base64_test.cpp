// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/base64.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace cofferdam;
using namespace std::string_view_literals;

std::string encoded(std::string_view text, base64_alphabet which = base64_alphabet::standard) {
  return base64_encode(as_bytes(text), which);
}

std::optional<std::string> decoded(std::string_view text, base64_alphabet which = base64_alphabet::standard) {
  const std::optional<bytes> raw = base64_decode(text, which);
  if (!raw) return std::nullopt;
  return std::string(as_text(*raw));
}

TEST(Base64, the_vectors_of_the_standard_hold_both_ways) {
  const std::pair<std::string_view, std::string_view> vectors[] = {{"", ""},
                                                                   {"f", "Zg=="},
                                                                   {"fo", "Zm8="},
                                                                   {"foo", "Zm9v"},
                                                                   {"foob", "Zm9vYg=="},
                                                                   {"fooba", "Zm9vYmE="},
                                                                   {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, text] : vectors) {
    EXPECT_EQ(encoded(plain), text);
    EXPECT_EQ(decoded(text), plain);
  }
}

TEST(Base64, the_two_alphabets_differ_in_their_last_two_characters) {
  EXPECT_EQ(encoded("\xfb\xff\xbf"), "+/+/");
  EXPECT_EQ(encoded("\xfb\xff\xbf", base64_alphabet::url), "-_-_");
  EXPECT_EQ(decoded("-_-_", base64_alphabet::url), "\xfb\xff\xbf");
  EXPECT_EQ(decoded("-_-_"), std::nullopt);
  EXPECT_EQ(decoded("+/+/", base64_alphabet::url), std::nullopt);
}

TEST(Base64, every_byte_at_every_place_comes_back) {
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t at = 0; at < 4; ++at) {
      std::string raw = "abcd";
      raw[at] = static_cast<char>(byte);
      for (const base64_alphabet which : {base64_alphabet::standard, base64_alphabet::url})
        EXPECT_EQ(decoded(encoded(raw, which), which), raw);
    }
  }
}

TEST(Base64, whatever_the_encoder_does_not_write_is_refused) {
  for (const std::string_view text :
       {"Z"sv, "Zg"sv, "Zg="sv, "Zm9"sv, "Zg==\n"sv, "Zm9v\n"sv, " Zg=="sv, "Zm 9"sv, "Z==="sv, "===="sv, "Zg==Zg=="sv,
        "Zh=="sv, "Zm9="sv, "Zm9v===="sv, "Zm\0v"sv, "Zm9\xc3"sv, "=m9v"sv, "Z=9v"sv, "Zm=v"sv})
    EXPECT_EQ(decoded(text), std::nullopt) << text;
}

}  // namespace
