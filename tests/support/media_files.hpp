// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Small audio and video files, made from the descriptions of their formats.

namespace cofferdam_test {

inline std::string big_endian(std::uint64_t number, int bytes) {
  std::string result;
  for (int i = bytes - 1; i >= 0; --i) result += static_cast<char>(number >> (8 * i) & 0xFFU);
  return result;
}
inline std::string little_endian(std::uint64_t number, int bytes) {
  const std::string reversed = big_endian(number, bytes);
  return {reversed.rbegin(), reversed.rend()};
}

/// Returns a WAV file: PCM, mono, 8,000 samples a second, 16 bits.
inline std::string wav_file(std::string samples = std::string(16, '\x01')) {
  const std::string format = little_endian(1, 2) + little_endian(1, 2) + little_endian(8000, 4) +
                             little_endian(16000, 4) + little_endian(2, 2) + little_endian(16, 2);
  const std::string inside =
      "WAVEfmt " + little_endian(16, 4) + format + "data" + little_endian(samples.size(), 4) + samples;
  return "RIFF" + little_endian(inside.size(), 4) + inside;
}

/// Returns one frame of an MP3: MPEG 1, layer III, 128 kbit/s, 44.1 kHz, 417 bytes.
inline std::string mp3_frame() { return "\xFF\xFB\x90\x64" + std::string(413, '\0'); }

/// Returns a box of MP4.
inline std::string mp4_box(std::string_view type, const std::string& content) {
  return big_endian(content.size() + 8, 4) + std::string(type) + content;
}
/// Returns a track of MP4. \param handler  "vide" or "soun".
inline std::string mp4_track(std::string_view handler) {
  const std::string content = std::string(8, '\0') + std::string(handler) + std::string(13, '\0');
  return mp4_box("trak", mp4_box("tkhd", std::string(84, '\0')) +
                             mp4_box("mdia", mp4_box("mdhd", std::string(24, '\0')) + mp4_box("hdlr", content)));
}
/// Returns an MP4 file with one frame of data. \param tracks  the results of `mp4_track`, joined.
inline std::string mp4_file(const std::string& tracks = mp4_track("vide"), std::string_view brand = "isom") {
  return mp4_box("ftyp", std::string(brand) + std::string(4, '\0')) + mp4_box("mdat", std::string(32, '\x07')) +
         mp4_box("moov", mp4_box("mvhd", std::string(100, '\0')) + tracks);
}

}  // namespace cofferdam_test
