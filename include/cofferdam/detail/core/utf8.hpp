// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The first unit of a text: one code point, or one invalid sequence.
class utf8_unit {
 public:
  /// The kind of the unit.
  enum class state : std::uint8_t {
    valid,       ///< a complete, well-formed sequence
    broken,      ///< an invalid sequence, whatever bytes follow
    incomplete,  ///< the text ends inside the sequence, and more bytes could complete it
  };

  constexpr utf8_unit(char32_t code_point, std::size_t size, state kind) noexcept
      : code_point_(code_point), size_(static_cast<std::uint8_t>(size)), state_(kind) {}

  /// Returns the code point; U+FFFD if the sequence is invalid or incomplete.
  constexpr char32_t code_point() const noexcept { return code_point_; }
  /// Returns the length in bytes, 1 to 4. For an invalid sequence, this is the length of its longest start that could
  /// begin a valid one ("maximal subpart" in Unicode), or 1.
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool valid() const noexcept { return state_ == state::valid; }
  constexpr bool incomplete() const noexcept { return state_ == state::incomplete; }

 private:
  char32_t code_point_;
  std::uint8_t size_;
  state state_;
};

/// Decodes the code point at the start of `text`, exactly as the WHATWG decoder does. Overlong forms, surrogates and
/// values above U+10FFFF are invalid from their first impossible byte on.
/// \param  text  any bytes; at least one.
/// \par Source  Unicode 15, section 3.9, table 3-7; WHATWG Encoding, "UTF-8 decoder".
constexpr utf8_unit decode_utf8(std::string_view text) noexcept {
  const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = at(0);
  if (lead < 0x80) return {lead, 1, utf8_unit::state::valid};
  std::size_t length = 0;
  unsigned lowest = 0x80;  // the lower bound of the second byte
  unsigned highest = 0xBF;
  char32_t code_point = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
    code_point = lead & 0x1F;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    code_point = lead & 0x0F;
    if (lead == 0xE0) lowest = 0xA0;   // lower values would be overlong forms
    if (lead == 0xED) highest = 0x9F;  // higher values would be surrogates
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    code_point = lead & 0x07;
    if (lead == 0xF0) lowest = 0x90;
    if (lead == 0xF4) highest = 0x8F;  // higher values would be above U+10FFFF
  } else {
    return {U'\uFFFD', 1, utf8_unit::state::broken};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {U'\uFFFD', i, utf8_unit::state::incomplete};
    const unsigned next = at(i);
    if (next < lowest || next > highest) return {U'\uFFFD', i, utf8_unit::state::broken};
    lowest = 0x80;
    highest = 0xBF;
    code_point = (code_point << 6) | (next & 0x3F);
  }
  return {code_point, length, utf8_unit::state::valid};
}

/// Appends a code point to a UTF-8 text.
/// \param code_point  a Unicode scalar value; any other value is appended as U+FFFD.
inline void append_utf8(std::string& out, char32_t code_point) {
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF)) code_point = U'\uFFFD';
  const auto add = [&out](char32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (code_point < 0x80) {
    add(code_point);
  } else if (code_point < 0x800) {
    add(0xC0 | (code_point >> 6));
    add(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    add(0xE0 | (code_point >> 12));
    add(0x80 | ((code_point >> 6) & 0x3F));
    add(0x80 | (code_point & 0x3F));
  } else {
    add(0xF0 | (code_point >> 18));
    add(0x80 | ((code_point >> 12) & 0x3F));
    add(0x80 | ((code_point >> 6) & 0x3F));
    add(0x80 | (code_point & 0x3F));
  }
}

// Returns the number of bytes at the start of `text` that are well-formed UTF-8.
inline std::size_t valid_utf8_prefix(std::string_view text) noexcept {
  std::size_t i = 0;
  while (i < text.size()) {
    while (text.size() - i >= sizeof(std::uint64_t)) {
      std::uint64_t eight;
      std::memcpy(&eight, text.data() + i, sizeof eight);
      if ((eight & 0x8080808080808080U) != 0) break;
      i += sizeof eight;
    }
    if (i == text.size()) break;
    const utf8_unit unit = decode_utf8(text.substr(i));
    if (!unit.valid()) break;
    i += unit.size();
  }
  return i;
}

/// Returns true if the bytes are valid UTF-8: no overlong form, no surrogate, no value above U+10FFFF and no incomplete
/// sequence.
inline bool is_valid_utf8(std::string_view raw) noexcept { return detail::valid_utf8_prefix(raw) == raw.size(); }

/// Appends `raw` to `out` as valid UTF-8. Each invalid sequence becomes one U+FFFD, as in the WHATWG decoder.
/// \param  raw  any bytes; must not be a part of `out`.
/// \return      the number of replaced sequences.
/// \par Cost    linear; `out` grows by at most three times `raw.size()`.
inline std::size_t append_repaired_utf8(std::string& out, std::string_view raw) {
  std::size_t repairs = 0;
  while (!raw.empty()) {
    const std::size_t valid = detail::valid_utf8_prefix(raw);
    out.append(raw.substr(0, valid));
    raw.remove_prefix(valid);
    if (raw.empty()) break;
    out += "\xEF\xBF\xBD";
    raw.remove_prefix(decode_utf8(raw).size());
    ++repairs;
  }
  return repairs;
}

/// Returns `raw` without an incomplete sequence at its end, for a text that was cut at its end. An invalid sequence
/// stays.
inline std::string_view without_cut_end(std::string_view raw) noexcept {
  const std::size_t longest = raw.size() < 3 ? raw.size() : 3;  // an incomplete sequence has 1 to 3 bytes
  for (std::size_t length = 1; length <= longest; ++length) {
    const utf8_unit unit = decode_utf8(raw.substr(raw.size() - length));
    if (unit.incomplete() && unit.size() == length) return raw.substr(0, raw.size() - length);
  }
  return raw;
}

/// Returns `raw` without the continuation bytes at its start (at most three), for a text that was cut at its start.
inline std::string_view without_cut_start(std::string_view raw) noexcept {
  std::size_t count = 0;
  while (count < 3 && count < raw.size() && (static_cast<unsigned char>(raw[count]) & 0xC0) == 0x80) ++count;
  return raw.substr(count);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
