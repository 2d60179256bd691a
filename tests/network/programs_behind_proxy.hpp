// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// Programs behind the proxy: pip, npm, git, go, node, python and curl. Each uses a host whose TLS passes through, a
// host whose TLS ends in the proxy, which adds a secret, and a host that no rule names. All servers are on the loopback
// interface, under public-looking names. The tests run in several places: on this machine, in a jail, in a container.

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/network/egress_policy.hpp>
#include <cofferdam/network/host_rule.hpp>
#include <cofferdam/network/network_event.hpp>

#include "net/certificates.hpp"
#include "net/real_server.hpp"
#include "network/egress_host.hpp"
#include "support/paths.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam_test {

/// Returns the folder of the servers that tests/network/peers.sh has installed; empty if there is none.
inline std::string registry_peers() {
  const char* const folder = std::getenv("COFFERDAM_REGISTRY_PEERS");
  return folder == nullptr ? std::string() : std::string(folder);
}

/// A file for programs: its name, and its content.
using program_file = std::pair<std::string, std::string>;

/// Runs shell lines one after another in one environment of a provider.
template <class Provider>
std::vector<shell_result> run_lines(const Provider& provider, const std::vector<program_file>& files,
                                    const std::vector<std::string>& lines) {
  std::vector<shell_result> results;
  const auto body = [&](auto& env) -> cofferdam::awaitable<void> {
    for (const program_file& each : files) co_await cofferdam::write_text(env, each.first, each.second);
    for (const std::string& line : lines) {
      const cofferdam::command c = cofferdam::shell(line);
      const cofferdam::command_result result = co_await env.run_command(c);
      shell_result& kept = results.emplace_back();
      kept.output = result.out_text() + result.err_text();
      kept.status = result.ok() ? 0 : result.exit_code() > 0 ? result.exit_code() : -1;
    }
  };
  const auto work = [&]() -> cofferdam::awaitable<void> { co_await cofferdam::with(provider, body); };
  run(work, std::chrono::seconds(240));
  return results;
}

/// Returns an event as a line of text.
inline std::string as_line(const cofferdam::network_event& event) {
  return event.label() + "|" + event.host() + "|" + std::to_string(event.port()) + "|" + event.address() + "|" +
         event.rule() + "|" + event.reason() + "\n";
}

/// \tparam Place  the place of the programs: static functions `need()`, the name of what it needs, and `is_here()`; a
///                static text `label`, which the events of its commands have; and `run(policy, files, lines)`, which
///                runs lines of `sh` where only the hosts of the policy are reached.
template <class Place>
class ProgramsBehindTheProxy : public ::testing::Test {
 protected:
  static constexpr const char* passed_host = "packages.example.org";
  static constexpr const char* intercepted_host = "private.example.org";
  static constexpr const char* refused_host = "evil.example.org";

  void SetUp() override {
    COFFERDAM_NEEDS("python3", has_python(), "programs behind the proxy");
    COFFERDAM_NEEDS(Place::need(), Place::is_here(), "programs behind the proxy in this place");
    std::vector<std::string> options{folder_.write("chain.pem", leaf_.pem()).string(),
                                     folder_.write("key.pem", leaf_.key_pem()).string(), folder_.path().string()};
    std::string python = "python3";
    if (!registry_peers().empty()) {
      options.push_back(registry_peers());
      python = registry_peers() + "/python/bin/python";
    }
    server_ = std::make_unique<real_server>(options, "tests/network/package_server.py", python);
  }

