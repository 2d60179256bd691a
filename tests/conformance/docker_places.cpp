// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/docker.hpp>

#include "conformance/places.hpp"

#include <cstdlib>
#include <string>

namespace cofferdam_test {

namespace {

cofferdam::any_provider container_of(const char* image, cofferdam::docker::container_options options) {
  using namespace cofferdam;
  const char* const address = std::getenv("COFFERDAM_TEST_DOCKER");
  return any_provider(docker::from_image(image)
                          .options(std::move(options))
                          .daemon(docker::daemon_choice().address(address == nullptr ? "" : address)));
}

cofferdam::any_provider by(cofferdam::docker::command_transport how, const char* image) {
  using namespace cofferdam;
  const char* const address = std::getenv("COFFERDAM_TEST_DOCKER");
  return any_provider(
      docker::from_image(image).by(how).daemon(docker::daemon_choice().address(address == nullptr ? "" : address)));
}

}  // namespace

std::vector<place> docker_places() {
  using cofferdam::docker::command_transport;
  using cofferdam::docker::container_options;
  std::vector<place> places;
  const auto add = [&places](const char* name, const char* image, container_options options,
                             const std::string& without) {
    places.push_back(
        {name, [image, options] { return container_of(image, options); }, without, "COFFERDAM_TEST_DOCKER"});
  };
  // The attacks run at "docker_debian" only: the processes of the other containers end in the same way.
  const std::string hostile = "HostileConformance*";
  // The options of the containers below affect neither files nor streams, so only the suites of commands run.
  const std::string commands_only = hostile + ":*file_conformance*:*streaming_conformance*:*terminal_conformance*";
  add("docker_busybox", "cofferdam-test/busybox", container_options(), hostile);
  add("docker_debian", "cofferdam-test/debian", container_options(), "");
  // The image defines a user, and the root file system is writable.
  add("docker_user", "cofferdam-test/user", container_options().writable_root(),
      hostile + ":*streaming_conformance*:*terminal_conformance*");
  // The way to reach the warden (the helper program in the container) that is used if the daemon runs on another
  // machine. The image has an entry point, which must not start.
  places.push_back({"docker_attached", [] { return by(command_transport::attached, "cofferdam-test/entrypoint"); },
                    hostile, "COFFERDAM_TEST_DOCKER"});
  add("docker_root", "cofferdam-test/busybox", container_options().user("0:0"), commands_only);
  // Two tests cannot pass with the transport `exec`. A shell does not report that its child died by SIGINT or SIGPIPE,
  // and the daemon buffers 1 MiB of unread output.
  const std::string by_no_exec =
      hostile + ":*every_deadly_signal_arrives:*a_command_nobody_reads_from_waits_and_loses_nothing";
  places.push_back({"docker_exec", [] { return by(command_transport::exec, "cofferdam-test/debian"); }, by_no_exec,
                    "COFFERDAM_TEST_DOCKER"});
  // One more test cannot pass, because the shell of BusyBox runs an invalid program file as a script.
  places.push_back({"docker_exec_busybox", [] { return by(command_transport::exec, "cofferdam-test/busybox"); },
                    by_no_exec + ":*what_cannot_be_executed_says_why:" + commands_only, "COFFERDAM_TEST_DOCKER"});
  return places;
}

}  // namespace cofferdam_test
