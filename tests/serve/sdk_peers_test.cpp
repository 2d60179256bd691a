// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Runs E2B's official SDKs, unmodified, against the gateway over local folders. serve/sdk/peers.sh installs the SDKs
// into a folder, and COFFERDAM_E2B_PEERS names that folder.

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>

#include "support/jail_tests.hpp"
#include "support/paths.hpp"
#include "support/require.hpp"

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;

std::string peers() {
  const char* const folder = std::getenv("COFFERDAM_E2B_PEERS");
  return folder == nullptr ? std::string() : std::string(folder);
}

/// Runs a shell line on this machine while the gateway runs, and returns the lines of its output.
std::vector<std::string> lines_of(const std::string& line) {
  std::FILE* const pipe = ::popen((line + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen failed");
  std::string text;
  char piece[4096];
  for (;;) {
    const std::size_t got = std::fread(piece, 1, sizeof piece, pipe);
    if (got == 0) break;
    text.append(piece, got);
  }
  ::pclose(pipe);
  std::vector<std::string> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.erase(0, lines.back().size() + 1);
  }
  return lines;
}

/// Runs a script against a gateway of its own, and expects `least` checks, all of them good.
/// \param places  the recipe of its sandboxes.
void run_script(const std::string& words, std::size_t least, e2b_gateway::options options = e2b_gateway::options(),
                const any_provider& places = any_provider(local().without_warning())) {
  constexpr std::string_view key = "e2b_00112233445566778899aabbccddeeff00112233";
  asio::io_context context(1);
  e2b_gateway::server gateway(context.get_executor(), places, options.api_key(std::string(key)));
  listener where = tcp_listener(context.get_executor(), "127.0.0.1", 0);
  const std::string url = "http://127.0.0.1:" + std::to_string(where.port());
  std::exception_ptr failure;
  const auto ended = [&](std::exception_ptr why) { failure = std::move(why); };
  asio::co_spawn(context, gateway.serve(std::move(where)), ended);
  std::thread serving([&] { context.run(); });
  const std::vector<std::string> lines =
      lines_of("env -u E2B_DOMAIN -u E2B_DEBUG E2B_API_URL=" + url + " E2B_SANDBOX_URL=" + url +
               " E2B_API_KEY=" + std::string(key) + " timeout 300 " + words);
  asio::co_spawn(context, gateway.stop(), [](std::exception_ptr) {});
  serving.join();
  std::size_t good = 0;
  for (const std::string& line : lines) {
    const bool is_good = line.starts_with("ok ");
    if (is_good) ++good;
    EXPECT_TRUE(is_good || line == "all passed") << line;
  }
  EXPECT_GE(good, least);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(), "all passed");
  if (failure) std::rethrow_exception(failure);
}

std::string script(const std::string& name) { return cofferdam_test::source_path("tests/serve/sdk/" + name); }

TEST(E2bSdk, the_official_javascript_sdk_is_served) {
  COFFERDAM_NEEDS("e2b-peers", !peers().empty(), "what E2B's own SDKs say to the gateway");
  run_script("'" + peers() + "/node' '" + script("sdk_test.mjs") + "' '" + peers() + "/js'", 37);
}

TEST(E2bSdk, the_official_javascript_sdk_of_the_older_dialect_is_served) {
  COFFERDAM_NEEDS("e2b-peers", !peers().empty(), "what E2B's own SDKs say to the gateway");
  run_script("'" + peers() + "/node' '" + script("sdk_test.mjs") + "' '" + peers() + "/js_old'", 37);
}

TEST(E2bSdk, the_official_javascript_sdk_of_the_code_interpreter_is_served) {
  COFFERDAM_NEEDS("e2b-peers", !peers().empty(), "what E2B's own SDKs say to the gateway");
  run_script("'" + peers() + "/node' '" + script("interpreter_test.mjs") + "' '" + peers() + "/js'", 19,
             e2b_gateway::options().port(e2b_gateway::code_interpreter::usual_port, e2b_gateway::code_interpreter()));
}

TEST(E2bSdk, the_official_python_sdk_is_served) {
  COFFERDAM_NEEDS("e2b-peers", !peers().empty(), "what E2B's own SDKs say to the gateway");
  run_script("'" + peers() + "/python/bin/python' '" + script("sdk_test.py") + "'", 22);
}

/// The place that clients expect: their home is the workspace, for files and for commands.
any_provider jails() { return any_provider(jail().workspace_path("/home/user")); }

#define COFFERDAM_NEEDS_JAIL_AND_PEERS()                                                               \
  COFFERDAM_NEEDS("e2b-peers", !peers().empty(), "what E2B's own SDKs say to the gateway over jails"); \
  COFFERDAM_NEEDS("bubblewrap", cofferdam_test::has_jail(), "the gateway over jails")

TEST(E2bSdk, the_official_javascript_sdk_is_served_over_jails) {
  COFFERDAM_NEEDS_JAIL_AND_PEERS();
  run_script("'" + peers() + "/node' '" + script("sdk_test.mjs") + "' '" + peers() + "/js'", 37, e2b_gateway::options(),
             jails());
}

TEST(E2bSdk, the_official_javascript_sdk_of_the_code_interpreter_is_served_over_jails) {
  COFFERDAM_NEEDS_JAIL_AND_PEERS();
  run_script("'" + peers() + "/node' '" + script("interpreter_test.mjs") + "' '" + peers() + "/js'", 19,
             e2b_gateway::options().port(e2b_gateway::code_interpreter::usual_port, e2b_gateway::code_interpreter()),
             jails());
}

TEST(E2bSdk, the_official_python_sdk_is_served_over_jails) {
  COFFERDAM_NEEDS_JAIL_AND_PEERS();
  run_script("'" + peers() + "/python/bin/python' '" + script("sdk_test.py") + "'", 22, e2b_gateway::options(),
             jails());
}

}  // namespace
