// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Parses an untrusted JSON object. The error message contains none of the text, which may contain secrets.
/// \param code  the error code if the text is not a JSON object.
/// \param what  a description of the text, with which the error message begins.
inline boost::json::object parse_object(std::string_view text, exec_errc code, const std::string& what) {
  std::error_code failure;
  boost::json::value value = parse_untrusted_json(text, failure);
  if (failure) throw error(code, what + " is not valid JSON", failure);
  if (!value.is_object()) throw error(code, what + " is JSON, but not an object");
  return std::move(value.get_object());
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
