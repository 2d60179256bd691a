// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/net/websocket.hpp>
#include <cofferdam/detail/net/websocket_frame.hpp>
#include <cofferdam/detail/net/websocket_handshake.hpp>
#include <cofferdam/net/detail/websocket_state.hpp>
#include <cofferdam/net/http_message.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL websocket::websocket(const asio::any_io_executor& executor, byte_stream stream, std::string protocol,
                                    const websocket_settings& settings)
    : state_(std::make_shared<websocket_state>(executor, std::move(stream), std::move(protocol), settings)) {
  state_->start();
}

COFFERDAM_DECL websocket& websocket::operator=(websocket&& other) noexcept {
  if (state_ && state_ != other.state_) state_->abandon();
  state_ = std::move(other.state_);
  return *this;
}

COFFERDAM_DECL websocket::~websocket() {
  if (state_) state_->abandon();
}

COFFERDAM_DECL websocket_state& websocket::get() const {
  if (!state_)
    throw error(exec_errc::invalid_argument,
                "websocket: empty (default-constructed or moved from); open a WebSocket first");
  return *state_;
}

COFFERDAM_DECL const std::string& websocket::protocol() const { return get().protocol(); }
COFFERDAM_DECL std::uint16_t websocket::close_code() const { return get().reader().close_code(); }
COFFERDAM_DECL const std::string& websocket::close_reason() const { return get().reader().close_reason(); }

COFFERDAM_DECL awaitable<websocket_piece> websocket::read() { return get().read(); }

COFFERDAM_DECL awaitable<void> websocket::write(websocket_message kind, bytes_view first, bytes_view rest) {
  return get().write(kind == websocket_message::text ? websocket_opcode::text : websocket_opcode::binary, first, rest);
}

COFFERDAM_DECL awaitable<void> websocket::close(std::uint16_t code) {
  const std::shared_ptr<websocket_state> state = state_;
  if (state) co_await state->finish(code);
}

COFFERDAM_DECL void websocket::abandon() noexcept {
  if (state_) state_->abandon();
}

COFFERDAM_DECL awaitable<websocket_opening> open_websocket(http_client& client, http_request request,
                                                           std::vector<std::string> protocols,
                                                           websocket_settings settings, http_limits limits) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const std::string key = websocket_handshake_key();
  add_websocket_fields(request, key, protocols);
  http_upgrade upgrade = co_await client.upgrade(std::move(request), std::move(limits));
  if (!upgrade.upgraded()) co_return websocket_opening(upgrade.answer(), websocket());
  std::string protocol = check_websocket_answer(upgrade.answer().head(), key, protocols, settings.peer());
  websocket socket(executor, std::move(upgrade.stream()), std::move(protocol), settings);
  co_return websocket_opening(upgrade.answer(), std::move(socket));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
