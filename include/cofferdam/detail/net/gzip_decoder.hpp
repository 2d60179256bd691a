// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/crc32.hpp>
#include <cofferdam/net/net_error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A canonical Huffman code with at most 288 symbols.
/// \par Source  RFC 1951, section 3.2.2.
class huffman_code {
 public:
  static constexpr unsigned longest = 15;
  static constexpr int incomplete = -1;  // more bits are needed
  static constexpr int invalid = -2;     // no symbol has this code

  /// Builds the code.
  /// \param lengths  the length of each symbol's code in bits; 0 means that the symbol is not used.
  /// \return false if the lengths do not form a complete code. Two incomplete codes are valid, too: a single code of
  ///     one bit, and no codes at all.
  bool assign(std::span<const std::uint8_t> lengths) noexcept {
    counts_.fill(0);
    for (const std::uint8_t length : lengths) ++counts_[length];
    const unsigned used = static_cast<unsigned>(lengths.size()) - counts_[0];
    counts_[0] = 0;
    int left = 1;
    for (unsigned length = 1; length <= longest; ++length) {
      left = left * 2 - counts_[length];
      if (left < 0) return false;
    }
    std::array<std::uint16_t, longest + 2> offsets{};
    for (unsigned length = 1; length <= longest; ++length)
      offsets[length + 1] = static_cast<std::uint16_t>(offsets[length] + counts_[length]);
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol)
      if (lengths[symbol] != 0) symbols_[offsets[lengths[symbol]]++] = static_cast<std::uint16_t>(symbol);
    fill_table();
    return left == 0 || used == 0 || (used == 1 && counts_[1] == 1);
  }

  /// Finds the symbol whose code is at the beginning of `bits`.
  /// \param bits   the next bits of the stream, lowest bit first.
  /// \param size   the number of available bits.
  /// \param taken  receives the length of the code in bits.
  /// \return the symbol, `incomplete` or `invalid`.
  int decode(std::uint64_t bits, unsigned size, unsigned& taken) const noexcept {
    const table_row quick = table_[bits & (table_size - 1)];
    if (quick.length != 0 && quick.length <= size) {
      taken = quick.length;
      return quick.symbol;
    }
    int code = 0;
    int first = 0;
    int index = 0;
    for (unsigned length = 1; length <= longest; ++length) {
      if (length > size) return incomplete;
      code |= static_cast<int>(bits & 1U);
      bits >>= 1U;
      const int count = counts_[length];
      if (code - count < first) {
        taken = length;
        return symbols_[static_cast<std::size_t>(index + (code - first))];
      }
      index += count;
      first = (first + count) * 2;
      code *= 2;
    }
    return invalid;
  }

 private:
  static constexpr unsigned table_bits = 9;
  static constexpr std::size_t table_size = std::size_t{1} << table_bits;
  struct table_row {
    std::uint16_t symbol = 0;
    std::uint8_t length = 0;  // 0 means that the code has more than `table_bits` bits
  };

  void fill_table() noexcept {
    table_.fill(table_row());
    unsigned code = 0;
    std::size_t index = 0;
    for (unsigned length = 1; length <= table_bits; ++length, code <<= 1U) {
      for (unsigned i = 0; i < counts_[length]; ++i, ++code, ++index) {
        std::size_t reversed = 0;  // the stream has the first bit of a code in the lowest position
        for (unsigned bit = 0; bit < length; ++bit) reversed |= std::size_t{(code >> bit) & 1U} << (length - 1 - bit);
        for (std::size_t at = reversed; at < table_size; at += std::size_t{1} << length)
          table_[at] = table_row{symbols_[index], static_cast<std::uint8_t>(length)};
      }
    }
  }

  std::array<std::uint16_t, longest + 1> counts_{};
  std::array<std::uint16_t, 288> symbols_{};
  std::array<table_row, table_size> table_{};
};

