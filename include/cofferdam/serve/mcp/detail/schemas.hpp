// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/serve/mcp/detail/json_rpc.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// Parses a JSON schema that is written as a literal in the source code.
inline boost::json::object schema_of(std::string_view text) { return boost::json::parse(json_view(text)).as_object(); }

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
