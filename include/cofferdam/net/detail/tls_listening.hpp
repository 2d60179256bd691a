// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/net/detail/socket_listening.hpp>
#include <cofferdam/net/detail/tls_stream.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/ip/tcp.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A TCP listener whose streams use TLS.
class tls_listening final : public tcp_listening {
 public:
  tls_listening(const asio::any_io_executor& executor, const std::string& address, std::uint16_t port,
                tls_identity identity)
      : tcp_listening(executor, address, port), identity_(std::move(identity)) {}

  awaitable<byte_stream> accept() override {
    asio::ip::tcp::socket socket = co_await accept_socket();
    std::string peer = peer_of(socket);
    auto stream = std::make_unique<tls_stream>(std::move(socket), identity_, std::move(peer));
    stream->expect_client();
    co_return byte_stream(std::move(stream));
  }

 private:
  tls_identity identity_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
