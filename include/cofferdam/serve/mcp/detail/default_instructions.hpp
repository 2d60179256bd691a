// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/serve/mcp/detail/core.hpp>

#include <string>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// Returns the instructions for the model if the options set none. They say which of this library's tools to use for
/// which task, and what lasts from call to call. Empty if the server has neither `code_exec` nor `run_python`.
inline std::string default_instructions(const server_core& core) {
  const bool has_commands = core.tool("code_exec") != nullptr;
  const bool has_python = core.tool("run_python") != nullptr;
  if (!has_commands && !has_python) return {};
  std::string text = has_commands ? "All tools work in one workspace. Files persist between calls; shells do not."
                                  : "These tools run Python code.";
  if (has_python) text += " Use run_python for calculations and plots; its variables persist between calls.";
  if (has_commands) text += has_python ? " Use code_exec for everything else." : " Use code_exec to run commands.";
  if (core.tool("start_command") != nullptr)
    text += " Use start_command for commands that keep running, such as servers.";
  if (core.tool("view_image") != nullptr) text += " Use view_image to look at images that you have made.";
  if (core.tool("download_file") != nullptr) text += " Hand results to the user with download_file.";
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
