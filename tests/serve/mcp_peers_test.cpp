// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Runs MCP's official clients, Inspector and conformance suite, all unmodified, against `cofferdam-mcp`. The suite also
// needs a server with special tools, which is everything_server. serve/mcp/peers.sh installs the programs into a
// folder, and COFFERDAM_MCP_PEERS names that folder. COFFERDAM_MCP_PROGRAM and COFFERDAM_MCP_EVERYTHING are the paths
// of the two servers.

#include "support/jail_tests.hpp"
#include "support/paths.hpp"
#include "support/require.hpp"
#include "support/run_shell.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace mcp_peers_test {

std::string named_by(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? std::string() : std::string(value);
}

std::string peers() { return named_by("COFFERDAM_MCP_PEERS"); }

std::string quoted(const std::string& word) { return "'" + word + "' "; }

std::string script(const std::string& name) { return quoted(cofferdam_test::source_path("tests/serve/mcp/" + name)); }

/// Runs a script. Expects at least `least` successful checks, and no failed one.
void run_peer(const std::string& line, std::size_t least) {
  const std::vector<std::string> lines =
      cofferdam_test::lines_of(cofferdam_test::run_shell("timeout 300 " + line).output);
  std::size_t good = 0;
  for (const std::string& printed : lines) {
    const bool is_good = printed.starts_with("ok ");
    if (is_good) ++good;
    if (printed.starts_with("note ")) {
      std::printf("%s\n", printed.c_str());
    } else {
      EXPECT_TRUE(is_good || printed == "all passed") << printed;
    }
  }
  EXPECT_GE(good, least);
  ASSERT_FALSE(lines.empty()) << line;
  EXPECT_EQ(lines.back(), "all passed");
}

std::string with_node() { return quoted(peers() + "/node"); }
std::string with_python() { return quoted(peers() + "/python/bin/python"); }
std::string with_old_python() { return quoted(peers() + "/python_old/bin/python"); }
std::string local_server() { return quoted(COFFERDAM_MCP_PROGRAM) + "--provider local"; }

void run_typescript(const std::string& how, std::size_t least) {
  run_peer(with_node() + script("client.mjs") + quoted(peers()) + how + " " + local_server(), least);
}

/// Runs MCP's Inspector against `cofferdam-mcp`.
/// \param variables  shell assignments before the command, or empty.
/// \param what       arguments of inspector.py: the expected tools and protocol versions.
/// \param options    options of the server.
/// \param least      the least number of successful checks.
void run_inspector(const std::string& variables, const std::string& what, const std::string& options,
                   std::size_t least) {
  const std::string server = quoted(COFFERDAM_MCP_PROGRAM) + options;
  run_peer(variables + with_python() + script("inspector.py") + quoted(peers()) + what + " " + server, least);
}

void run_conformance(const std::string& version, std::size_t least) {
  run_peer(
      with_python() + script("conformance.py") + quoted(peers()) + version + " " + quoted(COFFERDAM_MCP_EVERYTHING),
      least);
}

#define COFFERDAM_NEEDS_MCP_PEERS() \
  COFFERDAM_NEEDS("mcp-peers", !peers().empty(), "what MCP's own clients and its conformance suite say to the server")

TEST(McpPeers, the_typescript_sdk_of_most_hosts_is_served_over_stdio) {
  COFFERDAM_NEEDS_MCP_PEERS();
  run_typescript("v1 stdio", 20);
}

TEST(McpPeers, the_typescript_sdk_of_most_hosts_is_served_over_http) {
  COFFERDAM_NEEDS_MCP_PEERS();
  run_typescript("v1 http", 23);
}

TEST(McpPeers, the_newer_typescript_sdk_is_served_as_it_comes) {
  COFFERDAM_NEEDS_MCP_PEERS();
  run_typescript("v2 stdio", 20);
}

TEST(McpPeers, the_newer_typescript_sdk_finds_out_the_era_over_stdio) {
  COFFERDAM_NEEDS_MCP_PEERS();
  run_typescript("auto stdio", 17);
}

TEST(McpPeers, the_newer_typescript_sdk_is_served_without_sessions_over_http) {
  COFFERDAM_NEEDS_MCP_PEERS();
  run_typescript("modern http", 19);
}

// Feature: J1
TEST(McpPeers, the_python_sdk_of_most_hosts_is_served_over_stdio_and_http) {
  COFFERDAM_NEEDS_MCP_PEERS();
  run_peer(with_old_python() + script("client.py") + "v1 stdio " + local_server(), 12);
  run_peer(with_old_python() + script("client.py") + "v1 http " + local_server(), 13);
}

