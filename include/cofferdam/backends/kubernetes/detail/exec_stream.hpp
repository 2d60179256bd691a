// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/exec_channel.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/websocket.hpp>
#include <cofferdam/detail/net/websocket_settings.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// The standard input and output of a program that an exec runs, combined into one stream. Its error output and its
/// status are stored for error messages. Models `coroutine_stream`.
///
/// One read and one write may be under way at the same time. The stream may be moved while none is.
class exec_stream {
 public:
  /// \param socket  the WebSocket of the exec.
  /// \param whose   a description of the program for error messages, such as `the pod "x"`.
  exec_stream(cofferdam::detail::websocket socket, std::string whose)
      : state_(std::make_unique<state>()), whose_(std::move(whose)) {
    state_->socket = std::move(socket);
  }

  /// Sets a coroutine that finds out why the stream has ended. It is awaited once, before `read_some` throws. If it
  /// returns an error, `read_some` throws that error in place of its own.
  void explain_by(std::function<awaitable<std::optional<error>>()> explain) { explain_ = std::move(explain); }

  /// Reads some bytes of the standard output. Returns 0 at its end.
  /// \throws the errors of `websocket::read`; error{exec_errc::provider_failed} if the server breaks the protocol.
  awaitable<std::size_t> read_output(std::span<std::byte> into) {
    while (state_->left.empty()) {
      const cofferdam::detail::websocket_piece piece = co_await state_->socket.read();
      if (piece.closed) co_return 0;
      take(piece);
    }
    const std::size_t count = std::min(into.size(), state_->left.size());
    std::copy_n(state_->left.begin(), count, into.begin());
    state_->left = state_->left.subspan(count);
    co_return count;
  }

  /// Reads some bytes of the standard output of a program that does not end by itself.
  /// \throws error{exec_errc::provider_lost} if the connection fails, and also at the end of the output.
  awaitable<std::size_t> read_some(std::span<std::byte> into) {
    std::optional<error> failure;
    try {
      const std::size_t got = co_await read_output(into);
      if (got != 0) co_return got;
      failure.emplace(exec_errc::provider_lost, ended());
    } catch (const error& reason) {
      failure = reason;
    }
    if (failure->code() == exec_errc::cancelled || state_->closed) throw *failure;
    if (explain_) {
      const std::function<awaitable<std::optional<error>>()> explain = std::move(explain_);
      explain_ = nullptr;
      const std::optional<error> known = co_await explain();
      if (known) throw *known;
    }
    throw error(exec_errc::provider_lost, "kubernetes: lost " + whose_ + ": " + failure->what(), failure->cause());
  }

  /// Puts bytes back that were read, so that the next read returns them first.
  void put_back(std::string_view text) {
    std::string all(text);
    all.append(as_text(state_->left));
    state_->returned = std::move(all);
    state_->left = as_bytes(std::string_view(state_->returned));
  }

  awaitable<void> write(bytes_view data) {
    while (!data.empty()) {
      const bytes_view piece = data.first(std::min(data.size(), max_piece));
      co_await state_->socket.write(cofferdam::detail::websocket_message::binary, bytes_view(input_channel), piece);
      data = data.subspan(piece.size());
    }
  }

  void close() noexcept {
    state_->closed = true;
    state_->socket.abandon();
  }

  /// Returns how the program has ended; no value if this is not known.
  std::optional<exec_end> end() const { return state_->reader.end(); }
  /// Returns the beginning of the program's error output.
  const std::string& error_output() const noexcept { return state_->said; }

 private:
  static constexpr std::array<std::byte, 1> input_channel{};
  /// More than a frame of the warden, because each message takes the whole way through the cluster.
  static constexpr std::size_t max_piece = std::size_t{80} * 1024;
  static constexpr std::size_t max_said = 4096;

  struct state {
    cofferdam::detail::websocket socket;
    exec_reader reader;
    std::optional<exec_channel> channel;  // the channel of the current message
    std::string message;                  // the current message, if it is not of the standard output
    bytes_view left;                      // output that was not read yet, valid until the next read of the socket
    std::string returned;                 // output that was put back
    std::string said;
    bool closed = false;
  };

  void take(const cofferdam::detail::websocket_piece& piece) {
    bytes_view data = piece.data;
    if (piece.begins) {
      state_->channel.reset();
      state_->message.clear();
    }
    if (!state_->channel && !data.empty()) {
      state_->channel = static_cast<exec_channel>(std::to_integer<unsigned char>(data.front()));
      if (*state_->channel != exec_channel::output) state_->message = std::string(as_text(data.first(1)));
      data = data.subspan(1);
    }
    if (state_->channel == exec_channel::output) {
      state_->left = data;
      return;
    }
    const std::size_t room =
        exec_reader::max_status + 2 - std::min(exec_reader::max_status + 2, state_->message.size());
    state_->message += as_text(data.first(std::min(data.size(), room)));
    if (!piece.ends) return;
    const std::optional<exec_message> message = state_->reader.take(state_->message);
    if (message) state_->said.append(message->content().substr(0, max_said - std::min(max_said, state_->said.size())));
  }

  std::string ended() const {
    std::string text = "its stream ended";
    if (const std::optional<exec_end> seen = end(); seen && !seen->message().empty())
      text += ": " + one_line(seen->message(), 400);
    if (!state_->said.empty()) text += "; its error output: \"" + one_line(state_->said, 400) + "\"";
    return text;
  }

  std::unique_ptr<state> state_;
  std::string whose_;
  std::function<awaitable<std::optional<error>>()> explain_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
