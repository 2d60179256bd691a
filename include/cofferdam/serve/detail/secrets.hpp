// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

// What servers hand out and are shown again: ids, tokens, signatures.

namespace cofferdam::inline v0::detail {

using sha256_digest = std::array<unsigned char, 32>;

inline sha256_digest sha256_of(std::string_view text) {
  sha256_digest digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    throw error(errc::io_error, "OpenSSL cannot make a SHA-256 digest");
  return digest;
}

/// So many characters of `alphabet`, of which there are at most 256, each as likely as any other.
inline std::string random_characters(std::size_t count, std::string_view alphabet) {
  std::string text;
  const std::size_t fair = 256 / alphabet.size() * alphabet.size();
  while (text.size() < count) {
    std::array<unsigned char, 64> raw{};
    if (RAND_bytes(raw.data(), static_cast<int>(raw.size())) != 1)
      throw error(errc::io_error, "OpenSSL has no random numbers");
    for (const unsigned char one : raw)
      if (one < fair && text.size() < count) text += alphabet[one % alphabet.size()];
  }
  return text;
}

/// Nobody guesses it: 256 bits.
inline std::string random_token() { return random_characters(64, "0123456789abcdef"); }
/// So many small letters and digits, some five bits each.
inline std::string random_name(std::size_t count) {
  return random_characters(count, "abcdefghijklmnopqrstuvwxyz0123456789");
}

/// Compares in a time that does not depend on where they differ.
inline bool same_secret(std::string_view a, std::string_view b) {
  const sha256_digest one = sha256_of(a);
  const sha256_digest other = sha256_of(b);
  return CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace cofferdam::inline v0::detail
