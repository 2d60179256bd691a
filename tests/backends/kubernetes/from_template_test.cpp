// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/http_server.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/net/listener.hpp>

#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace cofferdam;
using namespace cofferdam::kubernetes;

/// Opens an environment of a template in a cluster that answers each request with 404, and returns the error.
awaitable<std::optional<error>> open_without_sandboxes() {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  cofferdam::detail::http_server server(executor, [](http_call& call) -> awaitable<void> {
    http_reply reply(404);
    reply.content("text/plain", "404 page not found\n");
    co_await call.reply(std::move(reply));
  });
  listener where = tcp_listener(executor, "127.0.0.1", 0);
  const std::string port = std::to_string(where.port());
  server.listen(std::move(where));
  cofferdam_test::temporary_folder folder;
  asio::co_spawn(executor, server.run(), [](std::exception_ptr) {});
  folder.write("config", R"({"apiVersion": "v1", "kind": "Config", "current-context": "c",
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:)" +
                             port + R"("}}],
    "contexts": [{"name": "c", "context": {"cluster": "c"}}]})");
  pod_options options;
  options.kubeconfig((folder.path() / "config").string());
  provider places = from_template("tools");
  places.options(std::move(options));
  std::optional<error> failure;
  try {
    environment env = co_await places.open();
  } catch (const error& reason) {
    failure = reason;
  }
  co_await server.stop();
  co_return failure;
}

TEST(FromTemplate, a_cluster_without_agent_sandbox_is_unsupported_and_the_error_names_the_definitions) {
  const std::optional<error> failure = cofferdam_test::run(open_without_sandboxes());
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code(), exec_errc::unsupported) << failure->what();
  for (const std::string_view part :
       {"agent-sandbox", "not installed", "sandboxclaims.extensions.agents.x-k8s.io", "sandboxes.agents.x-k8s.io"})
    EXPECT_NE(std::string(failure->what()).find(part), std::string::npos) << failure->what();
}

TEST(FromTemplate, the_name_is_checked_at_once) {
  EXPECT_NO_THROW(from_template("python-3.12"));
  for (const char* const bad : {"", "UPPER", "a/b", "a b", "-a"}) EXPECT_THROW(from_template(bad), error) << bad;
}

}  // namespace
