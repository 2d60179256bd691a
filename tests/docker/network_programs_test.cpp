// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/network/allow_hosts.hpp>
#include <cofferdam/network/egress_policy.hpp>
#include <cofferdam/network/network_event.hpp>

#include "docker/docker_support.hpp"
#include "network/egress_host.hpp"
#include "network/programs_behind_proxy.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

// Programs behind the proxy in a container without a network.

namespace cofferdam_test {
namespace {

/// A container that shows the programs of this machine, so that no image with pip, npm, go and git must be made. The
/// image has no certificates of authorities.
class in_a_container {
 public:
  static constexpr const char* label = "";
  static const char* need() { return "docker"; }
  static bool is_here() { return !docker_address().empty(); }

  std::vector<shell_result> run(cofferdam::egress_policy policy, const std::vector<program_file>& files,
                                const std::vector<std::string>& lines) {
    policy.log([this](const cofferdam::network_event& event) { events_.push_back(event); });
    cofferdam::docker::container_options options;
    options.add(cofferdam::docker::mount::bind("/usr", "/usr").read_only());
    return run_lines(test_image("debian", options) | policy, files, lines);
  }
  std::vector<cofferdam::network_event> events() const { return events_; }

 private:
  std::vector<cofferdam::network_event> events_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Container, ProgramsBehindTheProxy, in_a_container);

}  // namespace
}  // namespace cofferdam_test
