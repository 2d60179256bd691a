// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/serve/mcp/detail/event_stream.hpp>
#include <cofferdam/serve/mcp/detail/http_session.hpp>
#include <cofferdam/serve/mcp/detail/json_rpc.hpp>
#include <cofferdam/serve/mcp/detail/unread_answers.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

// Replies to requests over streamable HTTP: one JSON text, or the events of a stream. MCP, "Transports".

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// Makes a reply with a JSON-RPC error that belongs to no request.
inline http_reply refusal(int status, int code, std::string_view why) {
  http_reply response(status);
  response.content("application/json", rpc_error("null", code, why));
  return response;
}
inline http_reply json_reply(int status, std::string_view text) {
  http_reply response(status);
  response.content("application/json", text);
  return response;
}

/// The maximum size in bytes of a message that is copied as a whole for sending.
inline constexpr std::size_t max_copied = std::size_t{64} * 1024;

/// Writes a long text in pieces.
inline awaitable<void> write_long(http_call& call, std::shared_ptr<const unread_text> text) {
  for (std::string_view rest = text->view(); !rest.empty(); rest.remove_prefix(std::min(rest.size(), max_copied))) {
    co_await call.write(rest.substr(0, max_copied));
    text->took_part();
  }
}

/// Replies with JSON. A long text is written in pieces, so that it is not copied as a whole.
inline awaitable<void> reply_json(http_call& call, int status, std::shared_ptr<const unread_text> text) {
  if (text->size() <= max_copied) {
    co_await call.reply(json_reply(status, text->view()));
    co_return;
  }
  http_reply head(status);
  head.field("Content-Type", "application/json");
  co_await call.begin(std::move(head), text->size());
  co_await write_long(call, text);
  co_await call.end();
}

/// Sends the events of a stream, and waits for more, until the stream ends or the writer must leave.
/// \param writer   the number of the caller as a writer of the stream.
/// \param seen     the number of the last event that the client has received.
/// \param has_ids  true if events have ids, so that the client may reconnect to get missed events.
/// \param first    a text that is sent before the events.
inline awaitable<void> write_events(http_call& call, std::shared_ptr<event_stream> stream, std::uint64_t writer,
                                    std::uint64_t seen, bool has_ids, std::string first) {
  constexpr std::chrono::seconds keep_alive{15};
  http_reply head(200);
  head.field("Content-Type", "text/event-stream");
  head.field("Cache-Control", "no-cache, no-transform").field("X-Accel-Buffering", "no");
  co_await call.begin(std::move(head));
  if (!first.empty()) co_await call.write(std::string_view(first));
  while (!stream->is_to_leave(writer)) {
    const std::shared_ptr<const unread_text> text = stream->next(seen);
    if (text) {
      std::string piece = "event: message\n";
      if (has_ids) piece += "id: " + stream->id() + "_" + std::to_string(seen) + "\n";
      piece += "data: ";
      if (text->size() <= max_copied) {
        piece += text->view();
      } else {
        co_await call.write(std::string_view(piece));
        co_await write_long(call, text);
        piece.clear();
      }
      piece += "\n\n";
      co_await call.write(std::string_view(piece));
      stream->delivered(seen);
      continue;
    }
    if (stream->is_over(seen)) break;
    const auto due = std::chrono::steady_clock::now() + keep_alive;
    co_await stream->change(due);
    if (std::chrono::steady_clock::now() >= due) co_await call.write(std::string_view(":\n\n"));
  }
  co_await call.end();
}

/// Sends the answer to one request: as JSON if `as_json` is true and no other message comes first, else as events.
/// \param resumes       true if events have ids, so that the client may reconnect to get missed events.
/// \param has_statuses  true if a refused request gets the HTTP status 400 or 404.
inline awaitable<void> answer_with(http_call& call, std::shared_ptr<event_stream> stream, bool resumes,
                                   std::string version, bool has_statuses, bool as_json) {
  constexpr std::chrono::seconds patience{2};
  const attached mine(stream);
  const auto until = std::chrono::steady_clock::now() + patience;
  std::uint64_t seen = 0;
  std::uint64_t peeked = 0;
  while (as_json && !stream->is_done() && stream->next(peeked) == nullptr && !stream->is_to_leave(mine.writer()) &&
         std::chrono::steady_clock::now() < until)
    co_await stream->change(until);
  if (as_json && stream->is_one_answer() && stream->has_answer()) {
    int status = 200;
    if (has_statuses && stream->kind() == reply_kind::refused) status = 400;
    if (has_statuses && stream->kind() == reply_kind::unknown_method) status = 404;
    co_await reply_json(call, status, stream->last());
    stream->delivered(1);
    co_return;
  }
  std::string first;
  if (resumes && version >= "2025-11-25") first = "id: " + stream->id() + "_0\nretry: 1000\ndata: \n\n";
  co_await write_events(call, stream, mine.writer(), seen, resumes, std::move(first));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
