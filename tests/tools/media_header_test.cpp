// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/detail/tools/media_header.hpp>

#include "support/media_files.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace media_header_test {

using namespace cofferdam;
using cofferdam_test::big_endian;
using cofferdam_test::mp3_frame;
using cofferdam_test::mp4_box;
using cofferdam_test::mp4_file;
using cofferdam_test::mp4_track;
using cofferdam_test::wav_file;
using namespace std::string_literals;

/// Returns the format, such as "audio/wav", with "broken " before it if the file cannot be played. Returns an empty
/// text if the file is neither audio nor video.
std::string recognised(std::string_view file) {
  const std::optional<tools::detail::media_header> header = tools::detail::read_media_header(as_bytes(file));
  if (!header) return "";
  return (header->can_play ? "" : "broken ") + std::string(header->format->mime_type);
}

std::string id3(const std::string& content, char flags = 0) {
  return "ID3\4\0"s + flags + "\0\0\1\2"s + std::string(130, ' ') + content;
}
const std::string aac = "\xFF\xF1\x50\x80\x01\x1F\xFC\0"s;  // one frame of eight bytes
const std::string webm_start = "\x1A\x45\xDF\xA3\x87\x42\x82\x84webm\x18\x53\x80\x67\xFF"s;
const std::string cluster = "\x1F\x43\xB6\x75\x80"s;

std::vector<std::pair<std::string, std::string>> files() {
  const std::string frame = mp3_frame();
  std::string padded = frame;
  padded[2] = '\x92';  // one byte longer
  return {{wav_file(), "audio/wav"},
          {frame + frame, "audio/mpeg"},
          {frame, "audio/mpeg"},
          {padded + "x" + frame, "audio/mpeg"},
          {frame + "TAG" + std::string(125, ' '), "audio/mpeg"},
          {id3(frame + frame), "audio/mpeg"},
          {id3(std::string(500, '\0') + frame + frame), "audio/mpeg"},
          {id3("3DI\4\0\x10\0\0\1\2"s + frame, '\x10'), "audio/mpeg"},
          {"\xFF\xF3\x64\xC0"s + std::string(140, '\0') + "\xFF\xF3\x64\xC0"s, "audio/mpeg"},  // MPEG 2, 144 bytes
          {aac + aac, "audio/aac"},
          {id3(aac), "audio/aac"},
          {"fLaC\0\0\0\x22"s, "audio/flac"},
          {id3("fLaC\0\0\0\x22"s), "audio/flac"},
          {"FORM\0\0\0\0AIFF"s, "audio/aiff"},
          {"OggS\0\2"s + std::string(22, '\0') + "\1vorbis", "audio/ogg"},
          {"OggS\0\2"s + std::string(22, '\0') + "\x80theora", "video/ogg"},
          {mp4_file(), "video/mp4"},
          {mp4_file(mp4_track("soun") + mp4_track("vide")), "video/mp4"},
          {mp4_file(mp4_track("soun")), "audio/mp4"},
          {mp4_file(mp4_track("soun"), "M4A "), "audio/mp4"},
          {mp4_file(mp4_track("vide"), "qt  "), "video/quicktime"},
          {webm_start + "\x86\x85V_VP9" + cluster, "video/webm"},
          {webm_start + "\x86\x86" + "A_OPUS" + cluster, "audio/webm"},
          {"\x1A\x45\xDF\xA3\x8B\x42\x82\x88matroska"s, "video/x-matroska"},
          {"\0\0\1\xBA"s + std::string(10, ' ') + "\0\0\1\xE0"s, "video/mpeg"},
          {"RIFF\0\0\0\0AVI LIST"s, "video/x-msvideo"}};
}

TEST(MediaHeader, recognises_formats_by_content) {
  for (const auto& [file, wanted] : files()) EXPECT_EQ(recognised(file), wanted) << file.substr(0, 16);
}

TEST(MediaHeader, a_file_whose_needed_parts_are_missing_cannot_be_played) {
  const std::string video = mp4_file();
  EXPECT_EQ(recognised(wav_file().substr(0, 44)), "broken audio/wav");
  EXPECT_EQ(recognised(wav_file("")), "broken audio/wav");
  EXPECT_EQ(recognised(id3(std::string(500, ' '))), "broken audio/mpeg");
  EXPECT_EQ(recognised(video.substr(0, video.size() - 1)), "broken video/mp4");
  EXPECT_EQ(recognised(video.substr(0, 60)), "broken video/mp4");
  EXPECT_EQ(recognised(mp4_file("")), "broken video/mp4");
  EXPECT_EQ(recognised(webm_start + "\x86\x85V_VP9"), "broken video/webm");
  EXPECT_EQ(recognised("\0\0\1\xBA"s), "broken video/mpeg");
}

TEST(MediaHeader, other_files_are_neither_audio_nor_video) {
  for (const std::string& file :
       {""s, "a"s, "ID3 tags are explained here"s, "RIFF\0\0\0\0WEBPVP8 "s, "\x89PNG\r\n\x1A\n"s, "\xFF\xD8\xFF\xE0"s,
        "\xFF\xFE" + std::string(1000, 'a'), mp3_frame() + "and no frame", mp3_frame().substr(0, 100), "%PDF-1.7"s,
        mp4_file(mp4_track("vide"), "avif"), "\x1A\x45\xDF\xA3\x42\x82\x83xyz"s, "#!/bin/sh\n"s})
    EXPECT_EQ(recognised(file), "") << file.substr(0, 16);
}

TEST(MediaHeader, sizes_of_boxes_that_lie_are_no_way_out_of_the_file) {
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{15}, std::uint64_t{16}, ~std::uint64_t{0}}) {
    std::string box = "\0\0\0\1moov"s + big_endian(size, 8) + mp4_track("vide");
    recognised(mp4_file() + box);
    recognised(mp4_box("ftyp", "isom") + box);
  }
  for (const auto& [file, wanted] : files())
    for (std::size_t at = 0; at < file.size() && at < 200; ++at) {
      recognised(std::string_view(file).substr(0, at));
      for (const char wrong : {'\0', '\xFF', '\x01'}) {
        std::string other = file;
        other[at] = wrong;
        recognised(other);
      }
    }
}

}  // namespace media_header_test
