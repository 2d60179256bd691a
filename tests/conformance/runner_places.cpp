// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>

#include "conformance/places.hpp"

#ifndef COFFERDAM_LOCAL_PLACES_ONLY
#include <cofferdam/code/e2b_interpreter.hpp>
#include <cofferdam/code/pyodide.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>

#include "support/gateway_thread.hpp"
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
/// The suites of environments, which do not run at a place that only runs code.
const char* const environments =
    "*/command_conformance*:*/file_conformance*:*/lifetime_conformance*:*/streaming_conformance*:"
    "*/terminal_conformance*:HostileConformance*";

/// The setup that tests the Python runner with a newer Python than the system's.
place newest_python_place() {
  place setup;
  setup.name = "local_newest_python";
  // The commands are the same as in "local", so their suites do not run again.
  setup.without = environments;
  setup.needs = "COFFERDAM_NEWEST_PYTHON";
  setup.runners = [] {
    const char* const program = std::getenv("COFFERDAM_NEWEST_PYTHON");
    return cofferdam::any_runner_provider(cofferdam::local().without_warning() |
                                          cofferdam::python().interpreter(program == nullptr ? "" : program));
  };
  return setup;
}

/// The code interpreter of a gateway, by the client for E2B's.
place e2b_interpreter_place() {
  place setup;
  setup.name = "e2b_interpreter";
  setup.without = environments;
  // The service cannot call functions of the program, so there are neither these nor final values.
  setup.without += ":*/code_function_conformance*:*.a_final_value*";
  // It sends output as text, keeps a part of a large one, and sends it once a listener can no longer act on it.
  setup.without +=
      ":*.bytes_that_are_no_text_are_kept:*.a_hundred_megabytes*:*.a_cancelled_run_is_ended_and_its_output*";
  // A kernel goes on after its cell: it does not end with the code, and threads of the code go on.
  setup.without += ":*.the_end_of_the_program_is_heard:*.an_end_without_ceremony*:*.threads_are_waited_for";
  setup.without += ":*.one_that_will_not_be_interrupted_is_lost*";
  // The value is read by a cell that prints it, so it is lost if the code has closed its standard output.
  setup.without += ":*.streams_that_a_run_has_closed*";
  // The service does not list the files of a run.
  setup.without += ":*.new_and_changed_files_are_told*:*.files_of_a_run_that_failed*:*.odd_names_are_told*";
  setup.runners = [] {
    using namespace cofferdam;
    static const gateway_thread gateway(local().without_warning(), e2b_gateway::options()
                                                                       .api_key("e2b_0123456789")
                                                                       .sandboxes(100)
                                                                       .processes(1000)
                                                                       .port(e2b_gateway::code_interpreter::usual_port,
                                                                             e2b_gateway::code_interpreter()));
    return any_runner_provider(e2b::from_template("code-interpreter-v1")
                                   .variables_from(e2b::surroundings())
                                   .api_key("e2b_0123456789")
                                   .api_url(gateway.url())
                                   .sandbox_url(gateway.url()) |
                               e2b_interpreter());
  };
  return setup;
}

place pyodide_place() {
  place setup;
  setup.name = "pyodide";
  setup.without = environments;
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
  places.push_back(e2b_interpreter_place());
#endif
}

}  // namespace cofferdam_test
