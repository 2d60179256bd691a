// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/network/allow_hosts.hpp>

#include "docker/docker_support.hpp"
#include "network/egress_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The network of containers: none, but servers in them can be reached, and allow_hosts lets programs reach named hosts.

namespace {

using namespace cofferdam;
using cofferdam_test::docker_says;
using cofferdam_test::echo_server;
using cofferdam_test::egress_host;
using cofferdam_test::received_requests;
using cofferdam_test::run;
using cofferdam_test::test_image;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Runs shell lines one after another in an environment of a provider, and returns their outputs.
template <class Provider>
std::vector<std::string> outputs(const Provider& provider, std::vector<std::string> lines) {
  std::vector<std::string> all;
  run([&]() -> awaitable<void> {
    const auto body = [&](auto& env) -> awaitable<void> {
      for (const std::string& line : lines) {
        const command c = shell(line);
        const command_result result = co_await env.run_command(c);
        all.push_back(result.out_text() + result.err_text());
      }
    };
    co_await with(provider, body);
  });
  return all;
}

TEST(DockerNetwork, a_server_in_a_container_without_a_network_is_reached) {
  COFFERDAM_NEEDS_DOCKER();
  run([]() -> awaitable<void> {
    const auto body = [](docker::environment& env) -> awaitable<void> {
      const std::uint32_t others = co_await env.network().other_interfaces();
      EXPECT_EQ(others, 0U);
      const command serves = shell("echo inside | nc -l -p 8000");
      process server = co_await env.start(serves);
      std::string text;
      for (int attempt = 0; text.empty() && attempt < 100; ++attempt) {
        try {
          byte_stream stream = co_await env.network().connect(8000);
          std::array<std::byte, 100> piece{};
          const std::size_t count = co_await stream.read_some(piece);
          text = as_text(bytes_view(piece).first(count));
        } catch (const error&) {  // nc does not listen yet
        }
        const command pause = shell("sleep 0.05");
        co_await env.run_command(pause);
      }
      EXPECT_EQ(text, "inside\n");
      co_await server.wait();
    };
    co_await with(test_image("busybox"), body);
  });
}

TEST(DockerNetwork, NT_03_named_hosts_are_reached_and_others_refused_with_a_sentence) {
  COFFERDAM_NEEDS_DOCKER();
  egress_host servers;
  const auto seen = std::make_shared<received_requests>();
  const std::uint16_t port = servers.start(echo_server(seen));
  std::vector<std::string> labels;
  const auto records = [&labels](const network_event& event) { labels.push_back(event.label()); };
  const auto recipe =
      test_image("busybox") | allow_hosts(host_rule("a.example.org:80").at("127.0.0.1", port)).log(records);
  const std::vector<std::string> found =
      outputs(recipe, {"wget -q -O - http://a.example.org/one", "wget -O - http://a.example.org.evil.org/ 2>&1",
                       "wget -O - http://evil-a.example.org/ 2>&1"});
  EXPECT_TRUE(contains(found.at(0), "GET /one HTTP/1.1\r\n")) << found.at(0);
  EXPECT_TRUE(contains(found.at(1), "403")) << found.at(1);
  EXPECT_TRUE(contains(found.at(2), "403")) << found.at(2);
  EXPECT_EQ(seen->count(), 1U);
  std::sort(labels.begin(), labels.end());
  EXPECT_EQ(labels, (std::vector<std::string>{"1", "2", "3"}));
}

TEST(DockerNetwork, NT_01_NT_11_a_program_that_ignores_the_proxy_reaches_nothing) {
  COFFERDAM_NEEDS_DOCKER();
  egress_host servers;
  const auto seen = std::make_shared<received_requests>();
  const std::uint16_t port = servers.start(echo_server(seen));
  const std::string number = std::to_string(port);
  const std::vector<std::string> lines{
      "for to in 127.0.0.1 172.17.0.1 10.0.2.2; do echo x | nc -w 2 $to " + number + "; done; ping -c 1 -W 1 10.0.2.2",
      "unset http_proxy HTTP_PROXY; wget -T 2 -O - http://127.0.0.1:" + number + "/ 2>&1"};
  outputs(test_image("busybox") | allow_hosts("a.example.org"), lines);
  EXPECT_EQ(seen->connections, 0);
  // The control: the same program on this machine's network. The server accepts connections in their order.
  cofferdam_test::run_shell("echo x | timeout 2 bash -c 'cat > /dev/tcp/127.0.0.1/" + number + "'");
  EXPECT_TRUE(cofferdam_test::in_time([&] { return seen->connections > 0; }));
  EXPECT_EQ(seen->connections, 1);
}

TEST(DockerNetwork, a_container_with_a_network_is_not_opened) {
  COFFERDAM_NEEDS_DOCKER();
  COFFERDAM_NEEDS("docker bridge", !docker_says("network ls -q --filter driver=bridge").empty(),
                  "a container that has a network");
  const auto recipe =
      test_image("busybox", docker::container_options().network("bridge")) | allow_hosts("a.example.org");
  try {
    outputs(recipe, {"true"});
    FAIL() << "it was opened";
  } catch (const error& failure) {
    EXPECT_EQ(failure.code(), exec_errc::unsupported) << failure.what();
    EXPECT_TRUE(contains(failure.what(), "network interface")) << failure.what();
  }
}

}  // namespace
