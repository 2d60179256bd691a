// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/sha256.hpp>

#include <openssl/crypto.h>

#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns true if two secrets are equal. The time of the comparison does not depend on the position of a difference,
/// so it reveals nothing about the secret.
inline bool same_secret(std::string_view a, std::string_view b) {
  const sha256_digest digest_a = sha256_of(a);
  const sha256_digest digest_b = sha256_of(b);
  return CRYPTO_memcmp(digest_a.data(), digest_b.data(), digest_a.size()) == 0;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
