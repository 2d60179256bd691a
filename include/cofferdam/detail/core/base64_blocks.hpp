// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstddef>
#include <span>
#include <string_view>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The number of characters in one block of base64_decode_blocks.
inline constexpr std::size_t base64_block = 16;

#if defined(__x86_64__)

// Checks and decodes 16 characters at a time. Two tables check a character. `kind` is indexed by its upper four bits
// and gives the bit of its group: 1 for + and / (upper bits 2), 2 for the digits (3), 4 for A to O and a to o (4 and
// 6), 8 for P to Z and p to z (5 and 7), and 16 for all other characters. `wrong` is indexed by the lower four bits and
// gives the bits of all groups that have no valid character with these lower bits. The character is invalid if the two
// values have a bit in common.
__attribute__((target("ssse3"))) inline std::size_t base64_decode_blocks_ssse3(std::string_view text,
                                                                               std::span<std::byte> to) noexcept {
  const __m128i kind = _mm_setr_epi8(16, 16, 1, 2, 4, 8, 4, 8, 16, 16, 16, 16, 16, 16, 16, 16);
  const __m128i wrong = _mm_setr_epi8(21, 17, 17, 17, 17, 17, 17, 17, 17, 17, 19, 26, 27, 27, 27, 26);
  const __m128i shift = _mm_setr_epi8(0, 0, 62 - '+', 52 - '0', -'A', -'A', 26 - 'a', 26 - 'a', 0, 0, 0, 0, 0, 0, 0, 0);
  const __m128i slash = _mm_set1_epi8('/');
  const __m128i slash_shift = _mm_set1_epi8((63 - '/') - (62 - '+'));
  const __m128i four_bits = _mm_set1_epi8(15);
  const __m128i order = _mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1);
  std::size_t done = 0;
  // Each step writes 16 bytes, although only 12 of them are used. So the loop ends when `to` has room for fewer than
  // 16.
  while (text.size() - done * 16 >= 16 && to.size() - done * 12 >= 16) {
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + done * 16));
    const __m128i upper = _mm_and_si128(_mm_srli_epi32(c, 4), four_bits);
    const __m128i found =
        _mm_and_si128(_mm_shuffle_epi8(kind, upper), _mm_shuffle_epi8(wrong, _mm_and_si128(c, four_bits)));
    if (_mm_movemask_epi8(_mm_cmpeq_epi8(found, _mm_setzero_si128())) != 0xFFFF) break;
    const __m128i values = _mm_add_epi8(_mm_add_epi8(c, _mm_shuffle_epi8(shift, upper)),
                                        _mm_and_si128(_mm_cmpeq_epi8(c, slash), slash_shift));
    const __m128i pairs = _mm_maddubs_epi16(values, _mm_set1_epi32(0x01400140));  // joins two values of 6 bits
    const __m128i groups = _mm_madd_epi16(pairs, _mm_set1_epi32(0x00011000));     // joins two values of 12 bits
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to.data() + done * 12), _mm_shuffle_epi8(groups, order));
    ++done;
  }
  return done;
}

#endif

/// Decodes base64 of the standard alphabet in blocks, if the processor has SSSE3. E2B clients receive all file contents
/// and output as base64, so the speed matters.
/// \param text  base64 without its last group if that group has padding.
/// \param to    the memory for the decoded bytes. The function may also overwrite bytes behind the decoded ones.
/// \return      the number of decoded blocks. Each block has 16 characters and becomes 12 bytes. Decoding stops before
///              a block with an invalid character, and before the memory is full. 0 if the processor lacks SSSE3.
inline std::size_t base64_decode_blocks([[maybe_unused]] std::string_view text,
                                        [[maybe_unused]] std::span<std::byte> to) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("ssse3")) return base64_decode_blocks_ssse3(text, to);
#endif
  return 0;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
