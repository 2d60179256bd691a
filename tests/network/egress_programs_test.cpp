// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Programs behind the proxy, on this machine and in a jail; tests/docker/network_programs_test.cpp has the container.

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/network/allow_hosts.hpp>
#include <cofferdam/network/egress_policy.hpp>
#include <cofferdam/network/network_event.hpp>

#include "network/egress_host.hpp"
#include "network/programs_behind_proxy.hpp"
#include "support/jail_tests.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using namespace cofferdam_test;

/// This machine, with only the variables that a command in a sandbox has. Nothing but these keeps programs from other
/// hosts.
class this_machine {
 public:
  static constexpr const char* label = "job5";
  static const char* need() { return "this machine"; }
  static bool is_here() { return true; }

  std::vector<shell_result> run(egress_policy policy, const std::vector<program_file>& files,
                                const std::vector<std::string>& lines) {
    const std::string roots = policy.trusted();
    const std::uint16_t port = host_.serve(std::move(policy));
    const std::string bundle = folder_.write("bundle.pem", roots + host_.authority_pem()).string();
    const std::string home = folder_.make_folder("home").string();
    for (const program_file& each : files) folder_.write("home/" + each.first, each.second);
    std::string words = "cd " + home + " && env -i PATH=\"$PATH\" HOME=" + home;
    const std::string proxy = std::string("http://") + label + ":x@127.0.0.1:" + std::to_string(port);
    for (const char* name : {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"})
      words += std::string(" ") + name + "=" + proxy;
    for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
                             "CURL_CA_BUNDLE", "PIP_CERT", "NPM_CONFIG_CAFILE"})
      words += std::string(" ") + name + "=" + bundle;
    words += " PYENV_VERSION=system NODE_USE_ENV_PROXY=1 GIT_CONFIG_NOSYSTEM=1 timeout 100 sh -c ";
    std::vector<shell_result> results;
    for (const std::string& line : lines) results.push_back(run_shell(words + shell_quote(line)));
    return results;
  }
  std::vector<network_event> events() { return host_.events(); }

 private:
  temporary_folder folder_;
  egress_host host_;
};

class in_a_jail {
 public:
  static constexpr const char* label = "";
  static const char* need() { return "bubblewrap"; }
  static bool is_here() { return has_jail(); }

  std::vector<shell_result> run(egress_policy policy, const std::vector<program_file>& files,
                                const std::vector<std::string>& lines) {
    policy.log([this](const network_event& event) { events_.push_back(event); });
    const jail recipe = jail().temporary_base(base_.path()).kill_grace(std::chrono::milliseconds(100));
    return run_lines(recipe | policy, files, lines);
  }
  std::vector<network_event> events() const { return events_; }

 private:
  open_folder base_;
  std::vector<network_event> events_;
};

using places = ::testing::Types<this_machine, in_a_jail>;
INSTANTIATE_TYPED_TEST_SUITE_P(Here, ProgramsBehindTheProxy, places);

}  // namespace
