// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/over.hpp>

#include "conformance/places.hpp"
#include "support/ssh_server.hpp"

#include <string>

namespace cofferdam_test {

std::vector<place> over_places() {
  using namespace cofferdam;
  std::vector<place> places;
  // The attacks run over `local`: `over` makes no wall of its own, and its warden is the same.
  const std::string hostile = "HostileConformance*";
  // The place is this machine. The program only passes bytes.
  places.push_back({"over", [] { return any_provider(over("env")); }, hostile, ""});
  // Each login takes some time. The file operations are the same as in "over", so their suite does not run again.
  places.push_back({"ssh", [] { return any_provider(over(ssh_server::shared().client_words())); },
                    hostile + ":*file_conformance*", has_ssh_server() ? "" : "COFFERDAM_SSH_SERVER"});
  return places;
}

}  // namespace cofferdam_test