  /// Runs a line of `sh` for each of the three hosts, each time in a new folder. The first two must succeed, the third
  /// must be refused.
  /// \param program  the name of the program, which this machine may lack.
  /// \param probe    a line that succeeds if the place has the program.
  /// \param line     the line, in which HOST stands for the host.
  /// \param result   what the line prints if it has succeeded.
  /// \param refusal  what the program prints if the proxy refuses the host.
  void expect_allowed_hosts_only(const std::string& program, const std::string& probe, const std::string& line,
                                 const std::string& result, const std::string& refusal) {
    std::vector<std::string> lines{probe};
    for (const char* host : {passed_host, intercepted_host, refused_host})
      lines.push_back("mkdir " + std::string(host) + " && cd " + host + " && { " + with_host(line, host) + "; }");
    lines.emplace_back("! grep -r -q -e czNjcmV0 -e s3cret .");
    const std::vector<shell_result> found = place_.run(policy(), files_, lines);
    ASSERT_EQ(found.size(), lines.size());
    COFFERDAM_NEEDS(program, found[0].status == 0, program + " behind the proxy");
    for (const shell_result& allowed : {found[1], found[2]})
      EXPECT_TRUE(allowed.status == 0 && contains(allowed.output, result)) << allowed.status << ": " << allowed.output;
    EXPECT_TRUE(found[3].status != 0 && contains(found[3].output, refusal))
        << found[3].status << ": " << found[3].output;
    EXPECT_EQ(found[4].status, 0) << "a file contains the secret";
    std::string log;
    for (const cofferdam::network_event& each : place_.events()) log += as_line(each);
    EXPECT_TRUE(contains(log, Place::label + std::string("|") + passed_host + "|443|127.0.0.1|")) << log;
    EXPECT_TRUE(contains(log, Place::label + std::string("|") + intercepted_host + "|443|127.0.0.1|")) << log;
    EXPECT_TRUE(contains(log, "The network policy refuses evil.example.org:443: no rule names this host.")) << log;
    expect_the_secret_only_for_the_intercepted_host(found[1].output + found[2].output + found[3].output + log);
  }

  /// The policy that allows the first two hosts.
  cofferdam::egress_policy policy() {
    cofferdam::egress_policy policy;
    for (const char* host : {passed_host, intercepted_host})
      policy.allow(cofferdam::host_rule(host).at("127.0.0.1", server_->port()));
    policy.header(intercepted_host, "Authorization", cofferdam::secret_string("Basic dG9rZW46czNjcmV0LXRva2Vu"));
    policy.trust(root_.pem());
    return policy;
  }

  /// Adds a file of the source tree to the files that programs find in the parent of their folder.
  void add_file(const std::string& name) {
    files_.emplace_back(name, temporary_folder::read_host(source_path("tests/network/" + name)));
  }

  /// Makes the repository that the server offers as /repo.git.
  void make_repository() {
    const std::string work = folder_.make_folder("work").string();
    const std::string author = " -c user.name=t -c user.email=t@example.org -c init.defaultBranch=main ";
    const shell_result made =
        run_shell("cd " + work + " && git" + author + "init -q . && echo tide >file && git add file && git" + author +
                  "commit -qm one && git clone -q --bare . " + (folder_ / "repo.git").string());
    ASSERT_EQ(made.status, 0) << made.output;
  }

  static bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
  }

 private:
  static std::string with_host(std::string line, const std::string& host) {
    for (std::size_t at = line.find("HOST"); at != std::string::npos; at = line.find("HOST", at + host.size()))
      line.replace(at, 4, host);
    return line;
  }

  /// Checks that the servers have received the secret in the requests for the intercepted host, and in no other one,
  /// that no request for the refused host has arrived, and that no program has seen the secret.
  void expect_the_secret_only_for_the_intercepted_host(const std::string& seen) {
    std::ifstream requests(folder_ / "log");
    std::string line;
    int with_secret = 0;
    while (std::getline(requests, line)) {
      const bool is_intercepted = contains(line, std::string(" ") + intercepted_host + " ");
      EXPECT_EQ(line.ends_with(" secret"), is_intercepted) << line;
      EXPECT_FALSE(contains(line, refused_host)) << line;
      with_secret += is_intercepted ? 1 : 0;
    }
    EXPECT_GT(with_secret, 0) << seen;
    EXPECT_FALSE(contains(seen, "s3cret") || contains(seen, "czNjcmV0")) << seen;
  }

  certificate root_{""};
  certificate leaf_{"DNS:packages.example.org,DNS:private.example.org,DNS:evil.example.org", &root_};
  temporary_folder folder_;
  std::unique_ptr<real_server> server_;
  std::vector<program_file> files_;
  Place place_;
};

TYPED_TEST_SUITE_P(ProgramsBehindTheProxy);

TYPED_TEST_P(ProgramsBehindTheProxy, pip_installs_from_allowed_indexes_only) {
  COFFERDAM_NEEDS("registry", !registry_peers().empty(), "pip with pypiserver");
  this->expect_allowed_hosts_only(
      "pip", "python3 -m pip --version",
      "python3 -m pip install --retries 1 --target lib --index-url https://HOST/simple/ tidepool && "
      "PYTHONPATH=lib python3 -c 'import tidepool; print(\"level\", tidepool.LEVEL)'",
      "level 42", "403 Forbidden");
}

