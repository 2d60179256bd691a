// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The places of the conformance suites. A place is a provider with its options. The suites are compiled once, over
// `any_provider`, and the program runs itself once for each place.

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
  /// Returns the provider; each test opens an environment of its own.
  std::function<cofferdam::any_provider()> provider;
  /// Tests that do not apply to this place, as a GoogleTest filter. The reason for each is in a comment beside the
  /// definition of the place.
  std::string without;
  /// Environment variable that must be set for this place to run; empty means none.
  std::string needs;
  /// Returns a provider of Python runners. Empty means that the tests of runners do not run at this place.
  std::function<cofferdam::any_runner_provider()> runners = {};
};

/// Returns the places of one kind of backend.
std::vector<place> local_places();
std::vector<place> over_places();
std::vector<place> docker_places();
std::vector<place> e2b_places();
std::vector<place> kubernetes_places();
/// Sets `runners` of the places that run Python, and appends places that run only Python.
void add_runners(std::vector<place>& places);

/// Returns all places, in the order in which they run.
inline std::vector<place> all_places() {
  std::vector<place> places = local_places();
  for (place& each : over_places()) places.push_back(std::move(each));
#ifndef COFFERDAM_LOCAL_PLACES_ONLY
  for (place& each : docker_places()) places.push_back(std::move(each));
  for (place& each : e2b_places()) places.push_back(std::move(each));
  for (place& each : kubernetes_places()) places.push_back(std::move(each));
#endif
  add_runners(places);
  return places;
}

/// Returns the place that this process tests.
const place& this_place();

/// The provider of this place, in the form that the suites expect.
class here {
 public:
  static cofferdam::any_provider provider() { return this_place().provider(); }
};

class runner_here {
 public:
  static cofferdam::any_runner_provider provider() { return this_place().runners(); }
};

}  // namespace cofferdam_test
