// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::tools::detail {

/// The format of an image file, which its first bytes show.
enum class image_format { png, jpeg, gif, webp, bmp, tiff, photoshop };

/// Returns the MIME type of a format.
constexpr std::string_view mime_type(image_format format) noexcept {
  switch (format) {
    case image_format::png: return "image/png";
    case image_format::jpeg: return "image/jpeg";
    case image_format::gif: return "image/gif";
    case image_format::webp: return "image/webp";
    case image_format::bmp: return "image/bmp";
    case image_format::tiff: return "image/tiff";
    case image_format::photoshop: return "image/vnd.adobe.photoshop";
  }
  return "application/octet-stream";
}

/// The format and the size in an image file's header. Width and height are 0 if they cannot be read, because the file
/// is incomplete or broken.
class image_header {
 public:
  image_format format = image_format::png;
  std::uint32_t width = 0;   ///< in pixels; 0 if unknown
  std::uint32_t height = 0;  ///< in pixels; 0 if unknown

  bool has_size() const noexcept { return width != 0 && height != 0; }
  std::uint64_t pixels() const noexcept { return std::uint64_t{width} * height; }
};

/// A reader of numbers in a file, with bounds checks. Bytes after the end of the file read as 0.
class header_bytes {
 public:
  explicit header_bytes(bytes_view content) : content_(content) {}
  std::uint32_t at(std::size_t i) const noexcept {
    return i < content_.size() ? std::to_integer<std::uint32_t>(content_[i]) : 0;
  }
  std::uint32_t big16(std::size_t i) const noexcept { return at(i) << 8U | at(i + 1); }
  std::uint32_t big32(std::size_t i) const noexcept { return big16(i) << 16U | big16(i + 2); }
  std::uint32_t little16(std::size_t i) const noexcept { return at(i) | at(i + 1) << 8U; }
  std::uint32_t little24(std::size_t i) const noexcept { return little16(i) | at(i + 2) << 16U; }
  std::uint32_t little32(std::size_t i) const noexcept { return little16(i) | little16(i + 2) << 16U; }
  bool has(std::size_t i, std::string_view text) const noexcept {
    return i <= content_.size() && as_text(content_).substr(i, text.size()) == text;
  }
  std::size_t size() const noexcept { return content_.size(); }

 private:
  bytes_view content_;
};

/// Reads the size from a JPEG: skips segments by their lengths, up to the first frame header (SOF).
inline void read_jpeg_size(const header_bytes& file, image_header& header) noexcept {
  std::size_t i = 2;
  while (i + 9 < file.size()) {
    if (file.at(i) != 0xFF) return;
    const std::uint32_t marker = file.at(i + 1);
    if (marker == 0xFF) {  // a fill byte before the marker
      ++i;
      continue;
    }
    if (marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8)) {
      i += 2;
      continue;
    }
    if (marker == 0xD9 || marker == 0xDA) return;
    const bool frame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (frame) {
      header.height = file.big16(i + 5);
      header.width = file.big16(i + 7);
      return;
    }
    const std::uint32_t length = file.big16(i + 2);
    if (length < 2) return;
    i += 2 + length;
  }
}

inline void read_webp_size(const header_bytes& file, image_header& header) noexcept {
  if (file.size() < 30) return;
  if (file.has(12, "VP8X")) {
    header.width = file.little24(24) + 1;
    header.height = file.little24(27) + 1;
  } else if (file.has(12, "VP8L") && file.at(20) == 0x2F) {
    const std::uint32_t bits = file.little32(21);
    header.width = (bits & 0x3FFFU) + 1;
    header.height = (bits >> 14U & 0x3FFFU) + 1;
  } else if (file.has(12, "VP8 ") && file.has(23, "\x9D\x01\x2A")) {
    header.width = file.little16(26) & 0x3FFFU;
    header.height = file.little16(28) & 0x3FFFU;
  }
}

/// Reads the header at the start of an image file. Decodes nothing, and does not look at the file's name.
/// \param content  the file, or its beginning. A JPEG needs about 64 KiB, because its size follows the metadata.
/// \return         no value if the content has none of the known formats.
/// \par Cost       constant; for a JPEG linear in the size of its metadata.
/// \par Source     PNG 3rd edition, 5.2 and 11.2.1; ITU-T T.81, B.1 and B.2; GIF89a, 17 and 18; RFC 9649 (WebP).
inline std::optional<image_header> read_image_header(bytes_view content) noexcept {
  using namespace std::string_view_literals;
  const detail::header_bytes file(content);
  image_header header;
  if (file.has(0, "\x89PNG\r\n\x1A\n"sv)) {
    header.format = image_format::png;
    if (file.size() >= 24 && file.big32(8) == 13 && file.has(12, "IHDR")) {
      header.width = file.big32(16);
      header.height = file.big32(20);
    }
  } else if (file.has(0, "\xFF\xD8\xFF"sv)) {
    header.format = image_format::jpeg;
    detail::read_jpeg_size(file, header);
  } else if (file.has(0, "GIF87a") || file.has(0, "GIF89a")) {
    header.format = image_format::gif;
    header.width = file.little16(6);
    header.height = file.little16(8);
  } else if (file.has(0, "RIFF") && file.has(8, "WEBP")) {
    header.format = image_format::webp;
    detail::read_webp_size(file, header);
  } else if (file.has(0, "BM") && file.size() >= 26 && file.little32(14) >= 12 && file.little32(14) <= 124) {
    header.format = image_format::bmp;
  } else if (file.has(0, "II*\0"sv) || file.has(0, "MM\0*"sv)) {
    header.format = image_format::tiff;
  } else if (file.has(0, "8BPS")) {
    header.format = image_format::photoshop;
  } else {
    return std::nullopt;
  }
  return header;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::tools::detail
