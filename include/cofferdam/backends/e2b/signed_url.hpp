// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/backends/e2b/endpoint.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/net/sha256.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// The access to a file that a signed URL permits.
enum class file_access { read, write };

/// Returns the signature for the URL of one file. With the signature any client can read or write this file without a
/// token.
/// \param path        the path as in the URL, but without percent-encoding.
/// \param access      reading or writing.
/// \param user        the user name as in the URL; empty if the URL has none.
/// \param token       the access token of the sandbox's daemon.
/// \param expiration  the end of the validity, in seconds since 1970. If absent, the signature is valid as long as the
///                    sandbox exists.
/// \par Source        E2B's SDKs, signature.
inline std::string file_signature(std::string_view path, file_access access, std::string_view user,
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

/// Returns a URL with which any client can read (GET) or write (POST) one file of a sandbox. If there is a token, the
/// URL is signed. If the token is empty, the URL has no signature, because the sandbox accepts unsigned URLs.
/// \param base  the address of the sandbox's daemon.
/// \param path, user, token, expiration  as for `file_signature`.
/// \param access  reading or writing.
inline std::string file_url(const detail::endpoint& base, std::string_view path, file_access access,
                            std::string_view user, const secret_string& token, std::optional<std::int64_t> expiration) {
  std::string url = base.text() + "/files?";
  if (!user.empty()) url += "username=" + cofferdam::detail::percent_encoded(user) + "&";
  url += "path=" + cofferdam::detail::percent_encoded(path);
  if (token.empty()) return url;
  url += "&signature=" + cofferdam::detail::percent_encoded(file_signature(path, access, user, token, expiration));
  if (expiration) url += "&signature_expiration=" + std::to_string(*expiration);
  return url;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
