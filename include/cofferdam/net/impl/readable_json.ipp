// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/core/number_text.hpp>
#include <cofferdam/net/readable_json.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// Returns the same JSON text, in which `number_text` has formatted every number that has a decimal point or an
/// exponent.
inline std::string with_readable_numbers(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  std::size_t copied = 0;
  for (std::size_t at = 0; at < json.size(); ++at) {
    if (json[at] == '"') {
      for (++at; at < json.size() && json[at] != '"'; ++at)
        if (json[at] == '\\') ++at;
    } else if (json[at] == '-' || (json[at] >= '0' && json[at] <= '9')) {
      const std::size_t end = std::min(json.find_first_not_of("0123456789+-.eE", at), json.size());
      const std::string_view token = json.substr(at, end - at);
      const bool is_real = token.find_first_of(".eE") != std::string_view::npos;
      if (const std::optional<double> number = is_real ? number_from(token) : std::nullopt) {
        result.append(json.substr(copied, at - copied)).append(number_text(*number));
        copied = end;
      }
      at = end - 1;
    }
  }
  result.append(json.substr(copied));
  return result;
}

}  // namespace detail

COFFERDAM_DECL std::string readable_json(const boost::json::value& value) {
  return detail::with_readable_numbers(boost::json::serialize(value));
}

COFFERDAM_DECL std::string readable_json(const boost::json::object& value) {
  return detail::with_readable_numbers(boost::json::serialize(value));
}

}  // namespace cofferdam::inline COFFERDAM_ABI
