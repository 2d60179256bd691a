// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The settings of one WebSocket.
class websocket_settings {
 public:
  websocket_settings() = default;

  /// Sets the name of the peer for error messages. Default "the WebSocket".
  websocket_settings& peer(std::string name) {
    peer_ = std::move(name);
    return *this;
  }
  /// Sets the time of silence after which a ping is sent. If nothing arrives for the same time after the ping, although
  /// a read is waiting, the connection is lost. Default 30 s, because load balancers cut idle connections, some after
  /// 60 s.
  /// \param interval  more than zero; no value means no pings.
  websocket_settings& heartbeat(std::optional<std::chrono::milliseconds> interval) {
    if (interval && *interval <= std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, "websocket_settings: the heartbeat's interval must be longer than zero");
    heartbeat_ = interval;
    return *this;
  }
  /// Sets the maximum size of a received message in bytes. A longer message is error{exec_errc::too_large}. Default: no
  /// limit, because messages are read in pieces.
  websocket_settings& max_message(std::uint64_t max_bytes) {
    max_message_ = max_bytes;
    return *this;
  }
  /// Sets the time that `websocket::close` waits for the peer at most. Default 2 s; more than zero.
  websocket_settings& close_limit(std::chrono::milliseconds limit) {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, "websocket_settings: the limit for closing must be longer than zero");
    close_limit_ = limit;
    return *this;
  }

  const std::string& peer() const noexcept { return peer_; }
  std::optional<std::chrono::milliseconds> heartbeat() const noexcept { return heartbeat_; }
  std::uint64_t max_message() const noexcept { return max_message_; }
  std::chrono::milliseconds close_limit() const noexcept { return close_limit_; }

 private:
  std::string peer_ = "the WebSocket";
  std::optional<std::chrono::milliseconds> heartbeat_ = std::chrono::milliseconds(30'000);
  std::uint64_t max_message_ = std::numeric_limits<std::uint64_t>::max();
  std::chrono::milliseconds close_limit_{2'000};
};

/// A piece of a received message, or the end of the WebSocket.
class websocket_piece {
 public:
  /// The bytes of the piece, valid until the next call of `websocket::read`; may be empty if `ends` is true.
  bytes_view data;
  bool begins = false;   ///< the piece is the first of its message
  bool ends = false;     ///< the piece is the last of its message
  bool is_text = false;  ///< the message is text rather than binary; the text is not checked to be UTF-8
  bool closed = false;   ///< the peer has ended the WebSocket in order; there is no data
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
