// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/connect_client.hpp>
#include <cofferdam/detail/net/connect_envelope.hpp>
#include <cofferdam/detail/net/connect_error.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL awaitable<std::optional<std::string_view>> connect_stream::next() {
  std::optional<connect_envelope> envelope = reader_.next(rest_);
  for (;;) {
    if (envelope && !envelope->is_end()) co_return envelope->payload();
    if (envelope) {
      failure_ = read_connect_end(envelope->payload());
      envelope = reader_.next(rest_);
      continue;
    }
    const std::span<char> room = reader_.room();
    const std::span<std::byte> into = room.empty() ? std::span<std::byte>(*buffer_) : std::as_writable_bytes(room);
    const std::size_t count = co_await answer_.read_some(into);
    if (count == 0) {
      reader_.finish();
      co_return std::nullopt;
    }
    if (room.empty()) {
      rest_ = as_text(bytes_view(buffer_->data(), count));
      envelope = reader_.next(rest_);
    } else {
      envelope = reader_.took(count);
    }
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL bool has_media_type(const http_response_head& head, std::string_view media_type) {
  const std::string_view type = head.fields.find("Content-Type").value_or(std::string_view());
  return same_ignoring_case(without_blanks(type.substr(0, type.find(';'))), media_type);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL awaitable<connect_answer> connect_unary(http_client& client, http_request what, std::string message,
                                                       http_limits limits) {
  what.field("Connect-Protocol-Version", "1").content("application/json", message);
  http_response answer = co_await client.request(std::move(what), std::move(limits));
  if (answer.status() == 200) co_return connect_answer(200, std::string(answer.text()));
  co_return connect_answer(answer.status(), read_connect_failure(static_cast<unsigned>(answer.status()), answer.text()),
                           answer.head().fields);
}

COFFERDAM_DECL awaitable<connect_opening> connect_server_stream(http_client& client, http_request what,
                                                                std::string message, std::size_t max_bytes,
                                                                http_limits limits) {
  what.field("Connect-Protocol-Version", "1").fields().set("Content-Type", "application/connect+json");
  // A chunked body, because Go's reverse proxies abort a response that begins before they have seen the end of a
  // request with a length.
  const std::string body = connect_message(message);
  what.body(http_body(body).in_chunks());
  http_exchange answer = co_await client.send(std::move(what), std::move(limits));
  if (answer.status() != 200) {
    constexpr std::size_t max_refusal = std::size_t{64} * 1024;
    const auto status = static_cast<unsigned>(answer.status());
    bytes content = co_await answer.read_all(max_refusal);
    connect_answer refusal(static_cast<int>(status), read_connect_failure(status, as_text(content)),
                           answer.head().fields);
    co_return connect_opening(std::move(refusal));
  }
  if (!detail::has_media_type(answer.head(), "application/connect+json"))
    throw error(exec_errc::io_error, "Connect: the answer is not a Connect stream: its Content-Type is wrong",
                net_errc::malformed);
  connect_stream stream(std::move(answer), max_bytes);
  co_return connect_opening(std::move(stream));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
