// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The kubeconfig, the client of the API server and the WebSocket of exec, with a real cluster.

#include <cofferdam/backends/kubernetes/cluster_choice.hpp>
#include <cofferdam/backends/kubernetes/cluster_info.hpp>
#include <cofferdam/backends/kubernetes/detail/api_client.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_access.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/net/websocket.hpp>
#include <cofferdam/detail/net/websocket_handshake.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>

#include "kubernetes/kube_support.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam::detail::http_exchange;
using cofferdam::detail::http_limits;
using cofferdam::detail::websocket;
using cofferdam::detail::websocket_message;
using cofferdam::detail::websocket_opening;
using cofferdam::detail::websocket_piece;
using cofferdam::detail::websocket_settings;
using cofferdam::kubernetes::cluster_choice;
using cofferdam::kubernetes::cluster_info;
using cofferdam::kubernetes::detail::api_client;
using cofferdam::kubernetes::detail::find_cluster;
using cofferdam::kubernetes::detail::kube_surroundings;
using cofferdam_test::run;

const std::string pods = "/api/v1/namespaces/default/pods";
const std::vector<std::string> old{"v4.channel.k8s.io"};
const std::vector<std::string> unknown_one{"v9.channel.k8s.io"};
const std::vector<std::string> both{"v5.channel.k8s.io", "v4.channel.k8s.io"};

class KubeConnection : public ::testing::Test {
 protected:
  void SetUp() override { COFFERDAM_NEEDS_CLUSTER("that the client works with a real API server"); }

  /// Runs `body(client)` with a client of the cluster.
  void with_client(std::function<awaitable<void>(api_client&)> body, const char* user = "kubeconfig") {
    run([&]() -> awaitable<void> {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      api_client client(executor, find_cluster(kube_surroundings::of_this_process(),
                                               cluster_choice().kubeconfig(cofferdam_test::kubeconfig_of(user))));
      co_await body(client);
      co_await client.close();
    });
  }

