// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/sha256.hpp>
#include <cofferdam/detail/os/random_text.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// Returns a new random id for a sandbox. Clients and proxies accept only lower-case letters and digits in an id.
inline std::string sandbox_id_text() { return "i" + cofferdam::detail::random_name(20); }

/// Returns the value of `signature` in a signed URL for a file.
/// \param expiration  the value of `signature_expiration` in the URL; empty if there is none.
/// \par Source  E2B's SDKs, signature.
inline std::string url_signature(std::string_view path, std::string_view operation, std::string_view user,
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
  const cofferdam::detail::sha256_digest digest = cofferdam::detail::sha256_of(raw);
  std::string text =
      cofferdam::detail::base64_encode(bytes_view(reinterpret_cast<const std::byte*>(digest.data()), digest.size()));
  while (!text.empty() && text.back() == '=') text.pop_back();
  return "v1_" + text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
