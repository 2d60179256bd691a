// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>

#include "conformance/places.hpp"
#include "support/gateway_thread.hpp"

#include <cstdlib>
#include <string>
#include <utility>

namespace cofferdam_test {

namespace {

/// Returns the recipe for sandboxes of a gateway that runs in this process.
/// \param behind  the provider behind the gateway.
template <class Provider>
cofferdam::any_provider by_gateway(Provider behind, cofferdam::e2b::command_transport how) {
  using namespace cofferdam;
  static const gateway_thread gateway(std::move(behind),
                                      e2b_gateway::options().api_key("e2b_0123456789").sandboxes(100).processes(1000));
  return any_provider(e2b::from_template("base")
                          .variables_from(e2b::surroundings())
                          .api_key("e2b_0123456789")
                          .api_url(gateway.url())
                          .sandbox_url(gateway.url())
                          .by(how));
}

}  // namespace

std::vector<place> e2b_places() {
  using namespace cofferdam;
  std::vector<place> places;
  using e2b::command_transport;
  // These sandboxes have the walls of `local`, and a warden of the client within.
  places.push_back({"e2b", [] { return by_gateway(local().without_warning(), command_transport::warden); }, "", ""});
  // In the others, the daemon starts each command. Two tests cannot pass then. A shell does not report that its child
  // died by SIGINT or SIGPIPE, and sockets buffer some unread output.
  const std::string without = "*every_deadly_signal_arrives:*a_command_nobody_reads_from_waits_and_loses_nothing";
  // The client cannot find or, behind walls, cannot end a process that has left the session of its command.
  // tests/attacks/places.txt has these rows as known to fail.
  const std::string escaped = ":HostileConformance.PR_03*:HostileConformance.PR_10*";
  // In this setup, no warden ends what has escaped when the sandbox is closed, and commands may signal each other. The
  // library finds abandoned processes by their session and their environment variables.
  places.push_back(
      {"e2b_scripts",
       [] { return by_gateway(local().without_warning().warden(warden_policy::never), command_transport::daemon); },
       without + ":*file_conformance*:*what_has_left_the_session_of*" + escaped, ""});
  // In this setup, each sandbox is a Docker container. The gateway does not let a command signal another one.
  const char* const address = std::getenv("COFFERDAM_TEST_DOCKER");
  const std::string daemon = address == nullptr ? "" : address;
  places.push_back(
      {"e2b_docker",
       [daemon] {
         return by_gateway(docker::from_image("cofferdam-test/debian").daemon(docker::daemon_choice().address(daemon)),
                           command_transport::daemon);
       },
       without + ":*a_signal_reaches_the_command:HostileConformance.PR_23*" + escaped, "COFFERDAM_TEST_DOCKER"});
  return places;
}

}  // namespace cofferdam_test
