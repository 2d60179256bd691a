// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/base64.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace cofferdam::inline v0::detail {

using gateway_digest = std::array<unsigned char, 32>;

inline gateway_digest gateway_sha256(std::string_view text) {
  gateway_digest digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    throw error(errc::io_error, "e2b_gateway: OpenSSL cannot make a SHA-256 digest");
  return digest;
}

/// So many characters of `alphabet`, of which there are at most 256, each as likely as any other.
inline std::string gateway_random(std::size_t count, std::string_view alphabet) {
  std::string text;
  const std::size_t fair = 256 / alphabet.size() * alphabet.size();
  while (text.size() < count) {
    std::array<unsigned char, 64> raw{};
    if (RAND_bytes(raw.data(), static_cast<int>(raw.size())) != 1)
      throw error(errc::io_error, "e2b_gateway: OpenSSL has no random numbers");
    for (const unsigned char one : raw)
      if (one < fair && text.size() < count) text += alphabet[one % alphabet.size()];
  }
  return text;
}

inline std::string gateway_token() { return gateway_random(64, "0123456789abcdef"); }
/// As E2B's own, which clients and proxies check to be small letters and digits.
inline std::string gateway_sandbox_id() { return "i" + gateway_random(20, "abcdefghijklmnopqrstuvwxyz0123456789"); }

/// Compares in a time that does not depend on where they differ.
inline bool gateway_same_secret(std::string_view a, std::string_view b) {
  const gateway_digest one = gateway_sha256(a);
  const gateway_digest other = gateway_sha256(b);
  return CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

/// What stands in a signed URL's `signature`. \par Source  specs/e2b.md 7.
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
  const gateway_digest digest = gateway_sha256(raw);
  std::string text = base64_encode(bytes_view(reinterpret_cast<const std::byte*>(digest.data()), digest.size()));
  while (!text.empty() && text.back() == '=') text.pop_back();
  return "v1_" + text;
}

}  // namespace cofferdam::inline v0::detail