/// A decoder for gzip. It does no I/O: the input is pieces of the compressed stream, cut anywhere, and the output is
/// pieces of the content.
///
///     decoder.feed(piece);
///     while (decoder.next() == gzip_decoder::event::output) use(decoder.output());
///
/// If the stream has several members one after another, their contents are concatenated, as RFC 1952 requires.
/// Checksums and lengths are verified. The decoder needs 64 KiB and a few tables, whatever the input is. Each piece of
/// output has at most 32 KiB.
/// \par Source  RFC 1952 (gzip), RFC 1951 (DEFLATE).
class gzip_decoder {
 public:
  enum class event {
    need_input,  ///< the input is used up: feed the next piece, or check `is_complete` at the end of the stream
    output,      ///< `output()` has the next piece of the content
  };

  /// \param max_bytes  the maximum size of the content in bytes. It protects against a small stream with a very large
  ///                   content.
  explicit gzip_decoder(std::uint64_t max_bytes) : window_(window_size), max_bytes_(max_bytes) {}

  /// Sets the next piece of the compressed stream.
  /// \param piece  kept by the caller until `next` returns `need_input`.
  void feed(bytes_view piece) noexcept { input_ = piece; }

  /// Decodes input until the next piece of output is complete, or more input is needed.
  /// \throws error{exec_errc::too_large} if the content is longer than `max_bytes`; error{exec_errc::io_error} with
  ///     `net_errc::malformed` if the input is not gzip. The decoder is unusable after that.
  event next() {
    for (;;) {
      // The trailer's checksum covers all output, and `take_output` computes it. All output must therefore be returned
      // before the trailer is read.
      bool is_due = is_piece_full() || state_ == state::trailer;
      if (flushed_ == written_ || !is_due) {
        if (step()) continue;
        is_due = flushed_ != written_;
        if (!is_due) return event::need_input;
      }
      take_output();
      return event::output;
    }
  }

  /// Returns the piece of content that the last call of `next` has produced. The view is valid until the next call of
  /// `next`.
  bytes_view output() const noexcept { return output_; }

  /// Returns true if the stream may end here, because the last member is complete.
  bool is_complete() const noexcept { return state_ == state::header && has_member_ && header_size_ == 0; }

 private:
  enum class state {
    header,
    extra_size,
    extra,
    name,
    comment,
    header_check,
    block,
    stored_size,
    stored,
    dynamic_sizes,
    dynamic_order,
    dynamic_lengths,
    symbol,
    length_bits,
    distance,
    distance_bits,
    copy,
    trailer
  };

  static constexpr std::size_t window_size = std::size_t{64} * 1024;
  static constexpr std::size_t history_size = std::size_t{32} * 1024;
  static constexpr unsigned flag_check = 2;
  static constexpr unsigned flag_extra = 4;
  static constexpr unsigned flag_name = 8;
  static constexpr unsigned flag_comment = 16;

  [[noreturn]] static void refuse(const char* why) {
    throw error(exec_errc::io_error, std::string("gzip: ") + why, net_errc::malformed);
  }

  // ---- reading bits, lowest bit first ----
  bool need(unsigned count) noexcept {
    if (count_ >= count) return true;
    if (input_.size() >= 8) {  // as many whole bytes as fit
      const auto* const at = reinterpret_cast<const unsigned char*>(input_.data());
      const unsigned added = (63 - count_) / 8;
      std::uint64_t more = 0;
      for (unsigned i = 0; i < 8; ++i) more |= std::uint64_t{at[i]} << (8 * i);
      bits_ |= (more & ((std::uint64_t{1} << (8 * added)) - 1)) << count_;
      count_ += 8 * added;
      input_ = input_.subspan(added);
      return true;
    }
    while (count_ < count) {
      if (input_.empty()) return false;
      bits_ |= std::uint64_t{std::to_integer<unsigned>(input_.front())} << count_;
      count_ += 8;
      input_ = input_.subspan(1);
    }
    return true;
  }
  std::uint32_t take(unsigned count) noexcept {
    const auto value = static_cast<std::uint32_t>(bits_ & ((std::uint64_t{1} << count) - 1));
    bits_ >>= count;
    count_ -= count;
    return value;
  }

