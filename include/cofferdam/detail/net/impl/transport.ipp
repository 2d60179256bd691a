// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/detail/connect.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL connector unix_connector(std::string path, std::string host) {
  if (path.empty() || path.front() != '/' || path.size() > 107 || path.find('\0') != std::string::npos)
    throw error(exec_errc::invalid_argument,
                "\"" + one_line(path) +
                    "\" is not a valid path of a Unix socket: the path must be absolute and at most 107 bytes long");
  std::string name = "the socket \"" + one_line(path) + "\"";
  return connector(name, std::move(host), detail::unix_recipe(std::move(path), name));
}

COFFERDAM_DECL connector tcp_connector(std::string host, std::uint16_t port) {
  detail::check_host(host, port);
  std::string name = detail::host_and_port(host, port, 0);
  std::string field = detail::host_and_port(host, port, 80);
  return connector(name, std::move(field), detail::tcp_recipe(std::move(host), port, name));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
