// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/serve/mcp/remote.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// Returns the names of a server's tools for an error, the first 20 of them: "its tools are a, b and 3 others".
inline std::string tool_names(const std::vector<remote_tool>& listed) {
  constexpr std::size_t max_listed = 20;
  if (listed.empty()) return "it has no tools";
  std::string text = "its tools are ";
  for (std::size_t i = 0; i < listed.size() && i < max_listed; ++i)
    text += (i == 0 ? "" : ", ") + one_line(listed[i].name(), 100);
  if (listed.size() > max_listed) text += " and " + std::to_string(listed.size() - max_listed) + " others";
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
