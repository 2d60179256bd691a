// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/backends/e2b/endpoint.hpp>
#include <cofferdam/detail/net/port_number.hpp>

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

COFFERDAM_DECL endpoint endpoint::parse(std::string_view url, std::string_view setting) {
  const auto wrong = [&](const char* why) {
    return error(exec_errc::invalid_argument, "e2b: " + std::string(setting) + " is not a valid base URL: " + why);
  };
  const auto parsed = boost::urls::parse_uri(boost::core::string_view(url.data(), url.size()));
  if (!parsed) throw wrong("write it as https://HOST[:PORT][/PATH]");
  const boost::urls::url_view& parsed_url = *parsed;
  endpoint result;
  result.tls_ = parsed_url.scheme_id() == boost::urls::scheme::https;
  if (!result.tls_ && parsed_url.scheme_id() != boost::urls::scheme::http)
    throw wrong("its scheme is neither https nor http");
  if (parsed_url.has_userinfo()) throw wrong("it contains a user or password; set the key with api_key()");
  if (parsed_url.has_query() || parsed_url.has_fragment()) throw wrong("it has a query or a fragment");
  const std::string host(parsed_url.host_address());
  if (host.empty()) throw wrong("it has no host");
  result.host_ = host;
  result.port_ = result.tls_ ? 443 : 80;
  if (parsed_url.has_port() && !parsed_url.port().empty()) {
    const auto port = parsed_url.port();
    const std::optional<std::uint16_t> number =
        cofferdam::detail::port_number(std::string_view(port.data(), port.size()));
    if (!number) throw wrong("its port is not a number from 1 to 65535");
    result.port_ = *number;
  }
  const auto path = parsed_url.encoded_path();
  if (!path.empty() && !path.starts_with("/")) throw wrong("its port is not a number from 1 to 65535");
  result.prefix_ = std::string(path.data(), path.size());
  while (result.prefix_.ends_with('/')) result.prefix_.pop_back();
  return result;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