TYPED_TEST_P(ProgramsBehindTheProxy, npm_installs_from_allowed_registries_only) {
  COFFERDAM_NEEDS("registry", !registry_peers().empty(), "npm with Verdaccio");
  this->expect_allowed_hosts_only(
      "npm", "npm --version",
      "echo '{\"private\":true}' >package.json && npm install --no-audit --no-fund "
      "--fetch-retries=0 --registry https://HOST/ tidepool && cat node_modules/tidepool/index.js",
      "module.exports = 42", "403");
}

TYPED_TEST_P(ProgramsBehindTheProxy, git_clones_over_https_from_allowed_hosts_only) {
  COFFERDAM_NEEDS("git", has_program("git"), "git behind the proxy");
  this->make_repository();
  // git sends the label only if it need not wait until the proxy demands credentials.
  this->expect_allowed_hosts_only(
      "git", "git --version",
      "GIT_HTTP_PROXY_AUTHMETHOD=basic git clone -q https://HOST/repo.git here && cat here/file", "tide", "403");
}

TYPED_TEST_P(ProgramsBehindTheProxy, go_downloads_modules_from_allowed_proxies_only) {
  const std::string path = "export PATH=\"$PATH:/usr/local/go/bin\"; ";  // where Go's own archive is unpacked
  this->expect_allowed_hosts_only(
      "go", path + "go version",
      path +
          "GOTOOLCHAIN=local GOSUMDB=off GOFLAGS=-modcacherw GOPATH=$PWD GOCACHE=$PWD/cache "
          "GOPROXY=https://HOST go mod download -json go.example.org/tide@v1.0.0",
      "\"Zip\"", "Forbidden");
}

TYPED_TEST_P(ProgramsBehindTheProxy, curl_speaks_http) {
  this->expect_allowed_hosts_only(
      "curl", "curl --version", "curl -sS --fail https://HOST/hello || { curl -sS http://HOST/; exit 1; }",
      "hello from the host", "The network policy refuses evil.example.org:80: no rule names this host. Allowed: ");
}

TYPED_TEST_P(ProgramsBehindTheProxy, curl_speaks_socks) {
  this->expect_allowed_hosts_only("curl", "curl --version",
                                  "curl -sS --fail --proxy \"socks5h://${HTTPS_PROXY#http://}\" https://HOST/hello",
                                  "hello from the host", "curl: (97)");
}

TYPED_TEST_P(ProgramsBehindTheProxy, python_reads_allowed_pages_only) {
  this->expect_allowed_hosts_only(
      "python3", "python3 --version",
      "python3 -c 'import urllib.request; print(urllib.request.urlopen(\"https://HOST/hello\").read())'",
      "hello from the host", "403 Forbidden");
}

TYPED_TEST_P(ProgramsBehindTheProxy, node_reads_allowed_pages_only) {
  this->add_file("node_client.mjs");
  this->expect_allowed_hosts_only("node", "node --version", "node ../node_client.mjs HOST", "hello from the host",
                                  "403");
}

TYPED_TEST_P(ProgramsBehindTheProxy, a_websocket_reaches_allowed_hosts_only) {
  COFFERDAM_NEEDS("registry", !registry_peers().empty(), "a client and a server of WebSockets");
  this->add_file("websocket_client.py");
  // The first line installs the client, as a program in the place would.
  this->expect_allowed_hosts_only(
      "pip", "python3 -m pip install --target lib --index-url https://packages.example.org/simple/ websockets",
      "PYTHONPATH=../lib python3 ../websocket_client.py HOST", "echo: tide", "HTTP 403");
}

REGISTER_TYPED_TEST_SUITE_P(ProgramsBehindTheProxy, pip_installs_from_allowed_indexes_only,
                            npm_installs_from_allowed_registries_only, git_clones_over_https_from_allowed_hosts_only,
                            go_downloads_modules_from_allowed_proxies_only, curl_speaks_http, curl_speaks_socks,
                            python_reads_allowed_pages_only, node_reads_allowed_pages_only,
                            a_websocket_reaches_allowed_hosts_only);

}  // namespace cofferdam_test
