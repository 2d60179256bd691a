// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the WebSocket parser gets any bytes. It must report the same messages, pings and close frame, or the
// same refusal, however the stream is cut. It must never report more data than bytes. A second masking must restore
// every payload. The check of a handshake must accept only the right answer.
// Input: one byte that selects the target and its limits, one for the size of the pieces, then the stream.

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/http_parser.hpp>
#include <cofferdam/detail/net/websocket_frame.hpp>
#include <cofferdam/detail/net/websocket_handshake.hpp>

#include "fuzz/target.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace {

using cofferdam::detail::websocket_event;

void require(bool holds) {
  if (!holds) std::abort();
}

struct found {
  std::string messages;
  std::string controls;
  std::size_t consumed = 0;
  std::error_code code;
  std::error_code cause;
  bool operator==(const found&) const = default;
};

found feed(std::uint64_t limit, std::string_view stream, std::size_t piece) {
  cofferdam::detail::websocket_reader reader(limit);
  found result;
  std::size_t data = 0;
  bool inside = false;
  try {
    while (!stream.empty() && !reader.closed()) {
      std::string_view waiting = stream.substr(0, piece);
      stream.remove_prefix(waiting.size());
      for (;;) {
        const cofferdam::detail::websocket_step step = reader.parse(cofferdam::as_bytes(waiting));
        require(step.consumed <= waiting.size());
        waiting.remove_prefix(step.consumed);
        result.consumed += step.consumed;
        if (step.event == websocket_event::need_more) break;
        if (step.event == websocket_event::data) {
          require(step.begins == !inside);
          require(!step.data.empty() || step.ends);
          inside = !step.ends;
          data += step.data.size();
          if (step.begins) result.messages += step.is_text ? "t(" : "b(";
          result.messages += cofferdam::as_text(step.data);
          if (step.ends) result.messages += ")";
        } else if (step.event == websocket_event::ping) {
          require(step.data.size() <= 125);
          result.controls += "ping(" + std::string(cofferdam::as_text(step.data)) + ")";
        } else if (step.event == websocket_event::pong) {
          result.controls += "pong";
        } else {
          require(reader.closed() && reader.close_reason().size() <= 123);
          result.controls += "closed " + std::to_string(reader.close_code()) + reader.close_reason();
          break;
        }
      }
      require(waiting.empty() || reader.closed());
    }
    require(reader.closed() || !inside || reader.inside_message());
  } catch (const cofferdam::error& failure) {
    require(failure.code() == cofferdam::exec_errc::io_error || failure.code() == cofferdam::exec_errc::too_large);
    // The messages before a refusal depend on the pieces, so only the refusal is compared.
    return {"", "", 0, failure.code(), failure.cause()};
  }
  require(data <= result.consumed);
  return result;
}

void check_handshake(std::string_view text) {
  cofferdam::detail::http_response_parser parser;
  const std::string key = "dGhlIHNhbXBsZSBub25jZQ==";
  try {
    if (parser.parse(cofferdam::as_bytes(text)).event != cofferdam::detail::http_event::head) return;
    const std::string chosen = cofferdam::detail::check_websocket_answer(
        parser.head(), key, {"v5.channel.k8s.io", "v4.channel.k8s.io"}, "the peer");
    require(chosen == "v5.channel.k8s.io" || chosen == "v4.channel.k8s.io");
    require(parser.head().status == 101);
    require(parser.head().fields.find("Sec-WebSocket-Accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  } catch (const cofferdam::error& failure) {
    require(failure.code() == cofferdam::exec_errc::io_error && failure.cause());
  }
}

void check_masking(std::string_view payload, std::size_t piece) {
  const cofferdam::detail::websocket_key key{std::byte{0x11}, std::byte{0xA2}, std::byte{0x43}, std::byte{0xF4}};
  cofferdam::bytes out;
  cofferdam::detail::append_websocket_head(out, cofferdam::detail::websocket_opcode::binary, true, key, payload.size());
  const std::size_t head = out.size();
  require(head >= 6 && head <= 14);
  for (std::size_t at = 0; at < payload.size(); at += piece)
    cofferdam::detail::append_websocket_payload(out, key, at, cofferdam::as_bytes(payload.substr(at, piece)));
  cofferdam::detail::websocket_mask(std::span(out).subspan(head), key);
  require(cofferdam::as_text(cofferdam::bytes_view(out).subspan(head)) == payload);
}

}  // namespace

COFFERDAM_FUZZ_TARGET(websocket)(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t piece = 1 + data[1] % 40U;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 2, size - 2);
  if ((data[0] & 4U) != 0) {
    check_handshake(stream);
    return 0;
  }
  const std::uint64_t limit = (data[0] & 1U) != 0 ? 20 : std::numeric_limits<std::uint64_t>::max();
  const found whole = feed(limit, stream, stream.size() + 1);
  require(feed(limit, stream, piece) == whole);
  require(feed(limit, stream, 1) == whole);
  check_masking(stream, piece);
  return 0;
}
