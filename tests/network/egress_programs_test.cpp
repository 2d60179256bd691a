// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Programs of this machine behind the proxy: pip, npm, git, go, node, python and curl. Each uses a host whose TLS
// passes through, and a host whose TLS ends in the proxy, which adds a secret. All servers are on the loopback
// interface, under public-looking names.

#include <cofferdam/network/egress_proxy.hpp>

#include "net/real_server.hpp"
#include "network/egress_host.hpp"
#include "support/paths.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace {

using cofferdam::egress_policy;
using cofferdam::host_rule;
using cofferdam::secret_string;
using cofferdam_test::certificate;
using cofferdam_test::has_program;
using cofferdam_test::run_shell;
using cofferdam_test::shell_result;
using namespace std::string_literals;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

class EgressPrograms : public testing::Test {
 protected:
  static constexpr const char* secret = "Basic dG9rZW46czNjcmV0LXRva2Vu";

  void SetUp() override {
    COFFERDAM_NEEDS("python3", cofferdam_test::has_python(), "programs behind the proxy");
    const std::string chain = folder_.write("chain.pem", leaf_.pem()).string();
    const std::string key = folder_.write("key.pem", leaf_.key_pem()).string();
    server_ = std::make_unique<cofferdam_test::real_server>(
        std::vector<std::string>{chain, key, folder_.path().string()}, "tests/network/package_server.py");
    egress_policy policy;
    policy.allow(host_rule("packages.example.org").at("127.0.0.1", server_->port()));
    policy.allow(host_rule("private.example.org").at("127.0.0.1", server_->port()));
    policy.header("private.example.org", "Authorization", secret_string(secret)).trust(root_.pem());
    proxy_ = host_.serve(std::move(policy));
    bundle_ = folder_.write("bundle.pem", root_.pem() + host_.authority_pem()).string();
    folder_.make_folder("home");
  }

