// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

// Parses JSON that a guest (the code that runs) has written. An object with many members becomes {"$python": "dict",
// "items": [[key, value], ...]}, as in tagged_value.hpp. A guest could otherwise choose keys that make the hash table
// of a large object very slow.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The maximum nesting depth of JSON from the guest. The driver (the Python program in the guest that encodes values)
/// stops at 100 levels of Python values, and each of them takes at most three levels of JSON. The rest is a margin.
inline constexpr std::size_t deepest_guest_json = 512;

/// Parses JSON from the guest. Returns no value if the text is not JSON or is nested too deeply.
std::optional<boost::json::value> parse_guest_json(std::string_view text);

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/code/detail/impl/guest_json.ipp>
#endif
