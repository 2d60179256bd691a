// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The program `cofferdam`. Expected output without arguments: the list of its subcommands, as `cofferdam --help` prints
// it.
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/version.hpp>

#include "options.hpp"
#include "page.hpp"
#include "report.hpp"
#include "subcommands.hpp"
#include "terminal.hpp"

#include <array>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace program;

int run_completion(std::vector<std::string> words) {
  if (const std::optional<std::string> shell = parse_completion(std::move(words)))
    std::cout << completion_script(all_pages(), *shell);
  return 0;
}

int run_man(std::vector<std::string> words) {
  if (parse_man(std::move(words))) std::cout << man_page(all_pages(), std::string(cofferdam::version));
  return 0;
}

/// A subcommand: its name and its function.
class entry {
 public:
  std::string_view name;
  int (*run)(std::vector<std::string>);
};

constexpr std::array<entry, 9> subcommands{{
    {"run", run_command},
    {"shell", run_shell},
    {"python", run_python},
    {"mcp", [](std::vector<std::string> words) { return run_mcp("cofferdam mcp", std::move(words)); }},
    {"serve", run_serve},
    {"agent", run_agent},
    {"doctor", run_doctor},
    {"completion", run_completion},
    {"man", run_man},
}};

int run_program(std::vector<std::string> words) {
  const std::string name = words.empty() ? "--help" : words.front();
  if (name == "--help" || name == "-h" || name == "help") {
    std::cout << help_text("cofferdam", all_pages().front());
    return 0;
  }
  if (name == "--version") {
    std::cout << "cofferdam " << cofferdam::version << "\n";
    return 0;
  }
  words.erase(words.begin());
  for (const entry& each : subcommands) {
    if (each.name == name) return each.run(std::move(words));
  }
  throw usage_error("\"" + cofferdam::one_line(name, 60) + "\" is no subcommand");
}

}  // namespace

int main(int count, char** arguments) {
  checked_output output;
  try {
    const int status = run_program(std::vector<std::string>(arguments + 1, arguments + count));
    return output.finish(status);
  } catch (const std::exception& wrong) {
    restore_terminal();
    complain(wrong.what());
  }
  return status_own_failure;
}
