// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/net/detail/tls_listening.hpp>
#include <cofferdam/net/detail/tls_stream.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/net/tls_listener.hpp>

#include <asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

COFFERDAM_DECL listener tls_listener(const asio::any_io_executor& executor, const std::string& address,
                                     std::uint16_t port, const tls_server_settings& settings) {
  if (!settings.chain_.given())
    throw error(exec_errc::invalid_argument,
                "tls_listener: a server needs a certificate; set certificate() in the tls_settings");
  detail::tls_identity identity(settings.chain_, settings.key_);
  return listener(std::make_unique<detail::tls_listening>(executor, address, port, std::move(identity)));
}

}  // namespace cofferdam::inline COFFERDAM_ABI
