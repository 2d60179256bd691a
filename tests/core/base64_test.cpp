// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/core/base64.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace cofferdam;
using cofferdam::detail::base64_alphabet;
using cofferdam::detail::base64_decode;
using cofferdam::detail::base64_encode;
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

// On processors with vector instructions, long texts are decoded in blocks. The test covers every length, and every
// byte at every position of a block.
TEST(Base64, long_texts_come_back_whatever_their_length_and_bytes) {
  std::string raw;
  for (int i = 0; i < 200; ++i) {
    for (const base64_alphabet which : {base64_alphabet::standard, base64_alphabet::url})
      EXPECT_EQ(decoded(encoded(raw, which), which), raw) << i;
    raw += static_cast<char>(i * 37 + i / 7);
  }
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t at = 0; at < 24; ++at) {
      std::string changed = raw;
      changed[at] = static_cast<char>(byte);
      for (const base64_alphabet which : {base64_alphabet::standard, base64_alphabet::url})
        EXPECT_EQ(decoded(encoded(changed, which), which), changed) << byte << " at " << at;
    }
  }
}

TEST(Base64, a_wrong_character_is_refused_wherever_it_stands_in_a_long_text) {
  const std::string raw(100, 'x');
  for (const base64_alphabet which : {base64_alphabet::standard, base64_alphabet::url}) {
    const std::string text = encoded(raw, which);
    const std::string known = encoded(std::string("\x00\x10\x83\x10\x51\x87\x20\x92\x8b\x30\xd3\x8f\x41\x14\x93\x51"
                                                  "\x55\x97\x61\x96\x9b\x71\xd7\x9f\x82\x18\xa3\x92\x59\xa7\xa2\x9a"
                                                  "\xab\xb2\xdb\xaf\xc3\x1c\xb3\xd3\x5d\xb7\xe3\x9e\xbb\xf3\xdf\xbf",
                                                  48),
                                      which);
    for (int byte = 0; byte < 256; ++byte) {
      if (known.find(static_cast<char>(byte)) != std::string::npos) continue;
      for (std::size_t at = 0; at < 40; ++at) {
        std::string changed = text;
        changed[at] = static_cast<char>(byte);
        EXPECT_EQ(decoded(changed, which), std::nullopt) << byte << " at " << at;
      }
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
