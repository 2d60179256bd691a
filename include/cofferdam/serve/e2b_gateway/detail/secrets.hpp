// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/base64.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/net/sha256.hpp>
#include <cofferdam/os/random_text.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace cofferdam::inline v0::detail {

/// As E2B's own, which clients and proxies check to be small letters and digits.
inline std::string gateway_sandbox_id() { return "i" + random_name(20); }

/// What stands in a signed URL's `signature`. \par Source  E2B's SDKs, signature.
/// \param expiration  as it stands in the URL; empty where there is none.
inline std::string gateway_signature(std::string_view path, std::string_view operation, std::string_view user,
                                     std::string_view token, std::string_view expiration) {
  std::string raw(path);
  for (const std::string_view part : {operation, user, token}) {
    raw += ':';
    raw += part;
  }
  if (!expiration.empty()) {
    raw += ':';
    raw += expiration;
  }
  const sha256_digest digest = sha256_of(raw);
  std::string text = base64_encode(bytes_view(reinterpret_cast<const std::byte*>(digest.data()), digest.size()));
  while (!text.empty() && text.back() == '=') text.pop_back();
  return "v1_" + text;
}

}  // namespace cofferdam::inline v0::detail
