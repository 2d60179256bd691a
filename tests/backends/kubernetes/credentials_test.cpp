// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/kubernetes/detail/credentials.hpp>

#include "support/cancel_when_idle.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <asio/co_spawn.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam::kubernetes::detail::cluster_access;
using cofferdam::kubernetes::detail::credential_source;
using cofferdam::kubernetes::detail::kube_credentials;
using cofferdam::kubernetes::detail::kube_exec;
using cofferdam::kubernetes::detail::parse_kube_time;
using cofferdam_test::run;

std::chrono::system_clock::time_point test_time{std::chrono::seconds(1'800'000'000)};  // 2027-01-15T08:00:00Z

TEST(KubeTime, reads_times_of_rfc_3339) {
  const auto at = [](const char* text) {
    const auto time = parse_kube_time(text);
    return time ? std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count() : -1;
  };
  EXPECT_EQ(at("2027-01-15T08:00:00Z"), 1'800'000'000);
  EXPECT_EQ(at("2027-01-15T08:00:00.123456Z"), 1'800'000'000);
  EXPECT_EQ(at("2027-01-15T09:30:00+01:30"), 1'800'000'000);
  EXPECT_EQ(at("2027-01-15T07:00:00-01:00"), 1'800'000'000);
  for (const char* text : {"", "2027-01-15", "2027-01-15T08:00:00", "2027-13-15T08:00:00Z", "2027-01-15T24:00:00Z",
                           "2027-01-15T08:00:00.Z", "2027-01-15T08:00:00+1:00", "x027-01-15T08:00:00Z"})
    EXPECT_EQ(at(text), -1) << text;
}

class Credentials : public ::testing::Test {
 protected:
  Credentials() {
    access.variables = {"PATH=/usr/bin:/bin"};
    access.user.where = "config, line 7";
    access.cluster.server = "https://h:6443";
  }

  /// Makes the user one with an exec plugin. Each run of the plugin appends a line to the file `runs`.
  void plugin(const std::string& script) {
    const std::string path =
        folder.write("plugin", "#!/bin/sh\necho run >>" + (folder / "runs").string() + "\n" + script).string();
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    kube_exec exec;
    exec.api_version = "client.authentication.k8s.io/v1";
    exec.program = path;
    access.user.exec = exec;
  }
  static std::string answer(const std::string& status) {
    return R"(echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{)" + status +
           "}}'\n";
  }
  long runs() {
    std::error_code ignored;
    return static_cast<long>(std::filesystem::file_size(folder / "runs", ignored)) / 4;
  }

  void with(std::function<awaitable<void>(credential_source&)> body) {
    run([&]() -> awaitable<void> {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      credential_source source(executor, access);
      source.now([] { return test_time; });
      co_await body(source);
    });
  }
  std::string failure() {
    try {
      with([](credential_source& source) -> awaitable<void> { co_await source.current(); });
    } catch (const error& reason) {
      EXPECT_EQ(reason.code(), exec_errc::provider_failed);
      return reason.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }

  cofferdam_test::temporary_folder folder;
  cluster_access access;
};

TEST_F(Credentials, tokens_and_passwords_become_a_field) {
  access.user.token = secret_string("t");
  with([](credential_source& source) -> awaitable<void> {
    const kube_credentials found = co_await source.current();
    EXPECT_EQ(found.authorization.reveal(), "Bearer t");
  });
  access.user = {};
  access.user.login = "u";
  access.user.password = secret_string("p");
  with([](credential_source& source) -> awaitable<void> {
    const kube_credentials found = co_await source.current();
    EXPECT_EQ(found.authorization.reveal(), "Basic dTpw");
  });
}

TEST_F(Credentials, a_request_gets_the_field_and_the_user_to_act_as) {
  access.user.token = secret_string("t");
  access.user.acts_as = "a";
  access.user.acts_as_groups = {"g", "h"};
  with([&](credential_source& source) -> awaitable<void> {
    const kube_credentials found = co_await source.current();
    http_request request("GET", "/");
    found.apply(request, access.user);
    EXPECT_EQ(request.secret_fields().at(0).second.reveal(), "Bearer t");
    EXPECT_EQ(request.fields().find("Impersonate-User"), "a");
    EXPECT_EQ(request.fields().count("Impersonate-Group"), 2U);
  });
}

TEST_F(Credentials, certificates_are_read_from_their_files) {
  access.user.certificate.path = folder.write("c.pem", "CERT").string();
  access.user.key.text = secret_string("KEY");
  with([](credential_source& source) -> awaitable<void> {
    const kube_credentials found = co_await source.current();
    EXPECT_EQ(found.certificate.reveal(), "CERT");
    EXPECT_EQ(found.key.reveal(), "KEY");
    EXPECT_TRUE(found.authorization.empty());
  });
  access.user.certificate.path = (folder / "absent").string();
  EXPECT_NE(failure().find("does not exist"), std::string::npos);
}

TEST_F(Credentials, a_token_file_is_read_again_each_minute) {
  access.user.token_file = folder.write("token", "one\n").string();
  with([&](credential_source& source) -> awaitable<void> {
    kube_credentials found = co_await source.current();
    EXPECT_EQ(found.authorization.reveal(), "Bearer one");
    folder.write("token", "two\n");
    test_time += 59s;
    found = co_await source.current();
    EXPECT_EQ(found.authorization.reveal(), "Bearer one");
    test_time += 1s;
    found = co_await source.current();
    EXPECT_EQ(found.authorization.reveal(), "Bearer two");
    folder.write("token", "three\n");
    source.reject();
    found = co_await source.current();
    EXPECT_EQ(found.authorization.reveal(), "Bearer three");
  });
  folder.write("token", "\n");
  EXPECT_NE(failure().find("is empty"), std::string::npos);
}

TEST_F(Credentials, a_plugin_runs_once_until_its_credentials_expire) {
  plugin(answer(R"("token":"t","expirationTimestamp":"2027-01-15T09:00:00Z")"));
  test_time = std::chrono::system_clock::time_point(1'800'000'000s);
  with([&](credential_source& source) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto two = [&] {
      return asio::experimental::make_parallel_group(
                 asio::co_spawn(executor, source.current(), cofferdam::detail::deferred),
                 asio::co_spawn(executor, source.current(), cofferdam::detail::deferred))
          .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    };
    const auto result = co_await two();
    EXPECT_EQ(std::get<2>(result).authorization.reveal(), "Bearer t");
    EXPECT_EQ(runs(), 1) << "two requests at once share one run";
    test_time += 3589s;
    co_await source.current();
    EXPECT_EQ(runs(), 1);
    test_time += 1s;  // ten seconds before the end
    co_await source.current();
    EXPECT_EQ(runs(), 2);
  });
  test_time = std::chrono::system_clock::time_point(1'800'000'000s);
}

TEST_F(Credentials, rejected_credentials_are_renewed) {
  plugin(answer(R"("token":"t")"));
  with([&](credential_source& source) -> awaitable<void> {
    co_await source.current();
    source.reject();
    co_await source.current();
    EXPECT_EQ(runs(), 2);
  });
}

TEST_F(Credentials, a_plugin_gets_its_variables_and_the_cluster) {
  plugin("printf %s \"$KUBERNETES_EXEC_INFO\" >" + (folder / "info").string() + "\n[ \"$A$B\" = 12 ] || exit 9\n" +
         "cat >/dev/null\n" + answer(R"("clientCertificateData":"C","clientKeyData":"K")"));
  access.user.exec->wants_cluster = true;
  access.user.exec->variables = {{"B", "2"}};
  access.variables.push_back("A=1");
  access.cluster.authority.text = secret_string("CA");
  with([](credential_source& source) -> awaitable<void> {
    const kube_credentials found = co_await source.current();
    EXPECT_EQ(found.certificate.reveal(), "C");
  });
  EXPECT_EQ(*cofferdam::kubernetes::detail::read_kube_file((folder / "info").string()),
            R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false,)"
            R"("cluster":{"server":"https://h:6443","certificate-authority-data":"Q0E="}}})");
}

TEST_F(Credentials, a_plugin_that_fails_is_an_error_that_says_why) {
  plugin("echo 'log in first' >&2; exit 1\n");
  EXPECT_NE(failure().find("failed (exit status 1): log in first"), std::string::npos) << failure();
  EXPECT_NE(failure().find("config, line 7"), std::string::npos);
  access.user.exec->program = "no-such-plugin";
  access.user.exec->hint = "get it at example.test";
  EXPECT_NE(failure().find("get it at example.test"), std::string::npos) << failure();
}

TEST_F(Credentials, a_token_in_the_error_output_of_a_plugin_is_not_shown) {
  const std::string token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0";
  plugin("echo 'cannot renew " + token + " of /etc/a/long/path/of/some/kind/config.yaml' >&2; exit 1\n");
  EXPECT_NE(failure().find("cannot renew [redacted] of /etc/a/long/path/of/some/kind/config.yaml"), std::string::npos)
      << failure();
}

TEST_F(Credentials, an_unusable_output_is_an_error_without_secrets) {
  const struct {
    std::string script;
    const char* words;
  } cases[] = {
      {"echo secret\n", "not valid JSON"},
      {"echo '{\"kind\":\"secret\"}'\n", "not an ExecCredential"},
      {"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"secret\"}'\n", "another apiVersion"},
      {answer(""), "neither a token nor a certificate"},
      {answer(R"("token":"secret","clientKeyData":"secret")"), "only one of"},
      {answer(R"("token":"secret","expirationTimestamp":"secret")"), "RFC 3339"},
  };
  for (const auto& each : cases) {
    plugin(each.script);
    const std::string what = failure();
    EXPECT_NE(what.find(each.words), std::string::npos) << what;
    EXPECT_EQ(what.find("secret"), std::string::npos) << what;
  }
}

TEST_F(Credentials, cancelling_ends_the_plugin) {
  plugin("exec sleep 1000\n");
  const auto begin = std::chrono::steady_clock::now();
  std::exception_ptr failure = cofferdam_test::cancel_when_idle([&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    credential_source source(executor, access);
    co_await source.current();
  });
  EXPECT_TRUE(failure);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

}  // namespace
