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

namespace cofferdam::inline v0 {

/// One message of a Connect stream. Points into what was given to `connect_envelope_reader::next`, or into the reader.
class connect_envelope {
 public:
  connect_envelope(bool is_end, std::string_view payload) noexcept : payload_(payload), is_end_(is_end) {}
  /// Whether it is the last one, which says how the call went (`read_connect_end`). Requests have none.
  bool is_end() const noexcept { return is_end_; }
  /// The message, whole; with the JSON codec a JSON text, unchecked. May be empty.
  std::string_view payload() const noexcept { return payload_; }

 private:
  std::string_view payload_;
  bool is_end_;
};

/// Takes the body of a Connect streaming request or response apart. Sans-I/O.
///
/// ```
/// envelope = flags(1) length(4, big-endian) payload(length)     ; a length of 0 is allowed
/// flags    = 0x00 message | 0x02 end of the stream              ; 0x01, compressed, is refused: we never offer it
/// ```
/// A message that lies whole in one piece is not copied; of one that comes in pieces as much is held as has come, and
/// never more than the limit, whatever its length claims.
/// \par Source  Connect protocol, "Streaming-RPCs", Enveloped-Message.
class connect_envelope_reader {
 public:
  /// \param most  the longest payload that is taken, in bytes.
  explicit connect_envelope_reader(std::size_t most) noexcept : most_(most) {}

  /// Takes the next envelope from the front of `input`; nothing once `input` is used up.
  /// \param  input  what came, cut anywhere; what is left when this returns goes in again, with nothing left out.
  /// \return        valid until the next call, and while what `input` pointed to is there.
  /// \throws        error{errc::too_large} for a longer payload, before any of it is taken; error{errc::io_error} with
  ///                net_errc::malformed for reserved flags, a compressed payload, or anything behind the end envelope.
  ///                Afterwards the reader is not to be used any more.
  std::optional<connect_envelope> next(std::string_view& input) {
    begin_again();
    while (!input.empty()) {
      if (ended_)
        throw error(errc::io_error, "Connect: the stream goes on behind its end envelope; the peer is broken",
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

  /// Where the next bytes of a message that has begun may be put, instead of being given to `next()`: they need no copy then.
  /// Not beyond the message's end; empty where none has begun, or too little of it has come to make room for more.
  std::span<char> room() {
    begin_again();
    if (have_ < head_.size() || held_ == 0) return {};
    make_room(std::min<std::size_t>(length_ - held_, std::max(held_, std::size_t{16} * 1024)));
    return {payload_.get() + held_, std::min<std::size_t>(length_, capacity_) - held_};
  }
  /// Says that `count` bytes have been put there.
  /// \return as of `next()`.
  std::optional<connect_envelope> took(std::size_t count) noexcept {
    held_ += count;
    if (held_ < length_) return std::nullopt;
    return deliver({payload_.get(), held_});
  }

  /// Whether the end envelope has come.
  bool ended() const noexcept { return ended_; }
  /// Whether the stream may end here: not inside an envelope.
  bool may_end() const noexcept { return have_ == 0; }

  /// Says that nothing more comes. That there was no end envelope is for the caller to judge: see `ended()`.
  /// \throws error{errc::io_error} with net_errc::truncated: it ended inside an envelope.
  void finish() const {
    if (!may_end())
      throw error(errc::io_error, "Connect: the stream ends in the middle of an envelope: the connection was cut",
                  net_errc::truncated);
  }

 private:
  void begin_again() noexcept {
    if (!delivered_) return;
    held_ = 0;
    delivered_ = false;
  }

  // Room for `more` bytes behind those that are held; what is there grows by what has come, whatever the length claims.
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
      throw error(errc::io_error,
                  "Connect: an envelope has the flags " + std::to_string(flags) +
                      ", some of which are reserved; is the peer's answer no Connect stream?",
                  net_errc::malformed);
    if ((flags & 1U) != 0)
      throw error(errc::io_error, "Connect: an envelope is compressed, which nobody had offered", net_errc::malformed);
    length_ = byte(1) << 24U | byte(2) << 16U | byte(3) << 8U | byte(4);
    if (length_ > most_)
      throw error(errc::too_large, "Connect: a message of " + std::to_string(length_) + " bytes; the limit is " +
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
  std::unique_ptr<char[]> payload_;  // kept from message to message
  std::size_t capacity_ = 0;
  std::size_t held_ = 0;
  bool is_end_ = false;
  bool ended_ = false;
  bool delivered_ = false;
};

/// Appends an envelope around `payload` to `to`.
/// \param payload  at most 4294967295 bytes.
/// \param is_end   whether it is a response's last one: then `payload` is `connect_end_text()`'s.
/// \throws error{errc::too_large} for a longer one; then `to` is as it was.
inline void append_connect_envelope(std::string& to, std::string_view payload, bool is_end) {
  if (payload.size() > std::numeric_limits<std::uint32_t>::max())
    throw error(errc::too_large, "Connect: a message of " + std::to_string(payload.size()) +
                                     " bytes; an envelope holds at most 4294967295");
  const auto length = static_cast<std::uint32_t>(payload.size());
  to.reserve(to.size() + 5 + payload.size());
  to += is_end ? '\x02' : '\0';
  for (const unsigned shift : {24U, 16U, 8U, 0U}) to += static_cast<char>(length >> shift & 255U);
  to += payload;
}

/// A message in its envelope.
inline std::string connect_message(std::string_view payload) {
  std::string text;
  append_connect_envelope(text, payload, false);
  return text;
}

/// The last envelope of a response.
/// \param payload  as `connect_end_text` makes it; `{}` for a call that went well.
inline std::string connect_end(std::string_view payload = "{}") {
  std::string text;
  append_connect_envelope(text, payload, true);
  return text;
}

}  // namespace cofferdam::inline v0