  /// Runs a shell line with only the variables that a command in a sandbox has.
  shell_result run(const std::string& line) {
    const std::string proxy = "http://job5:x@127.0.0.1:" + std::to_string(proxy_);
    std::string words =
        "cd " + (folder_ / "home").string() + " && env -i PATH=\"$PATH\" HOME=" + (folder_ / "home").string();
    for (const char* name : {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"})
      words += " "s + name + "=" + proxy;
    for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
                             "CURL_CA_BUNDLE", "PIP_CERT", "CARGO_HTTP_CAINFO"})
      words += " "s + name + "=" + bundle_;
    words +=
        " PYENV_VERSION=system NODE_USE_ENV_PROXY=1 GIT_CONFIG_NOSYSTEM=1 npm_config_globalconfig=/dev/null timeout "
        "100 sh -c '" +
        line + "'";
    return run_shell(words);
  }
  std::string requests() {
    std::ifstream file(folder_ / "log");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  /// Checks that the requests to the private host had the secret, that no other request had it, and that no program
  /// has seen it.
  void expect_the_secret_only_for_the_private_host(const std::string& output) {
    std::string line;
    std::ifstream file(folder_ / "log");
    int with_secret = 0;
    while (std::getline(file, line)) {
      const bool is_private = contains(line, " private.example.org ");
      EXPECT_EQ(line.ends_with(" secret"), is_private) << line;
      with_secret += is_private ? 1 : 0;
    }
    EXPECT_GT(with_secret, 0) << output;
    EXPECT_FALSE(contains(output, "s3cret") || contains(output, "czNjcmV0")) << output;
    EXPECT_TRUE(contains(host_.log(), "job5|")) << host_.log();
    EXPECT_FALSE(contains(host_.log(), "czNjcmV0")) << host_.log();
    EXPECT_NE(run_shell("grep -r -e czNjcmV0 -e s3cret " + (folder_ / "home").string()).status, 0);
  }

  certificate root_{""};
  certificate leaf_{"DNS:packages.example.org,DNS:private.example.org,DNS:evil.example.org", &root_};
  cofferdam_test::temporary_folder folder_;
  cofferdam_test::egress_host host_;
  std::unique_ptr<cofferdam_test::real_server> server_;
  std::uint16_t proxy_ = 0;
  std::string bundle_;
};

TEST_F(EgressPrograms, pip_installs_from_allowed_indexes_only) {
  COFFERDAM_NEEDS("pip", run("python3 -m pip --version").status == 0, "pip behind the proxy");
  const auto pip = [&](const std::string& host, const std::string& into) {
    return run("python3 -m pip install --disable-pip-version-check --no-cache-dir --retries 1 --no-deps --target " +
               into + " --index-url https://" + host + "/simple/ tidepool && PYTHONPATH=" + into +
               " python3 -c \"import tidepool; print(tidepool.LEVEL)\"");
  };
  const shell_result open = pip("packages.example.org", "a");
  EXPECT_TRUE(open.status == 0 && contains(open.output, "42")) << open.output;
  const shell_result closed = pip("private.example.org", "b");
  EXPECT_TRUE(closed.status == 0 && contains(closed.output, "42")) << closed.output;
  const shell_result evil = pip("evil.example.org", "c");
  EXPECT_NE(evil.status, 0);
  EXPECT_TRUE(contains(evil.output, "403 Forbidden")) << evil.output;
  EXPECT_TRUE(contains(host_.log(), "The network policy refuses evil.example.org:443: no rule names this host."))
      << host_.log();
  expect_the_secret_only_for_the_private_host(open.output + closed.output + evil.output);
}

TEST_F(EgressPrograms, npm_installs_from_allowed_registries_only) {
  COFFERDAM_NEEDS("npm", has_program("npm"), "npm behind the proxy");
  const auto npm = [&](const std::string& host) {
    return run(
        "rm -rf node_modules package*.json; npm install --no-audit --no-fund --no-update-notifier "
        "--fetch-retries=0 --cache ./cache --registry https://" +
        host + "/ tidepool && cat node_modules/tidepool/index.js");
  };
  const shell_result open = npm("packages.example.org");
  EXPECT_TRUE(open.status == 0 && contains(open.output, "42")) << open.output;
  const shell_result closed = npm("private.example.org");
  EXPECT_TRUE(closed.status == 0 && contains(closed.output, "42")) << closed.output;
  const shell_result evil = npm("evil.example.org");
  EXPECT_NE(evil.status, 0) << evil.output;
  expect_the_secret_only_for_the_private_host(open.output + closed.output + evil.output);
}

TEST_F(EgressPrograms, git_clones_over_https_from_allowed_hosts_only) {
  COFFERDAM_NEEDS("git", has_program("git"), "git behind the proxy");
  const std::string work = folder_.make_folder("work").string();
  const std::string author = " -c user.name=t -c user.email=t@example.org -c init.defaultBranch=main ";
  const shell_result made =
      run_shell("cd " + work + " && git" + author + "init -q . && echo tide > file && git add file && git" + author +
                "commit -qm one && git clone -q --bare . " + (folder_ / "repo.git").string() + " && cd " +
                (folder_ / "repo.git").string() + " && git update-server-info");
  ASSERT_EQ(made.status, 0) << made.output;
  const auto clone = [&](const std::string& host, const std::string& into) {
    // git sends the label only if it need not wait until the proxy demands credentials.
    return run("GIT_HTTP_PROXY_AUTHMETHOD=basic git clone -q https://" + host + "/repo.git " + into + " && cat " +
               into + "/file");
  };
  const shell_result open = clone("packages.example.org", "a");
  EXPECT_TRUE(open.status == 0 && contains(open.output, "tide")) << open.output;
  const shell_result closed = clone("private.example.org", "b");
  EXPECT_TRUE(closed.status == 0 && contains(closed.output, "tide")) << closed.output;
  const shell_result evil = clone("evil.example.org", "c");
  EXPECT_TRUE(evil.status != 0 && contains(evil.output, "403")) << evil.output;
  expect_the_secret_only_for_the_private_host(open.output + closed.output + evil.output);
}

TEST_F(EgressPrograms, go_downloads_modules_from_allowed_proxies_only) {
  COFFERDAM_NEEDS("go", has_program("go"), "go behind the proxy");
  const auto go = [&](const std::string& host, const std::string& path) {
    return run("GOTOOLCHAIN=local GOFLAGS=-modcacherw GOPATH=$HOME/" + path +
               " GONOSUMDB=\"*\" GONOSUMCHECK=1 GOPROXY=https://" + host +
               " go mod download -json go.example.org/tide@v1.0.0");
  };
  const shell_result open = go("packages.example.org", "a");
  EXPECT_TRUE(open.status == 0 && contains(open.output, "\"Zip\"")) << open.output;
  const shell_result closed = go("private.example.org", "b");
  EXPECT_TRUE(closed.status == 0 && contains(closed.output, "\"Zip\"")) << closed.output;
  const shell_result evil = go("evil.example.org", "c");
  EXPECT_TRUE(evil.status != 0 && contains(evil.output, "Forbidden")) << evil.output;
  expect_the_secret_only_for_the_private_host(open.output + closed.output + evil.output);
}

TEST_F(EgressPrograms, curl_speaks_http_and_socks) {
  COFFERDAM_NEEDS("curl", has_program("curl"), "curl behind the proxy");
  const std::string hosts = " https://packages.example.org/hello https://private.example.org/hello";
  const shell_result http = run("curl -sS --fail" + hosts);
  EXPECT_TRUE(http.status == 0 && contains(http.output, "host\nhello")) << http.output;
  const shell_result socks = run("curl -sS --fail -x socks5h://job5:x@127.0.0.1:" + std::to_string(proxy_) + hosts);
  EXPECT_TRUE(socks.status == 0 && contains(socks.output, "host\nhello")) << socks.output;
  const shell_result resolved = run("curl -sS -x socks5://127.0.0.1:" + std::to_string(proxy_) +
                                    " https://localhost:" + std::to_string(server_->port()) + "/hello");
  EXPECT_NE(resolved.status, 0) << resolved.output;
  expect_the_secret_only_for_the_private_host(http.output + socks.output + resolved.output);
}

TEST_F(EgressPrograms, python_and_node_clients_work) {
  const std::string python =
      "python3 -c \"import urllib.request as u; print([u.urlopen(p).read() for p in "
      "(\\\"https://packages.example.org/hello\\\", \\\"https://private.example.org/hello\\\")])\"";
  const shell_result by_python = run(python);
  EXPECT_EQ(by_python.status, 0) << by_python.output;
  expect_the_secret_only_for_the_private_host(by_python.output);
  COFFERDAM_NEEDS("node", has_program("node"), "programs of Node.js behind the proxy");
  const shell_result by_node = run("node " + cofferdam_test::source_path("tests/network/node_client.mjs") +
                                   " packages.example.org private.example.org");
  EXPECT_TRUE(by_node.status == 0 && contains(by_node.output, "hello")) << by_node.output;
  expect_the_secret_only_for_the_private_host(by_node.output);
}

TEST_F(EgressPrograms, a_websocket_passes_where_tls_ends_and_where_it_does_not) {
  for (const char* host : {"packages.example.org", "private.example.org"}) {
    const shell_result echo = run("python3 " + cofferdam_test::source_path("tests/network/websocket_client.py") + " " +
                                  std::to_string(proxy_) + " " + host + " " + bundle_);
    EXPECT_TRUE(contains(echo.output, "101 Switching Protocols")) << echo.output;
    EXPECT_TRUE(contains(echo.output, "echo: tide")) << echo.output;
  }
}

}  // namespace
