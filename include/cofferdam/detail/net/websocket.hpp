// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/net/websocket_settings.hpp>
#include <cofferdam/net/http_message.hpp>

#include <asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

class websocket_state;

/// The type of a message that is sent.
enum class websocket_message { binary, text };

/// The client's end of a WebSocket.
///
/// One `read` and several `write` may be under way at once. Messages are written in the order of the calls. A helper
/// coroutine on the same executor answers pings, sends the heartbeat, and ends within `close` or soon after the
/// destructor. Pings are answered only while the caller reads. The timer of the heartbeat keeps `io_context::run` from
/// returning, until the WebSocket is closed or destroyed.
/// \par Errors    error{exec_errc::io_error} with the name of the peer. `cause()` is net_errc::connection_lost or
///                net_errc::truncated if the connection ends without a close frame, net_errc::timed_out if the
///                heartbeat gets no answer, net_errc::malformed for a violation of the protocol, or the system's error
///                code. After an error other than a cancelled `read`, every later call throws the same error.
/// \par Lifetime  the destructor closes the connection without a close frame. Destroy the object while no operation is
///                under way, and before the executor's context. It may be moved at any time.
/// \par Threads   one executor, on which the calling coroutines run, too: a strand, if the context has several threads.
/// \par Source    RFC 6455, without extensions.
class websocket {
 public:
  /// Constructs an object without a connection. Every operation throws error{exec_errc::invalid_argument}, except
  /// `close`, which does nothing.
  websocket() = default;
  /// Takes over a stream whose handshake is complete, and starts the helper coroutine. `open_websocket` does both.
  /// \param executor  the executor of `stream`.
  /// \param protocol  the subprotocol that the server has chosen.
  websocket(const asio::any_io_executor& executor, byte_stream stream, std::string protocol,
            const websocket_settings& settings);
  websocket(websocket&&) noexcept = default;
  websocket& operator=(websocket&& other) noexcept;
  ~websocket();

  /// Returns true if the object has a connection, open or closed.
  explicit operator bool() const noexcept { return state_ != nullptr; }
  /// Returns the subprotocol that the server has chosen; empty if none was offered.
  const std::string& protocol() const;
  /// Returns the code of the peer's close frame; 1005 if it had none. Valid after `read` has returned `closed`.
  std::uint16_t close_code() const;
  /// Returns the text of the peer's close frame, at most 123 bytes. Untrusted. Valid after `read` has returned
  /// `closed`.
  const std::string& close_reason() const;

  /// Reads the next piece of a message. Data is read from the network only during calls (back-pressure).
  /// \par Cancellation  terminal: throws error{exec_errc::cancelled}; no byte is lost, and the WebSocket stays usable.
  awaitable<websocket_piece> read();

  /// Sends one message in one frame: `first`, followed by `rest`. A short prefix, such as the number of a channel,
  /// therefore needs no copy.
  /// \param kind   binary or text. Text must be UTF-8.
  /// \param first  kept by the caller until the awaitable completes; may be empty.
  /// \param rest   as `first`.
  /// \par Cancellation  terminal: throws error{exec_errc::cancelled}. If a part of the frame was sent, the connection
  ///                    is closed, because no other frame can follow.
  awaitable<void> write(websocket_message kind, bytes_view first, bytes_view rest = {});

  /// Sends a close frame, waits for the peer's, and closes the connection. Received messages are discarded. Does not
  /// throw if the peer is gone or too slow (`websocket_settings::close_limit`): the connection is closed in any case. A
  /// second call does nothing.
  /// \param code  the status code that the peer gets, for example 1000 (normal).
  /// \par Cancellation  terminal: the connection is closed without waiting for the peer.
  awaitable<void> close(std::uint16_t code = 1000);

  /// Closes the connection at once, without a close frame. Operations under way throw
  /// error{exec_errc::environment_closed}; the object stays alive for them. A second call does nothing.
  void abandon() noexcept;

 private:
  websocket_state& get() const;

  std::shared_ptr<websocket_state> state_;
};

/// The result of a request to open a WebSocket.
class websocket_opening {
 public:
  websocket_opening() = default;
  websocket_opening(http_response answer, websocket socket) : answer_(std::move(answer)), socket_(std::move(socket)) {}

  /// Returns true if the WebSocket is open. If not, `answer()` has the server's whole response; see
  /// `websocket_refusal`.
  bool opened() const noexcept { return static_cast<bool>(socket_); }
  const http_response& answer() const noexcept { return answer_; }
  websocket& socket() noexcept { return socket_; }

 private:
  http_response answer_;
  websocket socket_;
};

/// Opens a WebSocket on a new connection of a client.
/// \param client     kept by the caller until the awaitable completes. The WebSocket does not need it afterwards.
/// \param request    a GET request. The fields of the handshake are added.
/// \param protocols  the subprotocols to offer, the preferred one first; may be empty.
/// \param limits     the limits of the handshake; `limits.body()` is the maximum size of a refusal's body.
/// \throws           error{exec_errc::io_error} if the connection fails; with net_errc::malformed if the answer is no
///                   valid handshake, and with net_errc::upgrade_refused if the server has chosen no subprotocol. A
///                   refusal by an HTTP status is returned, not thrown.
/// \par Cancellation  terminal: closes the connection.
awaitable<websocket_opening> open_websocket(http_client& client, http_request request,
                                            std::vector<std::string> protocols, websocket_settings settings,
                                            http_limits limits);

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/net/impl/websocket.ipp>
#endif