TEST(McpPeers, the_newer_python_sdk_is_served_over_stdio_and_http) {
  COFFERDAM_NEEDS_MCP_PEERS();
  run_peer(with_python() + script("client.py") + "legacy http " + local_server(), 13);
  run_peer(with_python() + script("client.py") + "auto stdio " + local_server(), 12);
  run_peer(with_python() + script("client.py") + "modern http " + local_server(), 13);
}

TEST(McpPeers, the_inspector_calls_local_tools_and_finds_their_schemas_portable) {
  COFFERDAM_NEEDS_MCP_PEERS();
  run_inspector("", "code_exec,run_python legacy,modern", "--provider local", 6);
}

// Without an option the server's place is the jail.
TEST(McpPeers, the_official_clients_are_served_by_the_jail) {
  COFFERDAM_NEEDS_MCP_PEERS();
  COFFERDAM_NEEDS("bubblewrap", cofferdam_test::has_jail(), "the walls of the jail");
  const std::string server = quoted(COFFERDAM_MCP_PROGRAM);
  for (const char* const how : {"v1 stdio ", "v1 http "})
    run_peer(with_node() + script("client.mjs") + quoted(peers()) + how + server, 20);
  run_peer(with_old_python() + script("client.py") + "v1 stdio " + server, 12);
  run_peer(with_python() + script("client.py") + "modern http " + server, 13);
  run_inspector("", "code_exec,run_python legacy,modern", "", 6);
}

TEST(McpPeers, the_inspector_calls_tools_in_containers) {
  COFFERDAM_NEEDS_MCP_PEERS();
  const std::string daemon = named_by("COFFERDAM_TEST_DOCKER");
  COFFERDAM_NEEDS("docker", !daemon.empty(), "what the Inspector says of tools in containers");
  run_inspector("env DOCKER_HOST=" + quoted(daemon), "code_exec,run_python legacy",
                "--provider docker:cofferdam-test/debian", 3);
}

TEST(McpPeers, the_inspector_calls_python_in_pyodide) {
  COFFERDAM_NEEDS_MCP_PEERS();
  COFFERDAM_NEEDS("deno", !named_by("COFFERDAM_DENO").empty(), "what the Inspector says of Python in Pyodide");
  run_inspector("", "run_python legacy", "--provider pyodide", 2);
}

TEST(McpPeers, the_conformance_suite_finds_no_fault_with_the_client) {
  COFFERDAM_NEEDS_MCP_PEERS();
  run_peer(with_python() + script("client_conformance.py") + quoted(peers()) + quoted(COFFERDAM_MCP_CONFORMANCE_CLIENT),
           60);
}

/// Runs code that calls tools of MCP's reference servers, in a place.
void run_code_mode(const std::string& variables, const std::string& options) {
  const std::string server = quoted(COFFERDAM_MCP_PROGRAM) + options;
  run_peer(variables + with_python() + script("code_mode.py") + quoted(peers()) + server, 8);
}

TEST(McpPeers, code_calls_tools_of_the_reference_servers) {
  COFFERDAM_NEEDS_MCP_PEERS();
  run_code_mode("", "--provider local");
}

TEST(McpPeers, code_in_a_jail_calls_tools_of_the_reference_servers) {
  COFFERDAM_NEEDS_MCP_PEERS();
  COFFERDAM_NEEDS("bubblewrap", cofferdam_test::has_jail(), "that code in the jail reaches tools outside of it");
  run_code_mode("", "--provider jail");
}

TEST(McpPeers, code_in_a_container_calls_tools_of_the_reference_servers) {
  COFFERDAM_NEEDS_MCP_PEERS();
  const std::string daemon = named_by("COFFERDAM_TEST_DOCKER");
  COFFERDAM_NEEDS("docker", !daemon.empty(), "that code in a container reaches tools outside of it");
  run_code_mode("env DOCKER_HOST=" + quoted(daemon), "--provider docker:cofferdam-test/debian");
}

TEST(McpPeers, code_in_pyodide_calls_tools_of_the_reference_servers) {
  COFFERDAM_NEEDS_MCP_PEERS();
  COFFERDAM_NEEDS("deno", !named_by("COFFERDAM_DENO").empty(), "that code in Pyodide reaches tools outside of it");
  run_code_mode("", "--provider pyodide");
}

TEST(McpPeers, the_conformance_suite_finds_no_fault_with_2025_11_25) {
  COFFERDAM_NEEDS_MCP_PEERS();
  run_conformance("2025-11-25", 84);
}

TEST(McpPeers, the_conformance_suite_finds_no_fault_with_2026_07_28) {
  COFFERDAM_NEEDS_MCP_PEERS();
  run_conformance("2026-07-28", 138);
}

}  // namespace mcp_peers_test
