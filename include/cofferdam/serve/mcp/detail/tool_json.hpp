// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/tools/definition.hpp>

#include <boost/json/object.hpp>

#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// Returns the description of a tool as an entry of `tools/list`, in the form of a protocol version.
inline boost::json::object tool_json(const tools::definition& what, std::string_view version) {
  boost::json::object entry;
  entry["name"] = what.name();
  if (!what.title().empty() && version >= "2025-06-18") entry["title"] = what.title();
  entry["description"] = what.description();
  entry["inputSchema"] = what.parameters();
  if (what.output() && version >= "2025-06-18") entry["outputSchema"] = *what.output();
  if (version >= "2025-03-26") {
    boost::json::object hints;
    if (!what.title().empty()) hints["title"] = what.title();
    hints["readOnlyHint"] = what.reads_only();
    hints["destructiveHint"] = what.is_destructive();
    hints["idempotentHint"] = what.is_idempotent();
    hints["openWorldHint"] = what.is_open_world();
    entry["annotations"] = std::move(hints);
  }
  return entry;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
