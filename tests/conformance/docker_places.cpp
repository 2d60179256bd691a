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

}  // namespace

std::vector<place> docker_places() {
  using cofferdam::docker::container_options;
  std::vector<place> all;
  const auto add = [&all](const char* name, const char* image, container_options options, const char* without = "") {
    all.push_back({name, [image, options] { return container_of(image, options); }, without, "COFFERDAM_TEST_DOCKER"});
  };
  // Nothing about files and streams depends on these.
  constexpr const char* commands_only = "*file_conformance*:*streaming_conformance*:*terminal_conformance*";
  add("docker_busybox", "cofferdam-test/busybox", container_options());
  add("docker_debian", "cofferdam-test/debian", container_options());
  // A user of the image's own, and a root that can be written to.
  add("docker_user", "cofferdam-test/user", container_options().writable_root());
  add("docker_entrypoint", "cofferdam-test/entrypoint", container_options(), commands_only);
  add("docker_root", "cofferdam-test/busybox", container_options().user("0:0"), commands_only);
  return all;
}

}  // namespace cofferdam_test
