// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/secret_string.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

namespace detail {
class endpoint;
}

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
std::string file_signature(std::string_view path, file_access access, std::string_view user, const secret_string& token,
                           std::optional<std::int64_t> expiration);

/// Returns a URL with which any client can read (GET) or write (POST) one file of a sandbox. If there is a token, the
/// URL is signed. If the token is empty, the URL has no signature, because the sandbox accepts unsigned URLs.
/// \param base  the address of the sandbox's daemon.
/// \param path, user, token, expiration  as for `file_signature`.
/// \param access  reading or writing.
std::string file_url(const detail::endpoint& base, std::string_view path, file_access access, std::string_view user,
                     const secret_string& token, std::optional<std::int64_t> expiration);

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/e2b/impl/signed_url.ipp>
#endif
