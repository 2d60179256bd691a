// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/websocket_handshake.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL std::string websocket_handshake_key() {
  std::array<unsigned char, 16> raw{};
  if (RAND_bytes(raw.data(), static_cast<int>(raw.size())) != 1)
    throw error(exec_errc::io_error, "OpenSSL provides no random numbers");
  return base64_encode(std::as_bytes(std::span(raw)));
}

COFFERDAM_DECL std::string websocket_accept(const std::string& key) {
  const std::string text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, 20> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1)
    throw error(exec_errc::io_error, "OpenSSL cannot compute a SHA-1 digest, which WebSocket needs");
  return base64_encode(std::as_bytes(std::span(digest)));
}

COFFERDAM_DECL void add_websocket_fields(http_request& request, const std::string& key,
                                         const std::vector<std::string>& protocols) {
  if (request.method() != "GET")
    throw error(exec_errc::invalid_argument, "a WebSocket is opened by a GET request, not by " + request.method());
  std::string list;
  for (const std::string& protocol : protocols) {
    if (!is_token(protocol))
      throw error(exec_errc::invalid_argument, "\"" + one_line(protocol) + "\" is not a valid name of a subprotocol");
    list += (list.empty() ? "" : ", ") + protocol;
  }
  request.fields().set("Connection", "Upgrade");
  request.fields().set("Upgrade", "websocket");
  request.fields().set("Sec-WebSocket-Version", "13");
  request.fields().set("Sec-WebSocket-Key", key);
  if (!list.empty()) request.fields().set("Sec-WebSocket-Protocol", list);
}

COFFERDAM_DECL std::string check_websocket_answer(const http_response_head& head, const std::string& key,
                                                  const std::vector<std::string>& protocols, const std::string& peer) {
  const auto wrong = [&peer](const std::string& what) {
    return error(exec_errc::io_error, peer + ": the server's answer does not open a WebSocket: " + what,
                 net_errc::malformed);
  };
  if (head.status != 101) throw wrong("its status is " + std::to_string(head.status) + " instead of 101");
  if (!head.fields.lists("Upgrade", "websocket") || !head.fields.lists("Connection", "upgrade"))
    throw wrong("it switches to another protocol");
  if (head.fields.count("Sec-WebSocket-Accept") != 1 ||
      *head.fields.find("Sec-WebSocket-Accept") != websocket_accept(key))
    throw wrong("it answers another request (Sec-WebSocket-Accept); check for a proxy on the way");
  if (head.fields.count("Sec-WebSocket-Extensions") != 0) throw wrong("it uses an extension that was not offered");
  const std::optional<std::string_view> chosen = head.fields.find("Sec-WebSocket-Protocol");
  if (!chosen) {
    if (protocols.empty()) return {};
    throw error(exec_errc::io_error, peer + ": the server supports none of the offered subprotocols",
                net_errc::upgrade_refused);
  }
  if (head.fields.count("Sec-WebSocket-Protocol") != 1 ||
      std::find(protocols.begin(), protocols.end(), *chosen) == protocols.end())
    throw wrong("it chooses the subprotocol \"" + one_line(*chosen, 60) + "\", which was not offered");
  return std::string(*chosen);
}

COFFERDAM_DECL error websocket_refusal(const http_response& answer, const std::string& peer) {
  std::string what = peer + ": the server refuses the WebSocket: " + std::to_string(answer.status());
  if (!answer.head().reason.empty()) what += " " + one_line(answer.head().reason, 60);
  if (!answer.body().empty()) what += ": " + one_line(answer.text(), 500);
  return error(exec_errc::io_error, what, net_errc::upgrade_refused);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
