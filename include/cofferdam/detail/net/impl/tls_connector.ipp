// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/tls_connector.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/detail/connect.hpp>
#include <cofferdam/net/detail/tls_stream.hpp>
#include <cofferdam/net/proxy.hpp>
#include <cofferdam/net/tls.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Makes a connector. The server's certificate must be valid for `expected`.
inline connector tls_connector_to(std::string host, std::uint16_t port, const std::string& expected,
                                  tls_identity identity, std::optional<http_proxy> proxy) {
  std::string name = host_and_port(host, port, 0);
  std::string field = host_and_port(host, port, 443);
  return connector(name, std::move(field),
                   tls_recipe(std::move(host), port, name, expected, std::move(identity), std::move(proxy)));
}

COFFERDAM_DECL connector tls_connector(std::string host, std::uint16_t port, const tls_settings& settings) {
  check_host(host, port);
  const std::string expected = settings.server_name_.empty() ? host : settings.server_name_;
  check_host(expected, port);
  tls_identity identity(settings.trusted_, settings.chain_, settings.key_, settings.verify_);
  std::optional<http_proxy> proxy = settings.proxies_.on_the_way_to(host, port);
  return tls_connector_to(std::move(host), port, expected, std::move(identity), std::move(proxy));
}

COFFERDAM_DECL tls_connectors::tls_connectors(const tls_settings& settings)
    : identity_(std::make_shared<tls_identity>(settings.trusted_, settings.chain_, settings.key_, settings.verify_)) {}

COFFERDAM_DECL connector tls_connectors::to(std::string host, std::uint16_t port,
                                            const std::string& server_name) const {
  check_host(host, port);
  check_host(server_name, port);
  return tls_connector_to(std::move(host), port, server_name, *identity_, std::nullopt);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
