// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/middleware/limit_output.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/middleware/variables.hpp>

#include "conformance/places.hpp"
#include "support/far_provider.hpp"

#include <chrono>

namespace cofferdam_test {

std::vector<place> local_places() {
  using namespace cofferdam;
  std::vector<place> all;
  all.push_back({"local", [] { return any_provider(local().without_warning()); }, "", ""});
  all.push_back({"frames", [] { return any_provider(far_provider()); }, "", ""});
  // Every layer that changes nothing here: no operation is lost on the way, and none goes round.
  all.push_back({"layers",
                 [] {
                   return any_provider(any_provider(local().without_warning()) | limit_output(1024 * 1024) |
                                       timeout(std::chrono::minutes(10)) | variables("COFFERDAM_TEST", "1"));
                 },
                 "", ""});
  // Its files are those of "local".
  all.push_back({"without_warden", [] { return any_provider(local().without_warning().warden(warden_policy::never)); },
                 "*file_conformance*", ""});
  return all;
}

}  // namespace cofferdam_test
