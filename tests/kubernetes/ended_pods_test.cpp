// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The deletion of pods that dead programs have left.

#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/ended_pods.hpp>
#include <cofferdam/core/asio.hpp>

#include "kubernetes/kube_support.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <asio/ip/tcp.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam::kubernetes::detail::cluster_access;
using cofferdam::kubernetes::detail::cluster_api;
using cofferdam::kubernetes::detail::delete_ended_pods;
using cofferdam::kubernetes::detail::max_deletions;
using cofferdam_test::open_api;
using cofferdam_test::run;

/// Makes a pod that no node runs, and whose status says that it has ended long ago.
/// \param labels  the fields of its labels.
awaitable<void> make_ended_pod(std::shared_ptr<cluster_api> api, std::string name, std::string labels) {
  const std::string head =
      R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ")" + name + R"(", "labels": {)" + labels + "}}, ";
  const std::string body = head + R"("spec": {"schedulerName": "none", "containers": [{"name": "c", "image": "x"}]}})";
  co_await api->ask("POST", api->path("pods"), body, "create a pod", std::vector<int>());
  // The labels are here, too, because this request replaces them.
  const std::string status = head + R"("status": {"phase": "Succeeded", "containerStatuses": [{"name": "c",
      "image": "x", "imageID": "x", "ready": false, "restartCount": 0, "state": {"terminated":
      {"exitCode": 0, "startedAt": "2020-01-01T00:00:00Z", "finishedAt": "2020-01-01T00:00:01Z"}}}]}})";
  co_await api->ask("PUT", api->pod_path(name) + "/status", status, "set the status of a pod", std::vector<int>());
}

awaitable<std::size_t> count_pods(std::shared_ptr<cluster_api> api) {
  const std::optional<boost::json::object> list = co_await api->find(api->path("pods"), "list pods");
  co_return list->at("items").as_array().size();
}

TEST(KubernetesEndedPods, each_call_deletes_some_until_only_foreign_ones_are_left) {
  COFFERDAM_NEEDS_CLUSTER("that many dead pods are deleted step by step");
  const cofferdam_test::scratch_namespace space;
  constexpr std::size_t dead = 2 * max_deletions + 5;
  run([&]() -> awaitable<void> {
    const std::shared_ptr<cluster_api> api = co_await open_api(space.name());
    co_await make_ended_pod(api, "foreign", R"("app": "x")");
    for (std::size_t i = 0; i < dead; ++i)
      co_await make_ended_pod(api, "dead-" + std::to_string(i), R"("cofferdam/sandbox": "1")");
    for (std::size_t round = 1; round <= 3; ++round) {
      const std::size_t before = co_await count_pods(api);
      const auto begin = std::chrono::steady_clock::now();
      co_await delete_ended_pods(api);
      EXPECT_LT(std::chrono::steady_clock::now() - begin, 2500ms);
      const std::size_t after = co_await count_pods(api);
      EXPECT_LT(after, before);
      EXPECT_LE(before - after, std::size_t{max_deletions});
    }
    for (int round = 0; round < 30; ++round) co_await delete_ended_pods(api);  // a slow machine needs more calls
    const std::size_t left = co_await count_pods(api);
    EXPECT_EQ(left, 1U);
    const std::optional<boost::json::object> foreign = co_await api->find(api->pod_path("foreign"), "look at a pod");
    EXPECT_TRUE(foreign.has_value());
    co_await api->close();
  });
}

// The server is a socket that listens and never answers.
TEST(KubernetesEndedPods, a_server_that_does_not_answer_delays_the_caller_by_about_a_second) {
  run([]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::ip::tcp::acceptor silent(executor, {asio::ip::address_v4::loopback(), 0});
    cluster_access access;
    access.host = "127.0.0.1";
    access.port = silent.local_endpoint().port();
    access.is_plain = true;
    const auto api = std::make_shared<cluster_api>(executor, std::move(access));
    const auto begin = std::chrono::steady_clock::now();
    co_await delete_ended_pods(api);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
    co_await api->close();
  });
}

}  // namespace
