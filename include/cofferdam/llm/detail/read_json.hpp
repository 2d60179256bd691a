// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>

#include <boost/json/parse_options.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string_view>
#include <system_error>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Parses JSON from an untrusted source, with up to 64 levels of nesting. Returns no value if the text is not valid
/// JSON.
inline std::optional<boost::json::value> read_json(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = 64;
  std::error_code failure;
  boost::json::value value = parse_untrusted_json(text, failure, options);
  if (failure) return std::nullopt;
  return value;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
