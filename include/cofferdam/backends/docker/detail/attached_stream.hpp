// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/multiplexed_stream.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The standard streams of a program in a container, combined into one stream. Reading reads the program's standard
/// output, and writing writes to its standard input. The program's error output and messages of the daemon are stored
/// for an error message. Models `coroutine_stream`.
class attached_stream {
 public:
  /// Makes a stream from the connection that a call "attach to a container" or "start an exec" has opened.
  /// \param whose  a description of the program for error messages, such as `the container x
  ///               (unix:///var/run/docker.sock)`.
  attached_stream(byte_stream raw, std::string whose)
      : raw_(std::move(raw)), state_(std::make_unique<state>()), whose_(std::move(whose)) {}

  /// Reads some bytes of the program's standard output.
  /// \throws error{exec_errc::provider_lost} if the connection fails, and also at the end of the stream, because the
  ///     programs whose streams these are (a warden or `lease_script`) do not end by themselves.
  awaitable<std::size_t> read_some(std::span<std::byte> into) {
    try {
      const std::size_t got = co_await next_output(into);
      co_return got;
    } catch (const error& reason) {
      throw lost(reason);
    }
  }

  /// Waits until a part of the stream has been received.
  /// \throws the errors of `read_some`.
  awaitable<void> fill() {
    if (!state_->left.empty()) co_return;
    try {
      co_await receive();
    } catch (const error& reason) {
      throw lost(reason);
    }
  }

  awaitable<void> write(bytes_view data) { return raw_.write(data); }
  awaitable<void> shutdown_send() { return raw_.shutdown_send(); }
  void close() noexcept { raw_.close(); }

 private:
  static constexpr std::size_t max_said = 4096;

  struct state {
    multiplexed_stream frames;
    std::array<std::byte, 64 * 1024> buffer;
    std::string_view left;  // the part of the buffer that was not parsed yet
    std::string said;
  };

  awaitable<std::size_t> next_output(std::span<std::byte> into) {
    for (;;) {
      while (std::optional<stream_piece> piece = next_piece(into.size())) {
        if (piece->channel() == stream_channel::output) {
          const bytes_view content = as_bytes(piece->content());
          std::copy(content.begin(), content.end(), into.begin());
          co_return content.size();
        }
        if (piece->channel() == stream_channel::error || piece->channel() == stream_channel::system)
          state_->said.append(piece->content().substr(0, max_said - std::min(max_said, state_->said.size())));
      }
      co_await receive();
    }
  }

  awaitable<void> receive() {
    const std::size_t got = co_await raw_.read_some(std::span(state_->buffer));
    if (got == 0) {
      if (!state_->said.empty())
        throw error(exec_errc::provider_lost, "it exited; its error output: " + one_line(state_->said, 400));
      state_->frames.finish();
      throw error(exec_errc::provider_lost, "its stream ended; it was stopped or removed, or the daemon exited");
    }
    state_->left = as_text(bytes_view(state_->buffer.data(), got));
  }

  error lost(const error& reason) const {
    if (reason.code() == exec_errc::cancelled) return reason;
    return error(exec_errc::provider_lost, "docker: lost " + whose_ + ": " + reason.what(), reason.cause());
  }

  /// Returns the next piece of at most `max_bytes` bytes, or no value if more data must be received.
  std::optional<stream_piece> next_piece(std::size_t max_bytes) {
    std::optional<stream_piece> piece;
    while (!piece && !state_->left.empty()) {  // a frame without content results in no piece, so the loop continues
      std::string_view front = state_->left.substr(0, max_bytes);
      const std::size_t before = front.size();
      piece = state_->frames.next(front);
      state_->left.remove_prefix(before - front.size());
    }
    return piece;
  }

  byte_stream raw_;
  std::unique_ptr<state> state_;
  std::string whose_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
