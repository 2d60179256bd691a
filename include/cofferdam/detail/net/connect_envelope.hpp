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
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// One message of a Connect stream. Refers to the input of `connect_envelope_reader::next`, or to the reader.
class connect_envelope {
 public:
  connect_envelope(bool is_end, std::string_view payload) noexcept : payload_(payload), is_end_(is_end) {}
  /// Returns true if it is the last envelope, which has the result of the call (`read_connect_end`). Requests have
  /// none.
  bool is_end() const noexcept { return is_end_; }
  /// Returns the whole message: a JSON text with the JSON codec, not checked. May be empty.
  std::string_view payload() const noexcept { return payload_; }

 private:
  std::string_view payload_;
  bool is_end_;
};

/// A parser of the body of a Connect streaming request or response. Sans-I/O.
///
/// ```
/// envelope = flags(1) length(4, big-endian) payload(length)     ; a length of 0 is allowed
/// flags    = 0x00 message | 0x02 end of the stream              ; 0x01, compressed, is refused: we never offer it
/// ```
/// A message that is complete in one piece is not copied. Of a message in several pieces the reader holds the bytes
/// that have arrived, and never more than the limit, even if its length field claims more.
/// \par Source  Connect protocol, "Streaming-RPCs", Enveloped-Message.
class connect_envelope_reader {
 public:
  /// \param max_bytes  maximum size of a payload, in bytes.
  explicit connect_envelope_reader(std::size_t max_bytes) noexcept : most_(max_bytes) {}

  /// Takes the next envelope from the front of `input`; no value once `input` is used up.
  /// \param  input  received bytes, cut anywhere. On return it has the unused rest, which must be passed in again,
  ///                before later bytes.
  /// \return        valid until the next call, and as long as the bytes of `input` exist.
  /// \throws        error{exec_errc::too_large} for a longer payload, before any of it is read;
  ///                error{exec_errc::io_error} with net_errc::malformed for reserved flags, a compressed payload, or
  ///                bytes after the end envelope. The reader must not be used after that.
  std::optional<connect_envelope> next(std::string_view& input) {
    begin_again();
    while (!input.empty()) {
      if (ended_)
        throw error(exec_errc::io_error, "Connect: the stream goes on behind its end envelope; the peer is broken",
                    net_errc::malformed);
      if (have_ < head_.size()) {
        const std::size_t taken = std::min(input.size(), head_.size() - have_);
        std::copy_n(input.data(), taken, head_.data() + have_);
        have_ += taken;
        input.remove_prefix(taken);
        if (have_ < head_.size()) return std::nullopt;
        read_head();
        if (length_ == 0) return deliver(std::string_view());
        continue;
      }
      const std::string_view content = input.substr(0, length_ - held_);
      input.remove_prefix(content.size());
      if (content.size() == length_) return deliver(content);
      make_room(content.size());
      std::copy(content.begin(), content.end(), payload_.get() + held_);
      held_ += content.size();
      if (held_ == length_) return deliver({payload_.get(), held_});
    }
    return std::nullopt;
  }

  /// Returns room for the next bytes of a message that has begun, so that they need no copy: the caller may write them
  /// there instead of passing them to `next()`. Ends at the end of the message. Empty if no message has begun, or if
  /// too little of it has arrived.
  std::span<char> room() {
    begin_again();
    if (have_ < head_.size() || held_ == 0) return {};
    make_room(std::min<std::size_t>(length_ - held_, std::max(held_, std::size_t{16} * 1024)));
    return {payload_.get() + held_, std::min<std::size_t>(length_, capacity_) - held_};
  }
  /// Accepts `count` bytes that were written into `room()`.
  /// \return as for `next()`.
  std::optional<connect_envelope> took(std::size_t count) noexcept {
    held_ += count;
    if (held_ < length_) return std::nullopt;
    return deliver({payload_.get(), held_});
  }

