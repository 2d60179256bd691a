// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/net/detail/socket_listening.hpp>
#include <cofferdam/net/listener.hpp>

#include <asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI {

COFFERDAM_DECL listener tcp_listener(const asio::any_io_executor& executor, const std::string& address,
                                     std::uint16_t port) {
  return listener(std::make_unique<detail::tcp_listening>(executor, address, port));
}

COFFERDAM_DECL listener unix_listener(const asio::any_io_executor& executor, const std::string& path) {
  return listener(std::make_unique<detail::unix_listening>(executor, path));
}

}  // namespace cofferdam::inline COFFERDAM_ABI
