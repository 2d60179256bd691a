// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "runners.hpp"

#include <cofferdam/code/allow_imports.hpp>
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/pyodide.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/code/reject_patterns.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/environment_ref.hpp>
#include <cofferdam/core/printable_text.hpp>

#include "options.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace program {

namespace {

using namespace cofferdam;

std::vector<std::string> parts_of(const std::string& guard) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = guard.find(':', begin);
    parts.push_back(guard.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

/// Wraps a recipe of code runners in guards (layers that may refuse code). The first guard is outermost, so it checks
/// the code first.
any_runner_provider guarded(any_runner_provider recipe, const std::vector<std::string>& guards) {
  for (auto at = guards.rbegin(); at != guards.rend(); ++at) {
    const std::vector<std::string> parts = parts_of(*at);
    if (parts.front() == "syntax") {
      recipe = any_runner_provider(std::move(recipe) | check_syntax());
    } else if (parts.front() == "patterns") {
      recipe = any_runner_provider(std::move(recipe) | reject_patterns());
    } else if (parts.front() == "imports" && parts.size() > 1) {
      recipe = any_runner_provider(std::move(recipe) |
                                   allow_imports(std::vector<std::string>(parts.begin() + 1, parts.end())));
    } else {
      refuse("\"" + one_line(*at) + "\" is not a guard; use syntax, patterns or imports:NAME:NAME");
    }
  }
  return recipe;
}

}  // namespace

any_runner_provider make_pyodide(const place_options& options, const std::vector<std::string>& guards) {
  pyodide recipe;
  if (options.cpus) refuse("pyodide does not support --cpus; use jail or docker");
  if (!options.hosts.empty()) refuse("pyodide does not support --allow-host; use --network HOST");
  if (options.memory) recipe.memory_limit(*options.memory);
  for (const std::string& host : options.network)
    if (host != "none") recipe.allow_network(host);
  if (!options.workspace.empty()) recipe.allow_write(options.workspace, "/workspace");
  return guarded(any_runner_provider(std::move(recipe)), guards);
}

any_runner_provider make_python(any_environment& inside, const python_options& options) {
  python recipe;
  recipe.interpreter(options.interpreter).working_directory(options.work.working_directory);
  for (const std::string& package : options.packages) recipe.pip_packages(package);
  return guarded(any_runner_provider(environment_ref<any_environment>(inside) | recipe), options.guards);
}

void check_guards(const std::vector<std::string>& guards) {
  static_cast<void>(guarded(any_runner_provider(pyodide()), guards));
}

}  // namespace program
