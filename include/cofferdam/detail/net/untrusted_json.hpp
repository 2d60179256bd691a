// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <boost/json/parse_options.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

// Parsers for JSON from untrusted sources. The objects of Boost.JSON are hash tables. An attacker can choose keys that
// collide in the table, and then an object of one megabyte blocks the event loop for seconds. The parsers here
// therefore refuse or avoid objects with many members.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The maximum number of members of one object in untrusted JSON.
inline constexpr std::size_t max_members = 1000;

/// Returns a flag for each object of a JSON text, in the order in which the objects begin. A flag is true if its object
/// has more than `max_members` members. The result is empty if no flag is true. Returns no value if a long text is not
/// JSON or is nested too deeply.
std::optional<std::vector<bool>> large_objects(std::string_view text, const boost::json::parse_options& options);

/// Returns true if a JSON text has more than `max_values` values of any type, at any depth. Building many small objects
/// and arrays takes far more time than building a long string: a megabyte of `[],[],` costs as much as a hundred
/// megabytes of text. This function builds no values, and stops at the limit.
bool has_more_values(std::string_view text, std::size_t max_values, const boost::json::parse_options& options);

/// Parses JSON as `boost::json::parse` does, but refuses an object with more than `max_members` members: `failure` is
/// then `object_too_large`.
/// \param memory  where the value is stored.
boost::json::value parse_untrusted_json(std::string_view text, std::error_code& failure,
                                        const boost::json::parse_options& options = {},
                                        boost::json::storage_ptr memory = {});

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/net/impl/untrusted_json.ipp>
#endif