  // ---- output ----
  bool is_piece_full() const noexcept { return written_ - flushed_ >= history_size || written_ % window_size == 0; }
  /// Returns the number of bytes, up to `wanted`, that the current piece of output can take at once.
  /// \throws error{exec_errc::too_large} if the content may not have another byte.
  std::size_t room(std::size_t wanted) const {
    if (total_ == max_bytes_)
      throw error(exec_errc::too_large, "gzip: the content is longer than " + std::to_string(max_bytes_) + " bytes");
    const std::size_t in_piece = std::min(history_size - (written_ - flushed_), window_size - written_ % window_size);
    return std::min({wanted, in_piece, max_bytes_ - total_});
  }
  /// Counts bytes that were written to the window.
  void wrote(std::size_t count) noexcept {
    total_ += count;
    written_ += count;
  }
  void write(std::byte value) {
    room(1);
    window_[written_ % window_size] = value;
    wrote(1);
  }
  /// Repeats earlier content, up to `length_` bytes of it. The source may overlap the bytes that are written: then it
  /// has the same content again and again, of which each step copies all that is there already.
  void repeat() {
    const std::size_t source = (written_ - distance_) % window_size;
    const std::size_t target = written_ % window_size;
    const std::size_t count = std::min(room(length_), window_size - source);
    for (std::size_t done = 0; done != count;) {
      const std::size_t ready = source < target ? target + done - source : count;
      const std::size_t step = std::min(count - done, ready);
      std::memcpy(window_.data() + target + done, window_.data() + source, step);
      done += step;
    }
    wrote(count);
    length_ -= static_cast<std::uint32_t>(count);
  }
  /// Copies content from the input, up to `left_` bytes of it, of which the first may be in `bits_`.
  void copy_input() {
    if (count_ != 0) {
      write(std::byte(take(8)));
      --left_;
      return;
    }
    const std::size_t count = room(std::min<std::size_t>(left_, input_.size()));
    std::memcpy(window_.data() + written_ % window_size, input_.data(), count);
    input_ = input_.subspan(count);
    wrote(count);
    left_ -= static_cast<std::uint32_t>(count);
  }
  void take_output() noexcept {
    const std::size_t start = flushed_ % window_size;
    const auto size = std::min(written_ - flushed_, window_size - start);
    output_ = bytes_view(window_).subspan(start, size);
    check_.add(output_);
    flushed_ += size;
  }

  /// Decodes until the state changes, a piece of output is full, or the input is used up.
  /// \return false if more input is needed.
  bool step() {
    switch (state_) {
      case state::header: return read_header();
      case state::extra_size:
        if (!need(16)) return false;
        left_ = take_of_header();
        left_ |= take_of_header() << 8U;
        state_ = state::extra;
        return true;
      case state::extra:
        for (; left_ != 0; --left_) {
          if (!need(8)) return false;
          take_of_header();
        }
        state_ = state::name;
        return true;
      case state::name: return skip_text(flag_name, state::comment);
      case state::comment: return skip_text(flag_comment, state::header_check);
      case state::header_check:
        if ((flags_ & flag_check) != 0) {
          if (!need(16)) return false;
          if (take(16) != (header_crc_.value() & 0xFFFFU)) refuse("the header's checksum is wrong");
        }
        begin_content();
        return true;
      case state::block: return read_block();
      case state::stored_size: {
        if (!need(32)) return false;
        left_ = take(16);
        if (take(16) != (left_ ^ 0xFFFFU)) refuse("the two lengths of a stored block differ");
        state_ = state::stored;
        return true;
      }
      case state::stored:
        while (left_ != 0) {
          if (count_ == 0 && input_.empty()) return false;
          copy_input();
          if (is_piece_full()) return true;
        }
        end_block();
        return true;
      case state::dynamic_sizes: return read_sizes();
      case state::dynamic_order: return read_order();
      case state::dynamic_lengths: return read_lengths();
      case state::symbol: return read_symbols();
      case state::length_bits:
        if (!need(extra_)) return false;
        length_ += take(extra_);
        state_ = state::distance;
        return true;
      case state::distance: return read_distance();
      case state::distance_bits:
        if (!need(extra_)) return false;
        distance_ += take(extra_);
        if (distance_ > written_ - member_) refuse("a distance points before the start of the content");
        state_ = state::copy;
        return true;
      case state::copy:
        while (length_ != 0) {
          repeat();
          if (is_piece_full()) return true;
        }
        state_ = state::symbol;
        return true;
      case state::trailer: return read_trailer();
    }
    return false;
  }

