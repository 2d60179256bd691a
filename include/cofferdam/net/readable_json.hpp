// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>

namespace cofferdam::inline COFFERDAM_ABI {

/// Serializes JSON as `boost::json::serialize` does, but writes numbers in the form that people and models expect:
/// `12.0` instead of `1.2E1`. Parsing the text gives the same value.
std::string readable_json(const boost::json::value& value);
std::string readable_json(const boost::json::object& value);

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/net/impl/readable_json.ipp>
#endif
