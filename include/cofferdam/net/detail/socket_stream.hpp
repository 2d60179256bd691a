// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/net/detail/stream_errors.hpp>

#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A connected TCP or Unix stream socket.
template <class Socket>
class socket_stream final : public byte_stream::implementation {
 public:
  socket_stream(Socket socket, std::string peer) : socket_(std::move(socket)), peer_(std::move(peer)) {}

  awaitable<std::size_t> read_some(std::span<std::byte> into) override {
    std::error_code failure;
    const asio::mutable_buffer room(into.data(), into.size());
    const std::size_t count =
        co_await socket_.async_read_some(room, asio::redirect_error(asio::use_awaitable, failure));
    if (failure == asio::error::eof) co_return 0;
    if (failure) throw stream_error(peer_, "reading", failure, closed_);
    co_return count;
  }

  awaitable<void> write(bytes_view data) override {
    // Does not use asio::async_write, which sends at most 64 KiB in each turn of the event loop.
    constexpr std::size_t at_once = std::size_t{256} * 1024;
    std::error_code failure;
    while (!data.empty()) {
      const asio::const_buffer content(data.data(), std::min(data.size(), at_once));
      const std::size_t count =
          co_await socket_.async_write_some(content, asio::redirect_error(asio::use_awaitable, failure));
      if (failure) throw stream_error(peer_, "writing", failure, closed_);
      data = data.subspan(count);
    }
  }

  awaitable<void> shutdown_send() override {
    std::error_code failure;
    socket_.shutdown(Socket::shutdown_send, failure);
    if (failure && failure != asio::error::not_connected)
      throw stream_error(peer_, "ending the output", failure, closed_);
    co_return;
  }

  void close() noexcept override {
    closed_ = true;
    std::error_code ignored;  // the socket is closed even if `close` fails
    socket_.close(ignored);
  }

  bool is_quiet() noexcept override { return socket_.is_open() && is_quiet_descriptor(socket_.native_handle()); }

 private:
  Socket socket_;
  std::string peer_;
  bool closed_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
