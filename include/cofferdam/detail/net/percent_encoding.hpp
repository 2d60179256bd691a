// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <boost/url/encode.hpp>
#include <boost/url/grammar/lut_chars.hpp>
#include <boost/url/pct_string_view.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Percent-encodes a text as one component of a URL. Encodes all bytes except the unreserved characters of RFC 3986,
/// 2.3.
inline std::string percent_encoded(std::string_view text) {
  return boost::urls::encode(boost::core::string_view(text.data(), text.size()), boost::urls::unreserved_chars);
}
/// Percent-encodes the components of a path. The slashes between them stay.
inline std::string percent_encoded_path(std::string_view path) {
  constexpr boost::urls::grammar::lut_chars plain = boost::urls::unreserved_chars + '/';
  return boost::urls::encode(boost::core::string_view(path.data(), path.size()), plain);
}
/// Decodes a percent-encoded text; no value if a `%` is not followed by two hexadecimal digits.
inline std::optional<std::string> percent_decoded(std::string_view text) {
  const auto checked = boost::urls::make_pct_string_view(boost::core::string_view(text.data(), text.size()));
  if (!checked) return std::nullopt;
  return checked->decode();
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
