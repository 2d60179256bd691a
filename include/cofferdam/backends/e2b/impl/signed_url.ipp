// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/signed_url.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/backends/e2b/endpoint.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/net/sha256.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

COFFERDAM_DECL std::string file_signature(std::string_view path, file_access access, std::string_view user,
                                          const secret_string& token, std::optional<std::int64_t> expiration) {
  secret_bytes raw;
  const auto add = [&raw](std::string_view part) { raw.insert(raw.end(), part.begin(), part.end()); };
  add(path);
  add(access == file_access::read ? ":read:" : ":write:");
  add(user);
  add(":");
  add(token.reveal());
  if (expiration) add(":" + std::to_string(*expiration));
  const auto digest = cofferdam::detail::sha256_of(std::string_view(raw.data(), raw.size()));
  std::string text = cofferdam::detail::base64_encode(std::as_bytes(std::span(digest)));
  while (text.ends_with('=')) text.pop_back();
  return "v1_" + text;
}

COFFERDAM_DECL std::string file_url(const detail::endpoint& base, std::string_view path, file_access access,
                                    std::string_view user, const secret_string& token,
                                    std::optional<std::int64_t> expiration) {
  std::string url = base.text() + "/files?";
  if (!user.empty()) url += "username=" + cofferdam::detail::percent_encoded(user) + "&";
  url += "path=" + cofferdam::detail::percent_encoded(path);
  if (token.empty()) return url;
  url += "&signature=" + cofferdam::detail::percent_encoded(file_signature(path, access, user, token, expiration));
  if (expiration) url += "&signature_expiration=" + std::to_string(*expiration);
  return url;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
