// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <string>
#include <vector>

// Each function is one subcommand. It takes the words after the name, and returns the exit status. Exceptions are
// failures of the program itself.

namespace program {

int run_command(std::vector<std::string> words);
int run_shell(std::vector<std::string> words);
int run_python(std::vector<std::string> words);
int run_serve(std::vector<std::string> words);
int run_agent(std::vector<std::string> words);
int run_doctor(std::vector<std::string> words);
/// \param name  the name that the help shows: "cofferdam mcp" or "cofferdam-mcp".
int run_mcp(const std::string& name, std::vector<std::string> words);

}  // namespace program