  bool read_header() {
    constexpr std::size_t size = 10;
    while (header_size_ < size) {
      if (!need(8)) return false;
      if (header_size_ == 0) header_crc_ = detail::crc32();
      const std::uint32_t value = take_of_header();
      if ((header_size_ == 0 && value != 0x1F) || (header_size_ == 1 && value != 0x8B))
        refuse("the data does not start with a gzip header");
      if (header_size_ == 2 && value != 8) refuse("the compression method is not DEFLATE");
      if (header_size_ == 3) flags_ = value;
      ++header_size_;
    }
    if ((flags_ & 0xE0U) != 0) refuse("a flag is set that RFC 1952 reserves");
    header_size_ = 0;
    state_ = (flags_ & flag_extra) != 0 ? state::extra_size : state::name;
    return true;
  }
  std::uint32_t take_of_header() noexcept {
    const std::uint32_t value = take(8);
    const std::array<std::byte, 1> single_byte{std::byte(value)};
    header_crc_.add(single_byte);
    return value;
  }
  bool skip_text(unsigned flag, state after) {
    while ((flags_ & flag) != 0) {
      if (!need(8)) return false;
      if (take_of_header() == 0) break;
    }
    state_ = after;
    return true;
  }
  void begin_content() noexcept {
    member_ = written_;
    check_ = detail::crc32();
    has_member_ = true;
    state_ = state::block;
  }

  bool read_block() {
    if (!need(3)) return false;
    is_last_ = take(1) != 0;
    switch (take(2)) {
      case 0:
        take(count_ % 8);
        state_ = state::stored_size;
        return true;
      case 1: use_fixed_codes(); return true;
      case 2: state_ = state::dynamic_sizes; return true;
      default: refuse("a block has an invalid type");
    }
  }
  void end_block() noexcept {
    if (is_last_) take(count_ % 8);
    state_ = is_last_ ? state::trailer : state::block;
  }

