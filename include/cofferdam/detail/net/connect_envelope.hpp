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

/// One message of a stream of the Connect protocol (remote procedure calls over HTTP), with its header. This class is a
/// view: either of the input of `connect_envelope_reader::next`, or of the reader's buffer.
class connect_envelope {
 public:
  connect_envelope(bool is_end, std::string_view payload) noexcept : payload_(payload), is_end_(is_end) {}
  /// Returns true if this is the last envelope of a response. Its payload is the result of the call, which
  /// `read_connect_end` parses. Requests have no such envelope.
  bool is_end() const noexcept { return is_end_; }
  /// Returns the whole payload, which may be empty. With the JSON codec it is a JSON text, which was not parsed yet.
  std::string_view payload() const noexcept { return payload_; }

 private:
  std::string_view payload_;
  bool is_end_;
};

/// A parser for the body of a Connect streaming request or response. It does no I/O: the caller passes the received
/// bytes.
///
/// ```
/// envelope = flags(1) length(4, big-endian) payload(length)     ; a length of 0 is allowed
/// flags    = 0x00 message | 0x02 end of the stream              ; 0x01 (compressed) is an error: never requested
/// ```
/// A message that is complete in one piece of input is not copied. A message in several pieces is copied into a buffer
/// that grows with the bytes that have arrived, never beyond the limit of the reader, even if the length field claims
/// more.
/// \par Source  Connect protocol, "Streaming-RPCs", Enveloped-Message.
class connect_envelope_reader {
 public:
  /// \param max_bytes  the maximum size of a payload, in bytes.
  explicit connect_envelope_reader(std::size_t max_bytes) noexcept : max_bytes_(max_bytes) {}

  /// Takes the next envelope from the front of `input`.
  /// \param input   received bytes, cut anywhere. The function removes the bytes that it has used. Pass the remaining
  ///                bytes again in the next call, before later bytes.
  /// \return        the envelope, valid until the next call and as long as the bytes of `input` exist; no value if
  ///                `input` is used up.
  /// \throws        error{exec_errc::too_large} if the length field exceeds the limit, before the payload is read;
  ///                error{exec_errc::io_error} with net_errc::malformed as its `cause()` for reserved flags, a
  ///                compressed payload, or bytes after the end envelope. After an error, the reader cannot be used.
  std::optional<connect_envelope> next(std::string_view& input) {
    begin_again();
    while (!input.empty()) {
      if (ended_)
        throw error(exec_errc::io_error,
                    "Connect: data follows the end envelope of the stream; the peer violates the protocol",
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

  /// Returns the free part of the reader's buffer for an incomplete message. The caller may receive bytes directly into
  /// this part and then call `took()`, which saves the copy that `next()` would make. The part never reaches beyond the
  /// message. Returns an empty span if no byte of a payload has been buffered.
  std::span<char> room() {
    begin_again();
    if (have_ < head_.size() || held_ == 0) return {};
    make_room(std::min<std::size_t>(length_ - held_, std::max(held_, std::size_t{16} * 1024)));
    return {payload_.get() + held_, std::min<std::size_t>(length_, capacity_) - held_};
  }
  /// Accepts `count` bytes that the caller has written into `room()`.
  /// \return the envelope if it is complete, as from `next()`; otherwise no value.
  std::optional<connect_envelope> took(std::size_t count) noexcept {
    held_ += count;
    if (held_ < length_) return std::nullopt;
    return deliver({payload_.get(), held_});
  }

  /// Returns true if the end envelope has been read.
  bool ended() const noexcept { return ended_; }
  /// Returns true if the input so far ends between two envelopes, not inside one.
  bool may_end() const noexcept { return have_ == 0; }

  /// Checks that the input does not end inside an envelope. Call this at the end of the stream. This function accepts a
  /// stream without an end envelope: call `ended()` to check for the envelope.
  /// \throws error{exec_errc::io_error} with net_errc::truncated as its `cause()` if the input ends inside an envelope.
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

  // Enlarges the buffer for `more` bytes after the `held_` bytes. The buffer grows with the bytes that arrive, not with
  // the length that the peer claims.
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
                  "Connect: an envelope has reserved flags set (" + std::to_string(flags) +
                      "); the peer's answer may not be a Connect stream",
                  net_errc::malformed);
    if ((flags & 1U) != 0)
      throw error(exec_errc::io_error, "Connect: an envelope is compressed, although no compression was offered",
                  net_errc::malformed);
    length_ = byte(1) << 24U | byte(2) << 16U | byte(3) << 8U | byte(4);
    if (length_ > max_bytes_)
      throw error(exec_errc::too_large, "Connect: a message of " + std::to_string(length_) + " bytes; the limit is " +
                                            std::to_string(max_bytes_) + " bytes");
    is_end_ = (flags & 2U) != 0;
  }

  connect_envelope deliver(std::string_view payload) noexcept {
    have_ = 0;
    ended_ = is_end_;
    delivered_ = true;
    return {is_end_, payload};
  }

  std::size_t max_bytes_;
  std::array<char, 5> head_{};
  std::size_t have_ = 0;
  std::uint32_t length_ = 0;
  std::unique_ptr<char[]> payload_;  // one buffer, reused for all messages
  std::size_t capacity_ = 0;
  std::size_t held_ = 0;
  bool is_end_ = false;
  bool ended_ = false;
  bool delivered_ = false;
};

/// Appends an envelope with `payload` to `to`.
/// \param payload  at most 4294967295 bytes.
/// \param is_end   true for the last envelope of a response, whose payload is `{}` or the result of
///                 `connect_end_text()`.
/// \throws error{exec_errc::too_large} if the payload is longer; `to` is then unchanged.
inline void append_connect_envelope(std::string& to, std::string_view payload, bool is_end) {
  if (payload.size() > std::numeric_limits<std::uint32_t>::max())
    throw error(exec_errc::too_large, "Connect: a message of " + std::to_string(payload.size()) +
                                          " bytes; an envelope can contain at most 4294967295");
  const auto length = static_cast<std::uint32_t>(payload.size());
  to.reserve(to.size() + 5 + payload.size());
  to += is_end ? '\x02' : '\0';
  for (const unsigned shift : {24U, 16U, 8U, 0U}) to += static_cast<char>(length >> shift & 255U);
  to += payload;
}

/// Returns an envelope with a message.
inline std::string connect_message(std::string_view payload) {
  std::string text;
  append_connect_envelope(text, payload, false);
  return text;
}

/// Returns the last envelope of a response.
/// \param payload  the result of `connect_end_text()` for a failed call; `{}` for a successful one.
inline std::string connect_end(std::string_view payload = "{}") {
  std::string text;
  append_connect_envelope(text, payload, true);
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
