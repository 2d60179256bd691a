// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/net/net_error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>

// The frames of WebSocket, from a client's view: a parser for the frames of a server, and a writer for those of a
// client. Neither does I/O.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The type of a frame (RFC 6455, 5.2). All other values are errors.
enum class websocket_opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

/// The status codes of a close frame that this library sends (RFC 6455, 7.4.1).
namespace websocket_code {
inline constexpr std::uint16_t normal = 1000;
inline constexpr std::uint16_t protocol_error = 1002;
inline constexpr std::uint16_t absent = 1005;  ///< stands for a close frame without a code; never sent
inline constexpr std::uint16_t too_large = 1009;
}  // namespace websocket_code

/// The maximum size in bytes of the payload of a control frame: close, ping or pong.
inline constexpr std::size_t websocket_control_size = 125;

/// Returns true for a code that may be in a close frame (RFC 6455, 7.4).
constexpr bool is_websocket_code(std::uint16_t code) noexcept {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

/// The random number that hides the payload of one frame of a client (RFC 6455, 5.3).
using websocket_key = std::array<std::byte, 4>;

/// Masks a piece of a payload in place. Masking twice restores the bytes.
/// \param offset  the number of bytes of the payload before this piece.
inline void websocket_mask(std::span<std::byte> piece, const websocket_key& key, std::uint64_t offset = 0) noexcept {
  std::array<std::byte, 8> wide{};
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = key[(offset + i) % 4];
  std::uint64_t pattern = 0;
  std::memcpy(&pattern, wide.data(), sizeof pattern);
  std::size_t at = 0;
  for (; piece.size() - at >= sizeof pattern; at += sizeof pattern) {
    std::uint64_t part = 0;
    std::memcpy(&part, piece.data() + at, sizeof part);
    part ^= pattern;
    std::memcpy(piece.data() + at, &part, sizeof part);
  }
  for (; at < piece.size(); ++at) piece[at] ^= wide[at % 8];
}

/// Appends the head of a frame of a client to `out`. `size` masked bytes must follow.
inline void append_websocket_head(bytes& out, websocket_opcode opcode, bool last, const websocket_key& key,
                                  std::uint64_t size) {
  const auto add = [&out](std::uint64_t value) { out.push_back(static_cast<std::byte>(value & 0xFFU)); };
  add((last ? 0x80U : 0U) | static_cast<unsigned>(opcode));
  if (size < 126) {
    add(0x80U | size);
  } else if (size <= 0xFFFFU) {
    add(0x80U | 126U);
    add(size >> 8U);
    add(size);
  } else {
    add(0x80U | 127U);
    for (unsigned shift = 64; shift != 0;) add(size >> (shift -= 8U));
  }
  out.insert(out.end(), key.begin(), key.end());
}

/// Appends a piece of the payload of a frame, masked.
/// \param offset  the number of bytes of the payload before this piece.
inline void append_websocket_payload(bytes& out, const websocket_key& key, std::uint64_t offset, bytes_view piece) {
  const std::size_t begin = out.size();
  out.insert(out.end(), piece.begin(), piece.end());
  websocket_mask(std::span(out).subspan(begin), key, offset);
}

/// The result of one call of `websocket_reader::parse`.
enum class websocket_event {
  need_more,  ///< nothing was found, and all of the input was consumed
  data,       ///< `websocket_step::data` has a piece of a message; it may be empty if it ends the message
  ping,       ///< `websocket_step::data` has the payload that the pong must repeat
  pong,       ///< a pong arrived
  closed,     ///< a close frame arrived, the last frame: see `close_code` and `close_reason`
};

/// The event that one call of the parser has found.
class websocket_step {
 public:
  websocket_event event = websocket_event::need_more;
  /// The number of bytes that the parser has consumed. The caller passes the remaining bytes again in the next call.
  std::size_t consumed = 0;
  /// For `data`, a view into the input. For `ping`, a view into the parser, valid until the next call.
  bytes_view data;
  bool begins = false;   ///< for `data`: the piece is the first of its message
  bool ends = false;     ///< for `data`: the piece is the last of its message
  bool is_text = false;  ///< for `data`: the message is text rather than binary
};

/// A parser for the frames of a WebSocket server. It does no I/O: the caller passes the received bytes, cut anywhere.
///
/// Messages are reported in pieces as they arrive, so a long message needs no memory. The joined pieces, their message
/// borders and the other events do not depend on where the input is cut. Text is not checked to be UTF-8.
/// \par Errors  error{exec_errc::io_error} with net_errc::malformed for a frame that is masked, uses reserved bits or
///              opcodes, encodes its length in more bytes than needed, or comes in a wrong order;
///              error{exec_errc::too_large} for a message above the limit. After an error, neither the parser nor the
///              stream can be used.
/// \par Source  RFC 6455, 5 and 7.
class websocket_reader {
 public:
  /// \param max_message  the maximum size of a message in bytes; the default is no limit.
  explicit websocket_reader(std::uint64_t max_message = std::numeric_limits<std::uint64_t>::max()) noexcept
      : max_message_(max_message) {}

  /// Parses the next bytes, up to the next event.
  /// \param input  received bytes that were not consumed yet; may be empty.
  websocket_step parse(bytes_view input) {
    websocket_step step;
    if (closed_) {
      step.event = websocket_event::closed;
      return step;
    }
    while (step.event == websocket_event::need_more) {
      if (head_size_ != head_needed_) {
        const std::size_t part = std::min(head_needed_ - head_size_, input.size() - step.consumed);
        std::copy_n(input.begin() + static_cast<std::ptrdiff_t>(step.consumed), part, head_.begin() + head_size_);
        head_size_ += part;
        step.consumed += part;
        if (head_size_ != head_needed_) return step;
        head_needed_ = size_of_head();
        if (head_size_ != head_needed_) continue;
        begin_frame();
      }
      if (is_control()) {
        take_control(step, input);
      } else {
        take_data(step, input);
      }
      if (step.event == websocket_event::need_more && left_ != 0) return step;
    }
    return step;
  }

  /// Returns true if the stream may end here: after the close frame.
  bool closed() const noexcept { return closed_; }
  /// Returns true if at least one frame or message has begun that is not complete.
  bool inside_message() const noexcept { return in_message_ || head_size_ != 0; }
  /// Returns the code of the close frame; `websocket_code::absent` if it had none. Valid after the event `closed`.
  std::uint16_t close_code() const noexcept { return close_code_; }
  /// Returns the text of the close frame, at most 123 bytes. Untrusted.
  const std::string& close_reason() const noexcept { return close_reason_; }

 private:
  static error violation(const std::string& what) {
    return error(exec_errc::io_error, "the peer violates the WebSocket protocol: " + what, net_errc::malformed);
  }
  unsigned head_byte(std::size_t at) const noexcept { return std::to_integer<unsigned>(head_[at]); }
  websocket_opcode opcode() const noexcept { return static_cast<websocket_opcode>(head_byte(0) & 0x0FU); }
  bool is_control() const noexcept { return (head_byte(0) & 0x08U) != 0; }
  bool is_last() const noexcept { return (head_byte(0) & 0x80U) != 0; }

  /// Checks the first two bytes of a frame, and returns the size of its whole head.
  std::size_t size_of_head() const {
    if (head_size_ > 2) return head_size_;
    if ((head_byte(0) & 0x70U) != 0) throw violation("a frame uses an extension that was not agreed on");
    const unsigned kind = head_byte(0) & 0x0FU;
    if (kind > 10 || (kind > 2 && kind < 8)) throw violation("unknown frame type " + std::to_string(kind));
    if ((head_byte(1) & 0x80U) != 0) throw violation("a frame of a server must not be masked");
    if (is_control()) {
      if (!is_last()) throw violation("a control frame is fragmented");
      if (head_byte(1) > websocket_control_size) throw violation("a control frame is longer than 125 bytes");
    } else if (opcode() == websocket_opcode::continuation) {
      if (!in_message_) throw violation("a continuation has no beginning");
    } else if (in_message_) {
      throw violation("a message begins before the end of another one");
    }
    if (head_byte(1) == 126) return 4;
    return head_byte(1) == 127 ? 10 : 2;
  }

  void begin_frame() {
    left_ = head_byte(1);
    if (head_needed_ > 2) {
      left_ = 0;
      for (std::size_t i = 2; i < head_needed_; ++i) left_ = left_ << 8U | head_byte(i);
      const std::uint64_t shortest = head_needed_ == 4 ? 126 : 0x10000;
      if (left_ < shortest) throw violation("the length of a frame is not encoded in the shortest form");
      if (left_ >> 63U != 0) throw violation("the length of a frame is too large");
    }
    if (is_control()) {
      control_size_ = 0;
      return;
    }
    if (opcode() != websocket_opcode::continuation) {
      in_message_ = true;
      begins_ = true;
      is_text_ = opcode() == websocket_opcode::text;
      message_size_ = 0;
    }
    if (left_ > max_message_ - message_size_)
      throw error(exec_errc::too_large,
                  "a WebSocket message is longer than the limit of " + std::to_string(max_message_) + " bytes");
    message_size_ += left_;
  }

  void end_frame() noexcept {
    head_size_ = 0;
    head_needed_ = 2;
  }

  void take_data(websocket_step& step, bytes_view input) {
    const std::uint64_t size = std::min<std::uint64_t>(left_, input.size() - step.consumed);
    if (size == 0 && left_ != 0) return;
    step.data = input.subspan(step.consumed, static_cast<std::size_t>(size));
    step.consumed += step.data.size();
    left_ -= size;
    const bool ends = left_ == 0 && is_last();
    if (left_ == 0) end_frame();
    if (step.data.empty() && !ends) return;  // an empty fragment
    step.event = websocket_event::data;
    step.begins = begins_;
    step.ends = ends;
    step.is_text = is_text_;
    begins_ = false;
    if (ends) in_message_ = false;
  }

  void take_control(websocket_step& step, bytes_view input) {
    const std::size_t size = std::min<std::size_t>(left_, input.size() - step.consumed);
    std::copy_n(input.begin() + static_cast<std::ptrdiff_t>(step.consumed), size, control_.begin() + control_size_);
    control_size_ += size;
    step.consumed += size;
    left_ -= size;
    if (left_ != 0) return;
    const websocket_opcode kind = opcode();
    end_frame();
    const bytes_view payload = bytes_view(control_).first(control_size_);
    if (kind == websocket_opcode::pong) {
      step.event = websocket_event::pong;
    } else if (kind == websocket_opcode::ping) {
      step.event = websocket_event::ping;
      step.data = payload;
    } else {
      take_close(payload);
      step.event = websocket_event::closed;
    }
  }

  void take_close(bytes_view payload) {
    if (payload.size() == 1) throw violation("a close frame has half a code");
    if (payload.size() >= 2) {
      close_code_ = static_cast<std::uint16_t>(std::to_integer<unsigned>(payload[0]) << 8U |
                                               std::to_integer<unsigned>(payload[1]));
      if (!is_websocket_code(close_code_)) throw violation("invalid close code " + std::to_string(close_code_));
      close_reason_ = as_text(payload.subspan(2));
    }
    closed_ = true;
  }

  std::uint64_t max_message_;
  std::uint64_t message_size_ = 0;
  std::uint64_t left_ = 0;  // bytes of the current frame's payload that have not arrived
  std::array<std::byte, 10> head_{};
  std::size_t head_size_ = 0;
  std::size_t head_needed_ = 2;
  std::array<std::byte, websocket_control_size> control_{};
  std::size_t control_size_ = 0;
  std::uint16_t close_code_ = websocket_code::absent;
  std::string close_reason_;
  bool in_message_ = false;
  bool begins_ = false;
  bool is_text_ = false;
  bool closed_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
