// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// API servers that are slow, repeat credentials, or have objects of others.

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/http_server.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/net/http_server_settings.hpp>

#include "net/http_server_support.hpp"
#include "support/pause.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hostile_kubernetes_server {

using namespace cofferdam;
using namespace std::chrono_literals;

const std::string token = "token-canary-0123456789";

/// Returns the error of `open()` with a server that answers each request by `handler`.
error refusal_of(cofferdam_test::site::handler handler, std::chrono::milliseconds limit = 30s) {
  std::optional<error> failure;
  cofferdam_test::temporary_folder folder;
  cofferdam_test::site server;
  const auto body = [&](cofferdam::detail::http_server&) -> awaitable<void> {
    folder.write("config", R"({"apiVersion": "v1", "kind": "Config", "current-context": "c",
      "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:)" +
                               std::to_string(server.port) + R"("}}], "users": [{"name": "u", "user": {"token": ")" +
                               token +
                               R"("}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]})");
    kubernetes::pod_options options;
    options.kubeconfig((folder.path() / "config").string());
    kubernetes::provider pods = kubernetes::from_image("busybox");
    pods.options(std::move(options)).open_timeout(limit);
    try {
      kubernetes::environment env = co_await pods.open();
    } catch (const error& reason) {
      failure = reason;
    }
  };
  cofferdam_test::run(
      server.open(std::move(handler), http_server_settings().stop_timeout(std::chrono::milliseconds(100)), body));
  EXPECT_TRUE(failure.has_value());
  return failure.value_or(error(exec_errc::io_error, "nothing was thrown"));
}

bool contains(const error& failure, std::string_view part) {
  return std::string_view(failure.what()).find(part) != std::string_view::npos;
}

TEST(KubernetesServer, a_token_that_the_server_repeats_is_in_no_error) {
  for (const int status : {403, 500}) {
    const error failure = refusal_of([status](http_call& call) -> awaitable<void> {
      const std::string repeated(call.field("Authorization").value_or("nothing"));
      http_reply reply(status);
      reply.content("text/plain", "you have sent " + repeated);
      co_await call.reply(std::move(reply));
    });
    EXPECT_TRUE(contains(failure, "you have sent Bearer [redacted]")) << failure.what();
    EXPECT_FALSE(contains(failure, token)) << failure.what();
  }
}

TEST(KubernetesServer, a_server_that_does_not_answer_ends_the_opening) {
  const auto begin = std::chrono::steady_clock::now();
  const error failure = refusal_of(
      [](http_call& call) -> awaitable<void> {
        co_await cofferdam_test::pause_for(60s);
        co_await call.reply(http_reply(200));
      },
      300ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  EXPECT_EQ(failure.code(), exec_errc::provider_failed);
  EXPECT_TRUE(contains(failure, "did not answer in time")) << failure.what();
}

TEST(KubernetesServer, a_server_that_is_always_busy_ends_the_opening) {
  const auto begin = std::chrono::steady_clock::now();
  const error failure = refusal_of(
      [](http_call& call) -> awaitable<void> {
        http_reply reply(429);
        reply.field("Retry-After", "30");
        co_await call.reply(std::move(reply));
      },
      300ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  EXPECT_EQ(failure.code(), exec_errc::provider_failed) << failure.what();
}

// A user with the right to create ConfigMaps can make one that has the name of the library's own.
TEST(KubernetesServer, a_map_with_other_programs_is_refused) {
  enum class map { own, other_program, more_programs, changeable };
  for (const map which : {map::own, map::other_program, map::more_programs, map::changeable}) {
    const error failure = refusal_of([which](http_call& call) -> awaitable<void> {
      if (call.path().find("/configmaps/") == std::string_view::npos) {
        http_reply refusal(403);
        refusal.content("text/plain", "no more");
        co_await call.reply(std::move(refusal));
        co_return;
      }
      boost::json::object found = kubernetes::detail::warden_map();
      boost::json::object& programs = found["binaryData"].as_object();
      if (which == map::other_program) programs["x86_64"] = "IyEvYmluL3NoCg==";
      if (which == map::more_programs) programs["more"] = "IyEvYmluL3NoCg==";
      if (which == map::changeable) found.erase("immutable");
      http_reply reply(200);
      reply.content("application/json", boost::json::serialize(found));
      co_await call.reply(std::move(reply));
    });
    EXPECT_EQ(contains(failure, "does not have the programs of this library"), which != map::own) << failure.what();
    EXPECT_EQ(contains(failure, "no more"), which == map::own) << failure.what();
  }
}

}  // namespace hostile_kubernetes_server
