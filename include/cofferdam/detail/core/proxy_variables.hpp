// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns the variables by which programs use a proxy on 127.0.0.1, each as `NAME=value`.
/// \param label  the user name in the proxy's URL, by which the proxy tells commands apart; empty for none. It needs no
///               percent-encoding.
inline std::vector<std::string> proxy_variables(std::uint16_t port, const std::string& label) {
  // A user name alone makes git request a password from its user. With `basic`, git sends the name at once.
  const std::string user = label.empty() ? "" : label + ":x@";
  const std::string url = "http://" + user + "127.0.0.1:" + std::to_string(port);
  const std::string direct = "localhost,127.0.0.1,::1";
  std::vector<std::string> variables{"HTTP_PROXY=" + url,  "http_proxy=" + url,  "HTTPS_PROXY=" + url,
                                     "https_proxy=" + url, "ALL_PROXY=" + url,   "all_proxy=" + url,
                                     "NO_PROXY=" + direct, "no_proxy=" + direct, "NODE_USE_ENV_PROXY=1"};
  if (!label.empty()) variables.push_back("GIT_HTTP_PROXY_AUTHMETHOD=basic");
  return variables;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