  void use_fixed_codes() noexcept {
    std::array<std::uint8_t, 288> lengths{};
    for (std::size_t i = 0; i < lengths.size(); ++i)
      lengths[i] = static_cast<std::uint8_t>(i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
    symbols_.assign(lengths);
    std::array<std::uint8_t, 30> distances{};
    distances.fill(5);
    distances_.assign(distances);  // the standard defines 32 codes of 5 bits, of which the last two are never used
    state_ = state::symbol;
  }
  bool read_sizes() {
    if (!need(14)) return false;
    symbol_count_ = take(5) + 257;
    distance_count_ = take(5) + 1;
    order_count_ = take(4) + 4;
    if (symbol_count_ > 286 || distance_count_ > 30) refuse("a block has too many codes");
    lengths_.fill(0);
    at_ = 0;
    state_ = state::dynamic_order;
    return true;
  }
  bool read_order() {
    static constexpr std::array<std::uint8_t, 19> order{16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                        11, 4,  12, 3, 13, 2, 14, 1, 15};
    for (; at_ < order_count_; ++at_) {
      if (!need(3)) return false;
      lengths_[order[at_]] = static_cast<std::uint8_t>(take(3));
    }
    if (!symbols_.assign(std::span<const std::uint8_t>(lengths_).first(order.size())))
      refuse("the code of the code lengths is invalid");
    lengths_.fill(0);
    at_ = 0;
    state_ = state::dynamic_lengths;
    return true;
  }
  bool read_lengths() {
    const std::size_t total = symbol_count_ + distance_count_;
    while (at_ < total) {
      // A symbol and its extra bits are taken together. If one of them is incomplete, both stay in the input.
      need(detail::huffman_code::longest + 7);
      unsigned taken = 0;
      const int symbol = symbols_.decode(bits_, count_, taken);
      if (symbol == detail::huffman_code::incomplete) return false;
      if (symbol < 0) refuse("a code length is invalid");
      const unsigned more = symbol == 16 ? 2 : symbol == 17 ? 3 : symbol == 18 ? 7 : 0;
      if (count_ < taken + more) return false;
      take(taken);
      if (symbol < 16) {
        lengths_[at_++] = static_cast<std::uint8_t>(symbol);
        continue;
      }
      if (symbol == 16 && at_ == 0) refuse("a repeated code length has no predecessor");
      const std::uint8_t length = symbol == 16 ? lengths_[at_ - 1] : std::uint8_t{0};
      const std::size_t times = take(more) + (symbol == 18 ? 11U : 3U);
      if (times > total - at_) refuse("a block has more code lengths than codes");
      std::fill_n(lengths_.begin() + static_cast<std::ptrdiff_t>(at_), times, length);
      at_ += times;
    }
    if (lengths_[256] == 0) refuse("a block has no code for its end");
    const std::span<const std::uint8_t> lengths(lengths_);
    if (!symbols_.assign(lengths.first(symbol_count_)) ||
        !distances_.assign(lengths.subspan(symbol_count_, distance_count_)))
      refuse("the code lengths of a block are invalid");
    state_ = state::symbol;
    return true;
  }

  bool read_symbols() {
    static constexpr std::array<std::uint16_t, 29> bases{3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                                         15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                                         67, 83, 99, 115, 131, 163, 195, 227, 258};
    static constexpr std::array<std::uint8_t, 29> extras{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                         2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    for (;;) {
      need(detail::huffman_code::longest);
      unsigned taken = 0;
      const int symbol = symbols_.decode(bits_, count_, taken);
      if (symbol == detail::huffman_code::incomplete) return false;
      if (symbol < 0 || symbol > 285) refuse("a symbol is invalid");
      take(taken);
      if (symbol == 256) {
        end_block();
        return true;
      }
      if (symbol > 256) {
        const auto index = static_cast<std::size_t>(symbol - 257);
        length_ = bases[index];
        extra_ = extras[index];
        state_ = state::length_bits;
        return true;
      }
      write(std::byte(symbol));
      if (is_piece_full()) return true;
    }
  }
  bool read_distance() {
    static constexpr std::array<std::uint16_t, 30> bases{1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                                         33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                                         1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    need(detail::huffman_code::longest);
    unsigned taken = 0;
    const int symbol = distances_.decode(bits_, count_, taken);
    if (symbol == detail::huffman_code::incomplete) return false;
    if (symbol < 0 || symbol > 29) refuse("a distance is invalid");
    take(taken);
    distance_ = bases[static_cast<std::size_t>(symbol)];
    extra_ = symbol < 4 ? 0U : static_cast<unsigned>(symbol) / 2 - 1;
    state_ = state::distance_bits;
    return true;
  }

  bool read_trailer() {
    if (!need(32)) return false;
    if (!has_check_) {
      expected_ = take(32);
      has_check_ = true;
      if (!need(32)) return false;
    }
    const std::uint32_t size = take(32);
    if (expected_ != check_.value()) refuse("the content's checksum is wrong");
    if (size != static_cast<std::uint32_t>(written_ - member_)) refuse("the content's length is wrong");
    has_check_ = false;
    state_ = state::header;
    return true;
  }

  std::vector<std::byte> window_;
  std::uint64_t max_bytes_;
  bytes_view input_;
  bytes_view output_;
  std::uint64_t bits_ = 0;
  unsigned count_ = 0;
  state state_ = state::header;
  std::size_t header_size_ = 0;
  std::uint32_t flags_ = 0;
  std::uint32_t left_ = 0;
  std::uint64_t total_ = 0;
  // These are positions in the decoded content.
  std::size_t written_ = 0;
  std::size_t flushed_ = 0;
  std::size_t member_ = 0;  // the start of the current member
  detail::crc32 header_crc_;
  detail::crc32 check_;
  detail::huffman_code symbols_;
  detail::huffman_code distances_;
  std::array<std::uint8_t, 320> lengths_{};
  std::size_t symbol_count_ = 0;
  std::size_t distance_count_ = 0;
  std::size_t order_count_ = 0;
  std::size_t at_ = 0;
  std::uint32_t length_ = 0;
  std::size_t distance_ = 0;
  unsigned extra_ = 0;
  std::uint32_t expected_ = 0;
  bool is_last_ = false;
  bool has_member_ = false;
  bool has_check_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