  /// Runs `body(client)` while a pod with this name runs.
  void with_pod(std::string name, std::function<awaitable<void>(api_client&)> body) {
    with_client([&](api_client& client) -> awaitable<void> {
      http_request create = client.make("POST", pods);
      create.content("application/json",
                     R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                         R"("},"spec":{"terminationGracePeriodSeconds":0,"containers":[{"name":"c",)"
                         R"("image":"cofferdam-test/busybox:1","command":["sleep","1000"]}]}})");
      http_response answer = co_await client.request(std::move(create));
      EXPECT_EQ(answer.status(), 201) << answer.text();
      co_await until_running(client, name);
      co_await body(client);
      answer = co_await client.request(client.make("DELETE", pods + "/" + name + "?gracePeriodSeconds=0"));
      EXPECT_EQ(answer.status(), 200);
    });
  }

  /// Follows a watch until the pod runs.
  static awaitable<void> until_running(api_client& client, std::string name) {
    http_exchange events = co_await client.send(
        client.make("GET", pods + "?watch=1&fieldSelector=metadata.name%3D" + name), http_limits().idle(std::nullopt));
    EXPECT_EQ(events.status(), 200);
    std::string text;
    std::array<std::byte, 16384> room;
    while (text.find(R"("phase":"Running")") == std::string::npos) {
      const std::size_t count = co_await events.read_some(room);
      if (count == 0) break;
      text += as_text(bytes_view(room).first(count));
    }
    EXPECT_NE(text.find(R"("phase":"Running")"), std::string::npos) << text;
  }

  static awaitable<websocket_opening> exec(api_client& client, std::string pod, std::string query,
                                           std::vector<std::string> protocols = both,
                                           std::optional<std::chrono::milliseconds> heartbeat = 30s) {
    const std::string path = pods + "/" + pod + "/exec?stdin=true&stdout=true&stderr=true" + query;
    websocket_opening opening = co_await client.open(client.make("GET", path), std::move(protocols),
                                                     websocket_settings().peer("pod " + pod).heartbeat(heartbeat));
    co_return opening;
  }

  /// Reads until the end, and returns the text of each channel.
  static awaitable<std::map<int, std::string>> read_all(websocket& socket) {
    std::map<int, std::string> channels;
    int channel = -1;
    for (;;) {
      const websocket_piece piece = co_await socket.read();
      if (piece.closed) break;
      bytes_view data = piece.data;
      if (piece.begins) channel = -1;
      if (channel < 0 && !data.empty()) {
        channel = std::to_integer<int>(data.front());
        data = data.subspan(1);
      }
      channels[channel] += as_text(data);
    }
    co_return channels;
  }
};

TEST_F(KubeConnection, the_cluster_tells_its_version) {
  const cluster_info info = run([] {
    return kubernetes::examine_cluster(cluster_choice().kubeconfig(cofferdam_test::kubeconfig_of("kubeconfig")));
  });
  EXPECT_TRUE(info.version().starts_with("v1.")) << info.version();
  EXPECT_EQ(info.context(), "test");
  EXPECT_TRUE(info.server().starts_with("https://127.0.0.1:")) << info.server();
}

TEST_F(KubeConnection, the_cluster_tells_the_rights_of_the_user) {
  const auto info_of = [](const std::string& user) {
    return run(
        [&] { return kubernetes::examine_cluster(cluster_choice().kubeconfig(cofferdam_test::kubeconfig_of(user))); });
  };
  const cluster_info admin = info_of("kubeconfig");
  EXPECT_EQ(admin.rights().size(), 13U);
  for (const kubernetes::cluster_right& each : admin.rights())
    EXPECT_TRUE(each.is_allowed()) << each.resource() << " " << each.verb();
  const cluster_info guest = info_of("guest.kubeconfig");
  EXPECT_EQ(guest.rights().size(), 13U);
  for (const kubernetes::cluster_right& each : guest.rights())
    EXPECT_FALSE(each.is_allowed()) << each.resource() << " " << each.verb();
  EXPECT_NE(guest.role().find("- apiGroups: [\"\"]\n  resources: [\"pods/exec\"]\n  verbs: [get, create]\n"),
            std::string::npos)
      << guest.role();
}

TEST_F(KubeConnection, exec_carries_input_output_and_the_exit_code) {
  with_pod("exec-io", [&](api_client& client) -> awaitable<void> {
    websocket_opening opening =
        co_await exec(client, "exec-io", "&command=sh&command=-c&command=cat%3Becho%20e%20%3E%262%3Bexit%203");
    EXPECT_TRUE(opening.opened()) << opening.answer().text();
    if (!opening.opened()) co_return;
    EXPECT_EQ(opening.socket().protocol(), "v5.channel.k8s.io");
    const std::string input(100'000, 'x');
    for (std::size_t at = 0; at < input.size(); at += 32768) {
      const std::string_view piece = std::string_view(input).substr(at, 32768);
      co_await opening.socket().write(websocket_message::binary, as_bytes(std::string_view("\0", 1)), as_bytes(piece));
    }
    co_await opening.socket().write(websocket_message::binary, as_bytes(std::string_view("\xff\0", 2)));
    std::map<int, std::string> channels = co_await read_all(opening.socket());
    EXPECT_TRUE(channels[1] == input);
    EXPECT_EQ(channels[2], "e\n");
    EXPECT_NE(channels[3].find(R"("message":"3")"), std::string::npos) << channels[3];
    co_await opening.socket().close();
  });
}

TEST_F(KubeConnection, the_older_protocol_works_and_an_unknown_one_is_refused) {
  with_pod("exec-old", [&](api_client& client) -> awaitable<void> {
    websocket_opening opening = co_await exec(client, "exec-old", "&command=echo&command=hi", old);
    EXPECT_TRUE(opening.opened()) << opening.answer().text();
    if (!opening.opened()) co_return;
    EXPECT_EQ(opening.socket().protocol(), "v4.channel.k8s.io");
    std::map<int, std::string> channels = co_await read_all(opening.socket());
    EXPECT_EQ(channels[1], "hi\n");
    co_await opening.socket().close();
    bool refused = false;
    try {
      websocket_opening unknown = co_await exec(client, "exec-old", "&command=true", unknown_one);
      refused = !unknown.opened();
    } catch (const error& failure) {
      refused = failure.cause() == net_errc::upgrade_refused;
    }
    EXPECT_TRUE(refused);
  });
}

TEST_F(KubeConnection, the_server_answers_the_heartbeat_of_an_idle_stream) {
  with_pod("exec-idle", [&](api_client& client) -> awaitable<void> {
    websocket_opening opening = co_await exec(client, "exec-idle", "&command=sleep&command=3", both, 200ms);
    EXPECT_TRUE(opening.opened()) << opening.answer().text();
    if (!opening.opened()) co_return;
    const auto begin = std::chrono::steady_clock::now();
    std::map<int, std::string> channels = co_await read_all(opening.socket());
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 2s);
    EXPECT_NE(channels[3].find("Success"), std::string::npos) << channels[3];
    co_await opening.socket().close();
  });
}

TEST_F(KubeConnection, a_refusal_has_the_words_of_the_server) {
  with_client(
      [&](api_client& client) -> awaitable<void> {
        websocket_opening opening = co_await exec(client, "any", "&command=true");
        EXPECT_FALSE(opening.opened());
        EXPECT_EQ(opening.answer().status(), 403);
        const std::string what = kubernetes::detail::status_message(opening.answer());
        EXPECT_NE(what.find("pods \\\"any\\\" is forbidden: User \\\"guest\\\" cannot"), std::string::npos) << what;
      },
      "guest.kubeconfig");
  with_client([&](api_client& client) -> awaitable<void> {
    websocket_opening opening = co_await exec(client, "absent", "&command=true");
    EXPECT_EQ(opening.answer().status(), 404);
  });
}

}  // namespace
