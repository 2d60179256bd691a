// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>

#include "conformance/places.hpp"

#ifndef COFFERDAM_LOCAL_PLACES_ONLY
#include <cofferdam/code/pyodide.hpp>
#endif

#include <cstdlib>
#include <string>
#include <vector>

namespace cofferdam_test {

namespace {

/// A test setup that runs Python, and a filter of the tests that it cannot pass.
class python_place {
 public:
  std::string name;
  std::string without;
};

const std::vector<python_place>& python_places() {
  static const std::vector<python_place> places{
      {"local", ""}, {"over", ""}, {"jail", ""}, {"docker_debian", ""}, {"kubernetes", ""}, {"e2b", ""},
  };
  return places;
}

#ifndef COFFERDAM_LOCAL_PLACES_ONLY
/// The setup that tests the Python runner with a newer Python than the system's.
place newest_python_place() {
  place setup;
  setup.name = "local_newest_python";
  // The commands are the same as in "local", so their suites do not run again.
  setup.without =
      "*/command_conformance*:*/file_conformance*:*/lifetime_conformance*:*/streaming_conformance*:"
      "*/terminal_conformance*:HostileConformance*";
  setup.needs = "COFFERDAM_NEWEST_PYTHON";
  setup.runners = [] {
    const char* const program = std::getenv("COFFERDAM_NEWEST_PYTHON");
    return cofferdam::any_runner_provider(cofferdam::local().without_warning() |
                                          cofferdam::python().interpreter(program == nullptr ? "" : program));
  };
  return setup;
}

place pyodide_place() {
  place setup;
  setup.name = "pyodide";
  // Pyodide runs no commands, so the suites of commands and files do not run.
  setup.without =
      "*/command_conformance*:*/file_conformance*:*/lifetime_conformance*:*/streaming_conformance*:"
      "*/terminal_conformance*:HostileConformance*";
  // WebAssembly has no processes and no threads, so this suite does not run.
  setup.without += ":*/code_process_conformance*";
  setup.needs = "COFFERDAM_DENO";
  setup.runners = [] {
    const char* const snapshots = std::getenv("COFFERDAM_PYODIDE_SNAPSHOTS");
    return cofferdam::any_runner_provider(cofferdam::pyodide().snapshots(snapshots == nullptr ? "" : snapshots));
  };
  return setup;
}
#endif

}  // namespace

void add_runners(std::vector<place>& places) {
  using namespace cofferdam;
  for (place& each : places) {
    bool found = false;
    for (const python_place& with : python_places()) {
      if (with.name != each.name) continue;
      found = true;
      const auto provider = each.provider;
      each.runners = [provider] { return any_runner_provider(provider() | python()); };
      if (!with.without.empty()) each.without += (each.without.empty() ? "" : ":") + with.without;
    }
    if (!found) each.without += std::string(each.without.empty() ? "" : ":") + "*/code_*_conformance*";
  }
#ifndef COFFERDAM_LOCAL_PLACES_ONLY
  places.push_back(newest_python_place());
  places.push_back(pyodide_place());
#endif
}

}  // namespace cofferdam_test
