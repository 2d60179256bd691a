// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/tools/image_header.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::tools::detail {

/// A format of audio or video files.
class media_format {
 public:
  std::string_view mime_type;  ///< "audio/..." or "video/..."
  std::string_view suffix;     ///< the usual end of a file's name, without the dot
  /// True if services with the protocol of chat completions document the format: WAV and MP3 (OpenAI), and MP4, MPEG,
  /// QuickTime and WebM (OpenRouter).
  bool is_documented = false;

  constexpr bool is_video() const noexcept { return mime_type.starts_with("video/"); }
};

/// All formats that `read_media_header` recognises.
inline constexpr std::array<media_format, 15> media_formats{{{"audio/wav", "wav", true},
                                                             {"audio/mpeg", "mp3", true},
                                                             {"audio/flac", "flac", false},
                                                             {"audio/ogg", "ogg", false},
                                                             {"audio/aac", "aac", false},
                                                             {"audio/aiff", "aiff", false},
                                                             {"audio/mp4", "m4a", false},
                                                             {"audio/webm", "weba", false},
                                                             {"video/mp4", "mp4", true},
                                                             {"video/mpeg", "mpg", true},
                                                             {"video/quicktime", "mov", true},
                                                             {"video/webm", "webm", true},
                                                             {"video/ogg", "ogv", false},
                                                             {"video/x-matroska", "mkv", false},
                                                             {"video/x-msvideo", "avi", false}}};

/// Returns the format of a MIME type; null if `read_media_header` recognises no such format.
constexpr const media_format* media_format_of(std::string_view mime_type) noexcept {
  for (const media_format& each : media_formats)
    if (each.mime_type == mime_type) return &each;
  return nullptr;
}

/// The format of an audio or video file, and the completeness of the file.
class media_header {
 public:
  const media_format* format = nullptr;  ///< never null in a result of `read_media_header`
  /// False if a part is missing without which no program can play the file. True does not mean that the file is whole.
  bool can_play = false;
};

inline media_header media_header_of(std::string_view mime_type, bool can_play) noexcept {
  return {media_format_of(mime_type), can_play};
}

/// Returns the size of the MP3 frame at `at`, in bytes; 0 if no header of such a frame begins there.
inline std::size_t mp3_frame_size(const header_bytes& file, std::size_t at) noexcept {
  constexpr std::array<std::uint16_t, 15> of_mpeg_1{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320};
  constexpr std::array<std::uint16_t, 15> of_mpeg_2{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160};
  constexpr std::array<std::uint32_t, 3> rates{44100, 48000, 32000};
  if (file.at(at) != 0xFF || (file.at(at + 1) & 0xE6U) != 0xE2U) return 0;  // the synchronisation, and layer III
  const std::uint32_t version = file.at(at + 1) >> 3U & 3U;
  const std::uint32_t bit_rate = file.at(at + 2) >> 4U;
  const std::uint32_t rate = file.at(at + 2) >> 2U & 3U;
  if (version == 1 || bit_rate == 0 || bit_rate == 15 || rate == 3) return 0;
  const bool is_mpeg_1 = version == 3;
  const std::size_t bits = (is_mpeg_1 ? of_mpeg_1 : of_mpeg_2)[bit_rate] * std::size_t{1000};
  const std::size_t samples = rates[rate] >> (is_mpeg_1 ? 0U : version == 2 ? 1U : 2U);
  return (is_mpeg_1 ? 144U : 72U) * bits / samples + (file.at(at + 2) >> 1U & 1U);
}

/// Returns true if an MP3 frame begins at `at`, and after it another one, the old form of tags, or the end of the file.
inline bool is_mp3_at(const header_bytes& file, std::size_t at) noexcept {
  const std::size_t next = at + mp3_frame_size(file, at);
  return next != at && (next == file.size() || mp3_frame_size(file, next) != 0 || file.has(next, "TAG"));
}

/// Returns true if a frame of AAC with a header (ADTS) begins at `at`, and after it another one or the end of the file.
inline bool is_aac_at(const header_bytes& file, std::size_t at) noexcept {
  const auto is_header = [&](std::size_t i) { return file.at(i) == 0xFF && (file.at(i + 1) & 0xF6U) == 0xF0U; };
  const std::size_t size = (file.at(at + 3) & 3U) << 11U | file.at(at + 4) << 3U | file.at(at + 5) >> 5U;
  return is_header(at) && size >= 7 && (at + size == file.size() || is_header(at + size));
}

/// Reads a file that begins with a tag of ID3v2, which players skip.
inline media_header read_tagged_audio(const header_bytes& file) noexcept {
  constexpr std::size_t most_padding = 4096;
  std::size_t start = 10 + (file.at(6) << 21U | file.at(7) << 14U | file.at(8) << 7U | file.at(9));
  if ((file.at(5) & 0x10U) != 0) start += 10;
  if (file.has(start, "fLaC")) return media_header_of("audio/flac", true);
  for (std::size_t i = start; i < start + most_padding && i < file.size(); ++i) {
    if (is_mp3_at(file, i)) return media_header_of("audio/mpeg", true);
    if (is_aac_at(file, i)) return media_header_of("audio/aac", true);
  }
  return media_header_of("audio/mpeg", false);
}

