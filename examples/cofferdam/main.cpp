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

/// A subcommand: its name, its function, and the exit status if the function throws.
class entry {
 public:
  std::string_view name;
  int (*run)(std::vector<std::string>);
  int failure;
};

constexpr std::array<entry, 9> subcommands{{
    {"run", run_command, status_own_failure},
    {"shell", run_shell, status_own_failure},
    {"python", run_python, status_own_failure},
    {"mcp", [](std::vector<std::string> words) { return run_mcp("cofferdam mcp", std::move(words)); }, 1},
    {"serve", run_serve, 1},
    {"agent", run_agent, 1},
    {"doctor", run_doctor, 1},
    {"completion", run_completion, status_own_failure},
    {"man", run_man, status_own_failure},
}};

int run_program(std::vector<std::string> words, int& failure) {
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
    if (each.name != name) continue;
    failure = each.failure;
    return each.run(std::move(words));
  }
  throw usage_error("\"" + cofferdam::one_line(name, 60) + "\" is no subcommand");
}

}  // namespace

int main(int count, char** arguments) {
  int failure = status_own_failure;
  try {
    return run_program(std::vector<std::string>(arguments + 1, arguments + count), failure);
  } catch (const std::exception& wrong) {
    restore_terminal();
    complain(wrong.what());
  }
  return failure;
}
