// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/pyodide.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/os/process_table.hpp>

#include "code/python_support.hpp"
#include "support/require.hpp"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

/// Skips the test if Deno is not installed. `./dev test --with deno` installs it.
#define COFFERDAM_NEEDS_DENO() \
  COFFERDAM_NEEDS("deno", std::getenv("COFFERDAM_DENO") != nullptr, "that code in Pyodide behaves, and is held")

namespace cofferdam_test {

/// Returns a Pyodide provider that starts fast, because it loads a snapshot.
inline cofferdam::pyodide fast_pyodide() {
  const char* const snapshots = std::getenv("COFFERDAM_PYODIDE_SNAPSHOTS");
  return cofferdam::pyodide().snapshots(snapshots == nullptr ? "" : snapshots);
}

/// Opens a runner and awaits `body(runner)`.
template <class Body>
void with_pyodide(cofferdam::pyodide options, Body body) {
  run([&] { return cofferdam::with(options, [&body](cofferdam::pyodide_runner& runner) { return body(runner); }); },
      std::chrono::seconds(300));
}

/// Opens a runner, runs one piece of code, and returns the result.
inline cofferdam::code_result run_pyodide(cofferdam::code_request request,
                                          cofferdam::pyodide options = fast_pyodide()) {
  cofferdam::code_result result;
  with_pyodide(std::move(options), [&](cofferdam::pyodide_runner& runner) -> cofferdam::awaitable<void> {
    cofferdam::code_result got = co_await runner.run_code(request);
    result = std::move(got);
  });
  return result;
}

/// Returns the Deno processes that descend from this process.
inline std::vector<process_entry> denos() {
  std::vector<process_entry> found;
  for (const process_entry& entry : process_table()) {
    if (entry.name != "deno" || entry.is_zombie()) continue;
    process_entry up = entry;
    while (up.pid > 1 && up.parent != ::getpid()) up = process_of(up.parent);
    if (up.pid > 1) found.push_back(entry);
  }
  return found;
}

}  // namespace cofferdam_test