/// Returns true if a WAV file has its format and at least one byte of sound.
inline bool can_play_wav(const header_bytes& file) noexcept {
  bool has_format = false;
  for (std::size_t i = 12; i + 8 < file.size();) {
    const std::size_t size = file.little32(i + 4);
    if (file.has(i, "data")) return has_format && size != 0;
    if (file.has(i, "fmt ")) has_format = size >= 16;
    i += 8 + size + size % 2;
  }
  return false;
}

/// The tracks in a file of the MP4 family.
class mp4_tracks {
 public:
  bool has_audio = false;
  bool has_video = false;
  bool is_cut_off = false;

  /// Reads the boxes between two offsets. \param depth  the number of boxes around them: 1 in `moov`, 2 in its `trak`.
  void read(const header_bytes& file, std::size_t at, std::size_t end, std::size_t depth) noexcept {
    constexpr std::array<std::string_view, 3> outer{"moov", "trak", "mdia"};
    while (end - at >= 8) {
      std::uint64_t size = file.big32(at);
      std::size_t start = at + 8;
      if (size == 1) {
        size = std::uint64_t{file.big32(at + 8)} << 32U | file.big32(at + 12);
        start = at + 16;
      } else if (size == 0) {
        size = end - at;
      }
      if (size < start - at) return;
      if (size > end - at) {
        is_cut_off = true;
        return;
      }
      const std::size_t next = at + size;
      if (depth < outer.size() && file.has(at + 4, outer[depth])) {
        read(file, start, next, depth + 1);
      } else if (depth == outer.size() && file.has(at + 4, "hdlr")) {
        has_audio = has_audio || file.has(start + 8, "soun");
        has_video = has_video || file.has(start + 8, "vide");
      }
      at = next;
    }
  }
};

/// Reads a file of the MP4 family. Returns no value if it is an image.
inline std::optional<media_header> read_mp4(const header_bytes& file) noexcept {
  for (const std::string_view image : {"avif", "avis", "heic", "heix", "hevc", "mif1", "msf1"})
    if (file.has(8, image)) return std::nullopt;
  mp4_tracks tracks;
  tracks.read(file, 0, file.size(), 0);
  const bool can_play = !tracks.is_cut_off && (tracks.has_audio || tracks.has_video);
  const bool is_audio = tracks.has_audio != tracks.has_video ? tracks.has_audio : file.has(8, "M4A ");
  if (is_audio) return media_header_of("audio/mp4", can_play);
  return media_header_of(file.has(8, "qt  ") ? "video/quicktime" : "video/mp4", can_play);
}

/// Reads a WebM or Matroska file.
inline std::optional<media_header> read_webm(std::string_view text) noexcept {
  using namespace std::string_view_literals;
  const std::string_view first = text.substr(0, 64);
  if (first.find("\x42\x82\x88matroska"sv) != std::string_view::npos) return media_header_of("video/x-matroska", true);
  if (first.find("\x42\x82\x84webm"sv) == std::string_view::npos) return std::nullopt;
  const std::size_t frames =
      text.find("\x1F\x43\xB6\x75"sv);  // the first cluster, behind the description of the tracks
  const std::string_view tracks = text.substr(0, frames);
  bool is_video = false;
  for (const std::string_view codec : {"V_VP8", "V_VP9", "V_AV1"})
    is_video = is_video || tracks.find(codec) != std::string_view::npos;
  const bool is_audio = !is_video && tracks.find("A_") != std::string_view::npos;
  return media_header_of(is_audio ? "audio/webm" : "video/webm",
                         frames != std::string_view::npos && (is_audio || is_video));
}

/// Recognises an audio or video file by its content. Decodes nothing, and does not look at the file's name.
/// \param content  the whole file.
/// \return         no value if the content has none of the known formats.
/// \par Cost       linear in the size of the file at most.
/// \par Source     RFC 2361 (WAV), ISO 11172-3 2.4.1 (MP3), ISO 14496-12 4.2 (MP4), RFC 8794 and RFC 9559 (WebM).
inline std::optional<media_header> read_media_header(bytes_view content) noexcept {
  using namespace std::string_view_literals;
  const header_bytes file(content);
  const std::string_view text = as_text(content);
  if (file.has(0, "RIFF") && file.has(8, "WAVE")) return media_header_of("audio/wav", can_play_wav(file));
  if (file.has(0, "RIFF") && file.has(8, "AVI ")) return media_header_of("video/x-msvideo", true);
  if (file.has(0, "ID3") && file.at(3) >= 2 && file.at(3) <= 4) return read_tagged_audio(file);
  if (is_mp3_at(file, 0)) return media_header_of("audio/mpeg", true);
  if (is_aac_at(file, 0)) return media_header_of("audio/aac", true);
  if (file.has(0, "fLaC")) return media_header_of("audio/flac", true);
  if (file.has(0, "FORM") && (file.has(8, "AIFF") || file.has(8, "AIFC"))) return media_header_of("audio/aiff", true);
  if (file.has(0, "OggS")) {
    const bool is_video = text.substr(0, 4096).find("\x80theora"sv) != std::string_view::npos;
    return media_header_of(is_video ? "video/ogg" : "audio/ogg", true);
  }
  if (file.has(4, "ftyp")) return read_mp4(file);
  if (file.has(0, "\x1A\x45\xDF\xA3")) return read_webm(text);
  if (file.has(0, "\0\0\1\xBA"sv))
    return media_header_of("video/mpeg", text.find("\0\0\1\xE0"sv) != std::string_view::npos);
  return std::nullopt;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::tools::detail
