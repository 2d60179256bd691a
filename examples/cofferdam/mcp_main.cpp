// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The program `cofferdam-mcp`, which is `cofferdam mcp` under a name of its own. Expected output on a terminal: the
// manual, as `cofferdam-mcp --help` prints it.
#include "report.hpp"
#include "subcommands.hpp"

#include <exception>
#include <string>
#include <vector>

int main(int count, char** arguments) {
  program::set_program_name("cofferdam-mcp");
  program::checked_output output;
  try {
    const int status = program::run_mcp("cofferdam-mcp", std::vector<std::string>(arguments + 1, arguments + count));
    return output.finish(status);
  } catch (const std::exception& wrong) {
    program::complain(wrong.what());
  }
  return program::status_own_failure;
}
