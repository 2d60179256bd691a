// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/http_origin.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Lets the web page that has sent a request read the reply, if `origins` contains its origin.
/// \return the reply, if the request is only a preflight, by which a browser checks that the page may send a request
///         with this method and these fields. A preflight has no credentials, so call this function before they are
///         checked.
/// \par Source  Fetch standard, "CORS protocol".
inline std::optional<http_reply> preflight_reply(http_call& call, const std::vector<std::string>& origins) {
  if (origins.empty()) return std::nullopt;
  const http_fields& fields = call.head().fields;
  const std::string_view origin = fields.find("Origin").value_or("");
  if (fields.count("Origin") != 1 || !is_listed_origin(origin, origins)) {
    call.share_with("");
    return std::nullopt;
  }
  call.share_with(origin);
  const std::string_view method = fields.find("Access-Control-Request-Method").value_or("");
  if (call.method() != "OPTIONS" || method.empty()) return std::nullopt;
  http_reply allowed(204);
  allowed.field("Access-Control-Allow-Methods", std::string(method));
  if (const std::optional<std::string_view> names = fields.find("Access-Control-Request-Headers"))
    allowed.field("Access-Control-Allow-Headers", std::string(*names));
  allowed.field("Access-Control-Max-Age", "7200");
  return allowed;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
