// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// `cofferdam doctor`: the report of what this machine can enforce.
#include "doctor.hpp"

#include <cofferdam/backends/kubernetes/cluster_info.hpp>
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/with.hpp>

#include "options.hpp"
#include "place.hpp"
#include "runners.hpp"
#include "serving.hpp"
#include "session.hpp"
#include "subcommands.hpp"

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace program {

namespace {

using namespace cofferdam;

std::string without_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// Prints the text of an error after `label`. The library has already quoted and escaped what others wrote in it.
void print_reason(const std::string& label, const std::string& why) {
  std::cout << "    " << label << ":";
  std::istringstream lines(why);
  const char* before = " ";
  for (std::string line; std::getline(lines, line); before = "    ")
    std::cout << before << printable_text(line) << "\n";
}

awaitable<void> look_into(any_environment& environment) {
  const command_result nothing = co_await environment.run_command(shell("true"));
  if (!nothing.ok()) throw std::runtime_error("the test command 'true' failed: " + nothing.reason());
  for (std::size_t i = 0; i < isolation_report::count; ++i) {
    const auto which = static_cast<isolation_kind>(i);
    std::cout << "    " << to_string(which) << ": " << nothing.isolation().of(which) << "\n";
  }
  const command_result python = co_await environment.run_command(shell("python3 --version 2>&1"));
  std::cout << "    run_python: " << (python.ok() ? "" : "no: ") << one_line(without_end(python.out().text()), 60)
            << "\n";
}

awaitable<void> calculate(any_runner& runner) {
  const code_result sum = co_await runner.run_code(code_request("6 * 7"));
  std::cout << "    run_python: 6 * 7 is " << sum.value_text() << "; files, network and system calls: WebAssembly, "
            << "and Deno without permissions\n";
}

/// Prints the cluster of `kubernetes`, and the rights of its user.
awaitable<void> examine_kubernetes() {
  std::string why;
  try {
    const kubernetes::cluster_info found = co_await kubernetes::examine_cluster();
    std::cout << "    cluster: " << one_line(found.server(), 120) << ", " << found.version() << ", context "
              << one_line(found.context(), 80) << ", namespace " << one_line(found.namespace_name(), 80) << "\n";
    std::string missing;
    bool is_needed = false;
    for (const kubernetes::cluster_right& each : found.rights()) {
      if (each.is_allowed()) continue;
      missing += (missing.empty() ? "" : ", ") + each.resource() + " " + each.verb() +
                 (each.is_needed() ? "" : " (can be missing)");
      is_needed = is_needed || each.is_needed();
    }
    if (!missing.empty()) missing = "missing: " + missing;
    if (found.rights().empty()) missing = "not known, because the cluster does not tell";
    std::cout << "    rights: " << (missing.empty() ? "all" : missing) << "\n";
    if (is_needed) {
      std::cout << "    This Role has the rights; bind it to the user, and apply both with kubectl apply -f -\n";
      std::istringstream lines(found.role());
      for (std::string line; std::getline(lines, line);) std::cout << "      " << line << "\n";
    }
  } catch (const std::exception& wrong) {
    why = wrong.what();
  }
  if (!why.empty()) print_reason("cluster", why);
}

/// Prints the report about one provider. Returns true if it works.
awaitable<bool> examine_one(place_options place) {
  std::cout << place.provider << "\n" << std::flush;
  if (place.provider == "kubernetes") co_await examine_kubernetes();
  std::string why;
  try {
    if (place.provider == "pyodide") {
      any_runner_provider recipe = make_pyodide(place, std::vector<std::string>());
      co_await with(std::move(recipe), calculate);
    } else {
      any_provider recipe = make_place(place, nullptr, image_pull::never);
      co_await with(std::move(recipe), look_into);
    }
  } catch (const std::exception& wrong) {
    why = wrong.what();
  }
  if (why.empty()) co_return true;
  print_reason("does not work here", why);
  co_return false;
}

awaitable<int> examine_all(mcp_options options) {
  bool works = false;
  const std::string& chosen = options.place.provider;
  for (const std::string name : {"jail", "local", "docker", "pyodide"}) {
    const bool is_chosen = name == chosen || (name == "docker" && chosen == "dockerfile");
    place_options place;
    place.provider = name;
    if (is_chosen) place = options.place;
    const bool this_works = co_await examine_one(std::move(place));
    if (is_chosen) works = this_works;
  }
  const char* const key = std::getenv("E2B_API_KEY");
  const bool has_key = key != nullptr && *key != '\0';
  std::cout << "e2b\n    "
            << (has_key ? "E2B_API_KEY is set; not tested, because sandboxes cost money" : "E2B_API_KEY is not set")
            << "\n";
  if (chosen == "e2b") works = has_key;
  if (chosen == "ssh" || chosen == "kubernetes") {
    const bool that_works = co_await examine_one(options.place);
    works = that_works;
  }
  co_return works ? 0 : 1;
}

}  // namespace

int examine(const mcp_options& options) {
  become_undumpable();
  session used;
  return used.run(examine_all(options));
}

int run_doctor(std::vector<std::string> words) {
  const std::optional<mcp_options> options = parse_doctor(std::move(words));
  if (!options) return 0;
  return examine(*options);
}

}  // namespace program
