// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/hexadecimal.hpp>

#include <openssl/evp.h>

#include <array>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

using sha256_digest = std::array<unsigned char, 32>;

/// Returns the SHA-256 digest of a text.
/// \throws error{exec_errc::io_error} if OpenSSL does not provide SHA-256.
inline sha256_digest sha256_of(std::string_view text) {
  sha256_digest digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    throw error(exec_errc::io_error, "OpenSSL cannot compute a SHA-256 digest");
  return digest;
}

/// Returns the SHA-256 digest of a text as 64 hexadecimal digits.
inline std::string sha256_digits(std::string_view text) { return hexadecimal(sha256_of(text)); }

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
