// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/detail/tools/image_header.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace cofferdam;
using namespace std::string_literals;

/// Returns the header as text, such as "image/png 2x3". Returns an empty text if the file is not an image.
std::string shown(std::string_view file) {
  const std::optional<tools::detail::image_header> header = tools::detail::read_image_header(as_bytes(file));
  if (!header) return "";
  return std::string(tools::detail::mime_type(header->format)) + " " + std::to_string(header->width) + "x" +
         std::to_string(header->height);
}

const std::string png = "\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\0\0\0\0"s;
const std::string jpeg =
    "\xFF\xD8\xFF\xE0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0\xFF\xFF\xC4\0\3\0\xFF\xC0\0\x11\x08\0\x05\0\x07\3\1\x22\0"s;
const std::string gif = "GIF89a\x10\0\x20\0\0\0\0"s;
const std::string vp8 = "RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9D\x01\x2A\x0A\0\x14\0\0\0"s;
const std::string vp8l = "RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2F\x09\xC0\x04\0\0\0\0\0\0\0"s;
const std::string vp8x = "RIFF\0\0\0\0WEBPVP8X\x0A\0\0\0\0\0\0\0\x1F\0\0\x0F\0\0"s;

// Feature: G2
TEST(ImageHeader, says_format_and_size) {
  EXPECT_EQ(shown(png), "image/png 2x3");
  EXPECT_EQ(shown(jpeg), "image/jpeg 7x5");
  EXPECT_EQ(shown(gif), "image/gif 16x32");
  EXPECT_EQ(shown(vp8), "image/webp 10x20");
  EXPECT_EQ(shown(vp8l), "image/webp 10x20");
  EXPECT_EQ(shown(vp8x), "image/webp 32x16");
  EXPECT_EQ(shown("BM" + std::string(12, '\0') + "\x28\0\0\0"s + std::string(30, '\0')), "image/bmp 0x0");
  EXPECT_EQ(shown("II*\0\x08\0\0\0"s), "image/tiff 0x0");
  EXPECT_EQ(shown("MM\0*\0\0\0\x08"s), "image/tiff 0x0");
  EXPECT_EQ(shown("8BPS\0\1"s), "image/vnd.adobe.photoshop 0x0");
}

TEST(ImageHeader, what_is_none_is_none) {
  for (const std::string_view text :
       {"", "a", "<svg xmlns='x'/>", "%PDF-1.7", "BM is a way to begin a text, too", "GIF", "RIFF"})
    EXPECT_EQ(shown(text), "") << text;
}

TEST(ImageHeader, a_file_cut_anywhere_has_its_size_or_none) {
  for (const std::string& file : {png, jpeg, gif, vp8, vp8l, vp8x}) {
    const std::string whole = shown(file);
    for (std::size_t cut = 0; cut < file.size(); ++cut) {
      const std::optional<tools::detail::image_header> header =
          tools::detail::read_image_header(as_bytes(std::string_view(file).substr(0, cut)));
      if (header && header->has_size()) {
        EXPECT_TRUE(shown(file.substr(0, cut)) == whole || cut < 10) << cut;
      }
    }
  }
}

TEST(ImageHeader, every_byte_may_be_wrong) {
  for (const std::string& file : {png, jpeg, gif, vp8, vp8l, vp8x})
    for (std::size_t at = 0; at < file.size(); ++at)
      for (const char wrong : {'\0', '\xFF', '\x01'}) {
        std::string other = file;
        other[at] = wrong;
        shown(other);
      }
  shown("\xFF\xD8\xFF\xE0\0\0"s + std::string(100, '\xFF'));
}

}  // namespace
