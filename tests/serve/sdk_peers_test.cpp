// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// E2B's official SDKs against the gateway over local folders and jails.

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>

#include "serve/sdk_support.hpp"
#include "support/jail_tests.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>

namespace {

using namespace cofferdam;

/// Calls `run_sdk_script`, over local folders unless `places` names another recipe.
void run_script(const std::string& words, std::size_t least, e2b_gateway::options options = e2b_gateway::options(),
                const any_provider& places = any_provider(local().without_warning())) {
  cofferdam_test::run_sdk_script(words, least, std::move(options), places);
}

std::string script(const std::string& name) { return cofferdam_test::sdk_script(name); }
std::string peers() { return cofferdam_test::sdk_peers(); }

TEST(E2bSdk, the_official_javascript_sdk_is_served) {
  COFFERDAM_NEEDS("e2b-peers", !peers().empty(), "what E2B's own SDKs say to the gateway");
  run_script("'" + peers() + "/node' '" + script("sdk_test.mjs") + "' '" + peers() + "/js'", 38);
}

TEST(E2bSdk, the_official_javascript_sdk_of_the_older_dialect_is_served) {
  COFFERDAM_NEEDS("e2b-peers", !peers().empty(), "what E2B's own SDKs say to the gateway");
  run_script("'" + peers() + "/node' '" + script("sdk_test.mjs") + "' '" + peers() + "/js_old'", 38);
}

TEST(E2bSdk, the_official_javascript_sdk_of_the_code_interpreter_is_served) {
  COFFERDAM_NEEDS("e2b-peers", !peers().empty(), "what E2B's own SDKs say to the gateway");
  run_script("'" + peers() + "/node' '" + script("interpreter_test.mjs") + "' '" + peers() + "/js'", 23,
             e2b_gateway::options().port(e2b_gateway::code_interpreter::usual_port, e2b_gateway::code_interpreter()));
}

TEST(E2bSdk, the_official_python_sdk_is_served) {
  COFFERDAM_NEEDS("e2b-peers", !peers().empty(), "what E2B's own SDKs say to the gateway");
  run_script("'" + peers() + "/python/bin/python' '" + script("sdk_test.py") + "'", 23);
}

/// The place that clients expect: their home is the workspace, for files and for commands.
any_provider jails() { return any_provider(jail().workspace_path("/home/user")); }

#define COFFERDAM_NEEDS_JAIL_AND_PEERS()                                                               \
  COFFERDAM_NEEDS("e2b-peers", !peers().empty(), "what E2B's own SDKs say to the gateway over jails"); \
  COFFERDAM_NEEDS("bubblewrap", cofferdam_test::has_jail(), "the gateway over jails")

TEST(E2bSdk, the_official_javascript_sdk_is_served_over_jails) {
  COFFERDAM_NEEDS_JAIL_AND_PEERS();
  run_script(
      "env COFFERDAM_GATEWAY_WALLS=1 '" + peers() + "/node' '" + script("sdk_test.mjs") + "' '" + peers() + "/js'", 38,
      e2b_gateway::options(), jails());
}

TEST(E2bSdk, the_official_javascript_sdk_of_the_code_interpreter_is_served_over_jails) {
  COFFERDAM_NEEDS_JAIL_AND_PEERS();
  run_script("'" + peers() + "/node' '" + script("interpreter_test.mjs") + "' '" + peers() + "/js'", 23,
             e2b_gateway::options().port(e2b_gateway::code_interpreter::usual_port, e2b_gateway::code_interpreter()),
             jails());
}

TEST(E2bSdk, the_official_python_sdk_is_served_over_jails) {
  COFFERDAM_NEEDS_JAIL_AND_PEERS();
  run_script("env COFFERDAM_GATEWAY_WALLS=1 '" + peers() + "/python/bin/python' '" + script("sdk_test.py") + "'", 23,
             e2b_gateway::options(), jails());
}

}  // namespace
