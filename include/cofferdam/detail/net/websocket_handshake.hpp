// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/net/http_message.hpp>

#include <string>
#include <vector>

// The HTTP request and response that open a WebSocket, without I/O.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns a new random value for `Sec-WebSocket-Key`: 16 bytes as base64.
std::string websocket_handshake_key();

/// Returns the value of `Sec-WebSocket-Accept` with which a server answers this key.
/// \par Source  RFC 6455, 4.2.2.
std::string websocket_accept(const std::string& key);

/// Adds the fields of an opening handshake to a request.
/// \param key        a value of `websocket_handshake_key`.
/// \param protocols  the subprotocols that the client understands, the preferred one first; may be empty.
/// \throws error{exec_errc::invalid_argument} if the method is not GET, or a name of a protocol is not a token.
void add_websocket_fields(http_request& request, const std::string& key, const std::vector<std::string>& protocols);

/// Checks the head of a response with status 101.
/// \param peer  the name of the server, for error messages.
/// \return      the subprotocol that the server has chosen; empty if `protocols` is empty.
/// \throws      error{exec_errc::io_error}: with net_errc::malformed if the response does not answer this handshake,
///              and with net_errc::upgrade_refused if the server has chosen none of the subprotocols.
std::string check_websocket_answer(const http_response_head& head, const std::string& key,
                                   const std::vector<std::string>& protocols, const std::string& peer);

/// Returns an error for a response that refuses a WebSocket: error{exec_errc::io_error} with net_errc::upgrade_refused.
/// Its message has the status and the beginning of the body, in one line.
error websocket_refusal(const http_response& answer, const std::string& peer);

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/net/impl/websocket_handshake.ipp>
#endif