  /// Returns true if the end envelope has arrived.
  bool ended() const noexcept { return ended_; }
  /// Returns true if the stream is not inside an envelope.
  bool may_end() const noexcept { return have_ == 0; }

  /// Declares the end of the input. The caller must check `ended()` to detect a missing end envelope.
  /// \throws error{exec_errc::io_error} with net_errc::truncated if the input ended inside an envelope.
  void finish() const {
    if (!may_end())
      throw error(exec_errc::io_error, "Connect: the stream ends in the middle of an envelope: the connection was cut",
                  net_errc::truncated);
  }

 private:
  void begin_again() noexcept {
    if (!delivered_) return;
    held_ = 0;
    delivered_ = false;
  }

  // Makes room for `more` bytes after the held bytes. The buffer grows with the bytes that arrive, not with the claimed
  // length.
  void make_room(std::size_t more) {
    if (capacity_ - held_ >= more) return;
    const std::size_t larger = std::max(held_ + more, std::min<std::size_t>(length_, 2 * capacity_));
    std::unique_ptr<char[]> room = std::make_unique_for_overwrite<char[]>(larger);
    std::copy_n(payload_.get(), held_, room.get());
    payload_ = std::move(room);
    capacity_ = larger;
  }

  void read_head() {
    const auto byte = [this](std::size_t at) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(head_[at]));
    };
    const std::uint32_t flags = byte(0);
    if ((flags & ~std::uint32_t{3}) != 0)
      throw error(exec_errc::io_error,
                  "Connect: an envelope has the flags " + std::to_string(flags) +
                      ", some of which are reserved; is the peer's answer no Connect stream?",
                  net_errc::malformed);
    if ((flags & 1U) != 0)
      throw error(exec_errc::io_error, "Connect: an envelope is compressed, which nobody had offered",
                  net_errc::malformed);
    length_ = byte(1) << 24U | byte(2) << 16U | byte(3) << 8U | byte(4);
    if (length_ > most_)
      throw error(exec_errc::too_large, "Connect: a message of " + std::to_string(length_) + " bytes; the limit is " +
                                            std::to_string(most_) + " bytes");
    is_end_ = (flags & 2U) != 0;
  }

  connect_envelope deliver(std::string_view payload) noexcept {
    have_ = 0;
    ended_ = is_end_;
    delivered_ = true;
    return {is_end_, payload};
  }

  std::size_t most_;
  std::array<char, 5> head_{};
  std::size_t have_ = 0;
  std::uint32_t length_ = 0;
  std::unique_ptr<char[]> payload_;  // reused for all messages
  std::size_t capacity_ = 0;
  std::size_t held_ = 0;
  bool is_end_ = false;
  bool ended_ = false;
  bool delivered_ = false;
};

/// Appends an envelope with `payload` to `to`.
/// \param payload  at most 4294967295 bytes.
/// \param is_end   true for the last envelope of a response; then `payload` is from `connect_end_text()`.
/// \throws error{exec_errc::too_large} for a longer payload; `to` is then unchanged.
inline void append_connect_envelope(std::string& to, std::string_view payload, bool is_end) {
  if (payload.size() > std::numeric_limits<std::uint32_t>::max())
    throw error(exec_errc::too_large, "Connect: a message of " + std::to_string(payload.size()) +
                                          " bytes; an envelope holds at most 4294967295");
  const auto length = static_cast<std::uint32_t>(payload.size());
  to.reserve(to.size() + 5 + payload.size());
  to += is_end ? '\x02' : '\0';
  for (const unsigned shift : {24U, 16U, 8U, 0U}) to += static_cast<char>(length >> shift & 255U);
  to += payload;
}

/// Returns a message in its envelope.
inline std::string connect_message(std::string_view payload) {
  std::string text;
  append_connect_envelope(text, payload, false);
  return text;
}

/// Returns the last envelope of a response.
/// \param payload  from `connect_end_text`; `{}` for a successful call.
inline std::string connect_end(std::string_view payload = "{}") {
  std::string text;
  append_connect_envelope(text, payload, true);
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
