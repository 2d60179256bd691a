// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/tools/arguments.hpp>

// Defines the arguments that all tools for shell commands share.

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// Returns the argument `cmd`.
/// \param description  a text for the model.
inline tools::argument<tools::text_type> command_line_argument(const char* description) {
  return tools::argument("cmd", tools::text, description).between(1, 100'000);
}

/// Returns the argument `cwd`.
inline tools::argument<tools::text_type> directory_argument() {
  return tools::argument("cwd", tools::text, "Directory to run in, relative to the workspace root.")
      .between(1, 4095)
      .otherwise(".");
}

/// Returns the command for the arguments `cmd` and `cwd`.
inline command shell_command(const tools::checked_arguments& arguments) {
  command line = shell(arguments.text("cmd"));
  line.working_directory(arguments.text("cwd"));
  return line;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
