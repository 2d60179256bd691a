// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The places where the conformance suites are run. The suites are compiled once, over `any_provider`; the program runs
// itself for each place.

#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/core/any_provider.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam_test {

class place {
 public:
  std::string name;
  /// A recipe; each check opens an environment of its own.
  std::function<cofferdam::any_provider()> provider;
  /// Checks that mean nothing here, as GoogleTest's filter takes them; each with its reason beside it.
  std::string without;
  /// The requirement, as a variable of the environment; empty: none.
  std::string needs;
  /// A recipe for a runner of Python that is there; none: the checks of runners are left out.
  std::function<cofferdam::any_runner_provider()> runners = {};
};

/// One function a kind of place.
std::vector<place> local_places();
std::vector<place> docker_places();
std::vector<place> e2b_places();
/// Marks the places that run Python, and adds those that only run Python.
void add_runners(std::vector<place>& places);

/// All of them, in the order in which they are run.
inline std::vector<place> all_places() {
  std::vector<place> all = local_places();
#ifndef COFFERDAM_LOCAL_PLACES_ONLY
  for (place& each : docker_places()) all.push_back(std::move(each));
  for (place& each : e2b_places()) all.push_back(std::move(each));
#endif
  add_runners(all);
  return all;
}

/// The place of this process.
const place& this_place();

/// For the suites.
class here {
 public:
  static cofferdam::any_provider provider() { return this_place().provider(); }
};

class runner_here {
 public:
  static cofferdam::any_runner_provider provider() { return this_place().runners(); }
};

}  // namespace cofferdam_test
